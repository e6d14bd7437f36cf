"""Sparse matrices as ``scipy.sparse.save_npz`` stores them, with the ranking of a selection as one more array.

PECOS stores its matrices the same way, each row in the order of falling scores: that order is read as a ranking.
"""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.npz_archive import check_directory, read_whole
from tailwise.datasets.formats.smat import find_ranks
from tailwise.datasets.formats.tidy_matrices import tidy_csr
from tailwise.datasets.formats.writing import written_beside
from tailwise.errors import FileError, InputError
from tailwise.inputs.matrices import check_matrix

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["read_npz", "write_npz"]

RANKING = "labels"  # scipy.sparse.load_npz takes no notice of an array of this name
NPY_MAGIC = b"\x93NUMPY"


def read_npz(path: Any) -> Contents:
    """The matrix, checked and canonical, and the ranking where the file holds one."""
    remedy = "Copy it again, or write it again with scipy.sparse.save_npz."
    matrix, ranking = read_whole(path, _read_arrays, "be a whole and valid .npz file", remedy)
    ranks = None if ranking is not None else find_ranks(matrix)
    try:
        return Contents(tidy_csr(matrix, f"the matrix in {path}"), ranking=ranking, ranks=ranks)
    except InputError as error:
        raise FileError(str(error)) from error


def write_npz(path: Any, contents: Contents) -> None:
    """Write what ``scipy.sparse.load_npz`` reads; uncompressed, so that no version of zlib changes the bytes."""
    matrix = contents.matrix
    arrays: dict[str, Any] = {"indices": matrix.indices, "indptr": matrix.indptr, "format": b"csr"}
    arrays.update(shape=np.array(matrix.shape, dtype=np.int64), data=matrix.data, _is_array=True)
    if contents.ranking is not None:
        arrays[RANKING] = contents.ranking
    with written_beside(path) as file:
        np.savez(file, **arrays)


def _read_arrays(file: BinaryIO) -> tuple[Any, NDArray | None]:
    if file.read(len(NPY_MAGIC)) == NPY_MAGIC:
        _refuse_dense(file, "a single array in the .npy format")
    if not zipfile.is_zipfile(file):
        msg = f"{file.name} must be an .npz file. It is none, or it was cut short. Write it with scipy.sparse.save_npz."
        raise FileError(msg)
    file.seek(0)
    with np.load(file, allow_pickle=False) as archive:
        check_directory(archive.zip)
        if "format" not in archive.files:
            _refuse_dense(file, f"the arrays {', '.join(archive.files) or '(none)'}")
        ranking = archive[RANKING] if RANKING in archive.files else None
    file.seek(0)
    matrix = sp.load_npz(file)
    check_matrix(matrix, f"the matrix in {file.name}")
    return matrix, ranking


def _refuse_dense(file: BinaryIO, came: str) -> None:
    msg = (
        f"{file.name} must hold a sparse matrix. Got {came}. "
        "Save one with scipy.sparse.save_npz(path, scipy.sparse.csr_array(array))."
    )
    raise FileError(msg)
