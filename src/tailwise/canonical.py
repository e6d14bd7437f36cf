"""Any matrix as a canonical CSR: what both doors, for probabilities and for selections, share."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import scipy.sparse as sp

from tailwise.errors import InputError
from tailwise.kernels.rows import find_disorder

if TYPE_CHECKING:
    pass

__all__ = ["as_array", "as_numbers", "canonical_csr"]

MOST_LABELS = 2**31 - 1


def canonical_csr(matrix: Any, name: str) -> sp.csr_array:
    """A dense or sparse matrix as CSR with sorted, distinct column indices; the input is not changed."""
    matrix = as_numbers(matrix, name)
    if matrix.ndim != 2 or 0 in matrix.shape:
        shape = "x".join(map(str, matrix.shape)) or "a scalar"
        msg = f"{name} must be a matrix with at least one instance and one label. Got shape {shape}."
        raise InputError(msg)
    if matrix.shape[1] > MOST_LABELS:
        msg = f"The number of labels must be at most {MOST_LABELS}. Got {matrix.shape[1]}."
        raise InputError(msg)
    if sp.issparse(matrix):
        _check_structure(matrix, name)
    csr = matrix if isinstance(matrix, sp.csr_array) else sp.csr_array(matrix)
    if sp.issparse(matrix) and csr.nnz < matrix.nnz and matrix.format == "coo":
        # scipy adds duplicates of a COO matrix up when converting; a second probability for a label is an error here.
        _refuse_duplicate(name, *_first_duplicate_of_coo(matrix))
    if find_disorder(csr.indptr, csr.indices) >= 0:
        csr = csr.sorted_indices()
        x = find_disorder(csr.indptr, csr.indices)
        if x >= 0:
            _refuse_duplicate(name, np.searchsorted(csr.indptr, x, side="right") - 1, csr.indices[x])
    return csr


def as_array(matrix: Any, name: str) -> Any:
    """A numpy array, or a scipy matrix as it is."""
    matrix = _without_torch(matrix)
    if sp.issparse(matrix):
        return matrix
    try:
        return np.asarray(matrix)
    except ValueError as error:
        msg = f"{name} must be a matrix with rows of one length. Got rows that differ."
        raise InputError(msg) from error


def as_numbers(matrix: Any, name: str) -> Any:
    """A numpy array or scipy matrix of a type that scipy converts; half precision becomes single."""
    matrix = as_array(matrix, name)
    if matrix.dtype.kind not in "fiub":
        msg = f"{name} must hold numbers. Got an array of dtype {matrix.dtype}. Convert it to float32 or float64."
        raise InputError(msg)
    dtype = np.dtype(np.float32) if matrix.dtype == np.float16 else matrix.dtype.newbyteorder("=")
    return matrix if matrix.dtype == dtype else matrix.astype(dtype)


def _check_structure(matrix: Any, name: str) -> None:
    """Refuse index arrays that point outside the matrix, which compiled code would follow."""
    if matrix.format not in ("csr", "csc", "bsr"):
        return
    n_rows, n_columns = (
        size // block for size, block in zip(matrix.shape, getattr(matrix, "blocksize", (1, 1)), strict=True)
    )
    limit = n_rows if matrix.format == "csc" else n_columns
    indptr, indices = matrix.indptr, matrix.indices
    if indptr[0] != 0 or indptr[-1] > indices.size or (np.diff(indptr) < 0).any():
        msg = f"{name} must have row pointers that start at 0 and never fall. Got others: the matrix is broken."
        raise InputError(msg)
    if indices.size and (indices.min() < 0 or indices.max() >= limit):
        came = indices.min() if indices.min() < 0 else indices.max()
        msg = f"{name} must have indices from 0 to {limit - 1}, as its shape says. Got {came}."
        raise InputError(msg)


def _without_torch(matrix: Any) -> Any:
    """A torch tensor as the numpy or scipy object that shares its memory; anything else as it is."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(matrix, torch.Tensor):
        return matrix
    tensor = matrix.detach().cpu()
    if tensor.dtype in (torch.bfloat16, torch.float16):
        tensor = tensor.float()
    if tensor.layout == torch.sparse_csr:
        parts = (tensor.values().numpy(), tensor.col_indices().numpy(), tensor.crow_indices().numpy())
        return sp.csr_array(parts, shape=tuple(tensor.shape))
    if tensor.layout == torch.sparse_coo:
        return sp.coo_array((tensor._values().numpy(), tuple(tensor._indices().numpy())), shape=tuple(tensor.shape))
    return tensor.numpy()


def _first_duplicate_of_coo(matrix: Any) -> tuple[int, int]:
    rows, columns = matrix.coords if hasattr(matrix, "coords") else (matrix.row, matrix.col)
    order = np.lexsort((columns, rows))
    rows, columns = rows[order], columns[order]
    x = int(np.argmax((np.diff(rows) == 0) & (np.diff(columns) == 0)))
    return rows[x], columns[x]


def _refuse_duplicate(name: str, instance: int, label: int) -> NoReturn:
    msg = (
        f"{name} must hold each label of an instance once. Instance {instance} holds label {label} twice. "
        "Merge the duplicates (sum_duplicates() of a scipy matrix adds them up) before selecting."
    )
    raise InputError(msg)
