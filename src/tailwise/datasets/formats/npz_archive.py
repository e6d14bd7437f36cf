"""The arrays of an .npz file, read without trust: nothing is unpickled, and a damaged list of contents is noticed."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from tailwise.datasets.formats.opening import opened
from tailwise.errors import FileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["check_directory", "read_archive", "read_whole"]


def read_archive(path: Any, rule: str, remedy: str) -> dict[str, NDArray]:
    """All arrays by their names; `rule` and `remedy` are for the error about a damaged or foreign file."""
    return read_whole(path, _read_arrays, rule, remedy)


def read_whole(path: Any, read: Callable[[BinaryIO], Any], rule: str, remedy: str) -> Any:
    """What `read` gives for an open file; it must do nothing but read, for whatever breaks is blamed on the file."""
    with opened(path) as file:
        try:
            return read(file)
        except FileError:
            raise
        except MemoryError as error:
            msg = f"{path} must fit in memory. It asks for more than there is: {error}."
            raise FileError(msg) from error
        except Exception as error:  # damaged bytes break zipfile, zlib, numpy and scipy in more ways than can be listed
            reason = f"{type(error).__name__}: {error}".rstrip(".")
            if "allow_pickle" in reason:  # numpy's remedy, which is none for files from anywhere
                reason = "ValueError: it holds Python objects, not numbers"
            msg = f"{path} must {rule}. Reading it failed with {reason}. {remedy}"
            raise FileError(msg) from error


def _read_arrays(file: BinaryIO) -> dict[str, NDArray]:
    if not zipfile.is_zipfile(file):
        msg = "it is no .npz file, or it was cut short"
        raise ValueError(msg)
    file.seek(0)
    with np.load(file, allow_pickle=False) as archive:
        check_directory(archive.zip)
        return {name: archive[name] for name in archive.files}


def check_directory(archive: zipfile.ZipFile) -> None:
    """Refuse a damaged list of contents, which could hide an array that nothing else would miss."""
    for entry in archive.infolist():
        archive.open(entry).close()  # compares the name in the list with the one beside the data
        if entry.comment:  # numpy writes none: a wrong length has swallowed the entries that follow
            msg = f"the entry {entry.filename} has a comment"
            raise zipfile.BadZipFile(msg)
