"""Arrays as large as the candidates: in memory, or in temporary files if the candidates are mapped files themselves."""

from __future__ import annotations

import mmap
import os
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.errors import MachineError
from tailwise.inputs.matrices import is_mapped

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["make_scratch"]

LEAST_MAPPED = 1 << 24  # bytes; smaller arrays stay in memory
BLOCK = 1 << 24  # bytes written at once where the system cannot reserve space


def make_scratch(size: int, dtype: Any, like: NDArray) -> NDArray:
    """Return zeros to write to, (size,): in an unnamed temporary file if `like` is mapped and they are many.

    The system can move the pages of a file to disk when memory is short, so they do not count against the process.
    """
    n_bytes = size * np.dtype(dtype).itemsize
    if n_bytes < LEAST_MAPPED or not is_mapped(like):
        return np.zeros(size, dtype)
    try:
        with tempfile.TemporaryFile(prefix="tailwise-") as file:
            _reserve(file, n_bytes)
            return np.frombuffer(mmap.mmap(file.fileno(), n_bytes), dtype)
    except OSError as error:
        msg = (
            f"Candidates in a store need a temporary file of {n_bytes / 1e9:.1f} GB. Creating it in "
            f"{tempfile.gettempdir()} failed: {error.strerror or error}. Set TMPDIR to a folder with more space."
        )
        raise MachineError(msg) from error


def _reserve(file: Any, n_bytes: int) -> None:
    """Reserve the space on disk now: the system kills a process that writes to a mapped file on a full disk."""
    allocate = getattr(os, "posix_fallocate", None)
    if allocate is not None:
        allocate(file.fileno(), 0, n_bytes)
        return
    for first in range(0, n_bytes, BLOCK):
        file.write(bytes(min(BLOCK, n_bytes - first)))
    file.flush()
