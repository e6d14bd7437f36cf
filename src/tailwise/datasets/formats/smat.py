"""PECOS's matrices: scipy's arrays in an .npz file, the entries of each row in the order of falling scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tailwise.datasets.formats.contents import ranks_of_order
from tailwise.datasets.formats.writing import written_beside

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.datasets.formats.contents import Contents

__all__ = ["find_ranks", "write_smat"]


def find_ranks(matrix: Any) -> NDArray | None:
    """The ranking that the order of a matrix's entries is: falling values, with other than ascending columns.

    Entries that are all equal are in no order of scores, and a matrix sorted by column has lost it.
    """
    if not sp.issparse(matrix) or matrix.format != "csr" or matrix.nnz < 2 or matrix.dtype.kind not in "fiu":
        return None
    is_inner = np.ones(matrix.nnz, dtype=bool)
    is_inner[matrix.indptr[:-1][matrix.indptr[:-1] < matrix.nnz]] = False
    is_inner = is_inner[1:]
    columns, values = matrix.indices, matrix.data
    falls = values[1:][is_inner] < values[:-1][is_inner]
    keeps = values[1:][is_inner] == values[:-1][is_inner]
    is_ascending = (columns[1:][is_inner] > columns[:-1][is_inner]).all()
    if is_ascending or not falls.any() or not (falls | keeps).all():
        return None
    return ranks_of_order(matrix.indptr, columns)


def write_smat(path: Any, contents: Contents) -> None:
    """Each row best first: by the ranking, else by score."""
    matrix, order = contents.matrix, contents.best_first()
    arrays = {"indices": matrix.indices[order], "indptr": matrix.indptr, "format": np.array(b"csr")}
    arrays.update(shape=np.array(matrix.shape, dtype=np.int64), data=contents.values[order])
    with written_beside(path) as file:
        np.savez(file, **arrays)
