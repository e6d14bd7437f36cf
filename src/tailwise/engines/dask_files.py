"""Where workers find arrays: in files of a store, or in files that are written for them and removed at the end."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SharedFiles", "open_shared"]


class SharedFiles:
    """The files of arrays; `folder` is for those that are in memory only, and None for that of temporary files."""

    def __init__(self, folder: Any) -> None:
        self._folder, self._temporary = folder, ""
        self._written: dict[int, tuple[NDArray, str]] = {}  # by identity, which holds while the array is kept

    def of(self, arrays: tuple[NDArray, ...]) -> tuple[str, ...]:
        """The files of some arrays; those that are in memory only are written, once."""
        return tuple(_file_of(array) or self._write(array) for array in arrays)

    def remove(self) -> None:
        """Remove what was written."""
        shutil.rmtree(self._temporary, ignore_errors=True)
        self._temporary, self._written = "", {}

    def _write(self, array: NDArray) -> str:
        if not self._temporary:
            self._temporary = tempfile.mkdtemp(prefix="tailwise-", dir=self._folder)
        if id(array) not in self._written:
            path = os.path.join(self._temporary, f"{len(self._written)}.npy")
            np.save(path, array)
            self._written[id(array)] = array, path
        return self._written[id(array)][1]


def open_shared(files: tuple[str, ...]) -> list[NDArray]:
    """Map the files, on a worker."""
    return [_read_only(np.load(path, mmap_mode="r")) for path in files]


def _read_only(array: NDArray) -> NDArray:
    view = np.ascontiguousarray(array).view(np.ndarray)
    view.flags.writeable = False
    return view


def _file_of(array: NDArray) -> str:
    """The .npy file that an array is a map of, from its first number to its last; else nothing."""
    base: Any = array
    while base is not None and not isinstance(base, np.memmap):
        base = getattr(base, "base", None)
    if base is None or not str(base.filename).endswith(".npy"):
        return ""
    is_whole = base.size == array.size and base.dtype == array.dtype and base.ctypes.data == array.ctypes.data
    return os.path.abspath(str(base.filename)) if is_whole else ""
