"""The file formats, by suffix. A new format is one module with a reader and a writer, and one line in FORMATS."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

import scipy.sparse as sp

from tailwise.datasets.npz import read_npz, write_npz
from tailwise.errors import FileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FORMATS", "Format", "find_format"]


@dataclass(frozen=True)
class Format:
    """How one kind of file stores a sparse matrix and, for a selection, the ranking that a 0/1 matrix cannot hold.

    Attributes
    ----------
    name : str
        What the format is called in messages.
    suffixes : tuple of str
        The endings of its files, in lower case, with the dot.
    read : callable
        From a binary file to the canonical matrix and the ranking ``(n, k)`` or None; anything else is a FileError.
    write : callable
        The same parts to a binary file; the same parts always give the same bytes.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[BinaryIO], tuple[sp.csr_array, NDArray | None]]
    write: Callable[[BinaryIO, sp.csr_array, NDArray | None], None]


FORMATS = [Format("scipy sparse matrix", (".npz",), read_npz, write_npz)]


def find_format(path: str | os.PathLike[str]) -> Format:
    """The format that a file's suffix stands for, in upper or lower case."""
    name = os.fspath(path).lower()
    for each in FORMATS:
        if name.endswith(each.suffixes):
            return each
    known = ", ".join(f"{suffix} ({each.name})" for each in FORMATS for suffix in each.suffixes)
    msg = f"path must end in a known suffix: {known}. Got {path}. Rename or convert the file."
    raise FileError(msg)
