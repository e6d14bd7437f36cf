"""Conversion of matrices in any layout to canonical CSR, the same by label, and the check for only 0 and 1."""

from __future__ import annotations

import mmap
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import scipy.sparse as sp

from tailwise.errors import InputError
from tailwise.kernels.rows import Columns, Rows, find_disorder, scatter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.engines import Engine

__all__ = [
    "ENTRIES_AT_ONCE",
    "ENTRIES_IN_BLOCK",
    "add_up",
    "as_array",
    "as_dense",
    "as_indicator",
    "as_numbers",
    "build_csr",
    "canonical_csr",
    "check_matrix",
    "check_most_labels",
    "cut_evenly",
    "cut_labels",
    "cut_pointers",
    "extend_columns",
    "is_mapped",
    "list_column_parts",
    "make_columns",
    "position_type",
    "tidy_csr",
]

MOST_LABELS = 2**31 - 1
ENTRIES_AT_ONCE = 1 << 25  # at once, of mapped candidates: 10 bytes each
ENTRIES_IN_BLOCK = 1 << 22  # candidates that are copied at once
# Labels whose totals stay in the cache of a core, and what a candidate of any other label costs by comparison.
# Measured on one synthetic batch; only time depends on it.
CACHED_LABELS, RARE_COST = 2048, 1.5


def canonical_csr(matrix: Any, name: str) -> sp.csr_array:
    """Convert a dense or sparse matrix to CSR with sorted, unique column indices; the input is not changed."""
    matrix = as_numbers(matrix, name)
    if matrix.ndim != 2 or 0 in matrix.shape:
        shape = "x".join(map(str, matrix.shape)) or "a scalar"
        msg = f"{name} must be a matrix with at least one instance and one label. Got shape {shape}."
        raise InputError(msg)
    check_most_labels(matrix.shape[1])
    if sp.issparse(matrix) and matrix.format == "bsr":
        matrix = matrix.tocoo()  # keeps duplicates, so that they are found below; other conversions add them up
    csr = _with_native_indices(
        _without_spare_room(matrix if isinstance(matrix, sp.csr_array) else sp.csr_array(matrix))
    )
    if sp.issparse(matrix) and csr.nnz < matrix.nnz and matrix.format == "coo":
        # scipy adds up duplicates when it converts a COO matrix; here, a second probability for a label is an error.
        _refuse_duplicate(name, *_first_duplicate_of_coo(matrix))
    if find_disorder(csr.indptr, csr.indices) >= 0:
        csr = csr.sorted_indices()
        x = find_disorder(csr.indptr, csr.indices)
        if x >= 0:
            _refuse_duplicate(name, np.searchsorted(csr.indptr, x, side="right") - 1, csr.indices[x])
    return csr


def as_indicator(matrix: Any, name: str, remedy: str) -> sp.csr_array:
    """Convert a 0/1 matrix to canonical CSR that stores only the ones; the input is not changed."""
    csr = canonical_csr(matrix, name)
    is_wrong = (csr.data != 0) & (csr.data != 1)
    if is_wrong.any():
        msg = f"{name} must hold only 0 and 1. Got {csr.data[np.argmax(is_wrong)]:g}. {remedy}"
        raise InputError(msg)
    if not csr.data.all():
        csr = csr.copy()  # the arrays may belong to the user
        csr.eliminate_zeros()
    return csr


def tidy_csr(matrix: Any, name: str) -> sp.csr_array:
    """Like `canonical_csr`, with index types chosen by `build_csr`."""
    csr = canonical_csr(matrix, name)
    return build_csr(csr.data, csr.indices, csr.indptr, csr.shape)


def build_csr(values: NDArray, labels: NDArray, indptr: NDArray, shape: tuple[int, int]) -> sp.csr_array:
    """Build a CSR array with 32-bit indices if they fit; scipy would keep the type it is given."""
    is_small = max(*shape, labels.size) <= np.iinfo(np.int32).max
    index_type = np.int32 if is_small else np.int64
    parts = values, labels.astype(index_type, copy=False), indptr.astype(index_type, copy=False)
    return sp.csr_array(parts, shape=shape, copy=False)


def cut_pointers(pointers: NDArray, most: int) -> Iterator[tuple[int, int]]:
    """List ranges of rows or columns with at most `most` entries each; one with more entries is a range of its own."""
    first = 0
    while first < pointers.size - 1:
        last = max(first + 1, int(np.searchsorted(pointers, pointers[first] + most, side="right")) - 1)
        yield first, last
        first = last


def cut_evenly(pointers: NDArray, n_parts: int) -> list[int]:
    """Edges of parts of rows, or of columns, with about as many entries each: ``n_parts + 1`` that do not fall."""
    shares = pointers[0] + (pointers[-1] - pointers[0]) * np.arange(1, n_parts) / n_parts
    return [0, *np.searchsorted(pointers, shares).tolist(), pointers.size - 1]


def cut_labels(sizes: NDArray, n_parts: int) -> list[int]:
    """Edges of parts of the labels such that adding up their candidates, row by row, takes about as long for each part.

    `sizes` are the numbers of candidates. Totals of frequent labels stay in the cache; candidates of others cost more.
    """
    costs = sizes.astype(np.float64)
    if sizes.size > CACHED_LABELS:
        costs[sizes < np.partition(sizes, -CACHED_LABELS)[-CACHED_LABELS]] *= RARE_COST
    return cut_evenly(np.append(0.0, np.cumsum(costs)), n_parts)


def as_array(matrix: Any, name: str) -> Any:
    """Convert to a numpy array; scipy matrices are checked and returned unchanged."""
    matrix = _without_torch(matrix)
    check_matrix(matrix, name)
    if sp.issparse(matrix):
        return matrix
    try:
        return np.asarray(matrix)
    except ValueError as error:
        msg = f"{name} must be a matrix with rows of equal length. Got rows of different lengths."
        raise InputError(msg) from error


def as_numbers(matrix: Any, name: str) -> Any:
    """Convert to a numpy array or scipy matrix of a type that scipy can process; half precision becomes single."""
    matrix = as_array(matrix, name)
    if matrix.dtype.kind not in "fiub":
        msg = f"{name} must hold numbers. Got an array of dtype {matrix.dtype}. Convert it to float32 or float64."
        raise InputError(msg)
    dtype = np.dtype(np.float32) if matrix.dtype == np.float16 else matrix.dtype.newbyteorder("=")
    return matrix if matrix.dtype == dtype else matrix.astype(dtype)


def as_dense(values: Any, name: str) -> NDArray:
    """Convert to a numpy array of float64; sparse matrices are refused."""
    array = as_numbers(values, name)
    if sp.issparse(array):
        msg = f"{name} must be a list or array of numbers. Got a sparse matrix. Use .toarray().ravel()."
        raise InputError(msg)
    return array.astype(np.float64, copy=False)


def check_most_labels(n_labels: int) -> None:
    """Refuse more labels than a 32-bit index can address."""
    if n_labels > MOST_LABELS:
        msg = f"The number of labels must be at most {MOST_LABELS}. Got {n_labels}."
        raise InputError(msg)


def check_matrix(matrix: Any, name: str) -> None:
    """Refuse masked entries, and index arrays that point outside the matrix.

    Compiled code, in scipy and in this package, does not check indices. Every matrix from a user must therefore pass
    this check first.
    """
    if _has_masked(matrix):
        msg = (
            f"{name} must not have masked entries. Got a masked array. "
            "Fill them in with .filled(value), or give a sparse matrix without them."
        )
        raise InputError(msg)
    if not sp.issparse(matrix):
        return
    if matrix.format in ("csr", "csc", "bsr"):
        _check_compressed(matrix, name)
    elif matrix.format == "coo":
        for numbers, size in zip(matrix.coords, matrix.shape, strict=True):
            _check_lengths(name, numbers, matrix.data)
            _check_indices(name, numbers, size)
    elif matrix.format == "lil":
        _check_lists(matrix, name)
    elif matrix.format == "dia":
        _check_lengths(name, matrix.offsets, matrix.data)


def _has_masked(matrix: Any) -> bool:
    rows = matrix if isinstance(matrix, (list, tuple)) else [matrix]
    return any(isinstance(row, np.ma.MaskedArray) and np.ma.is_masked(row) for row in rows)


def _check_compressed(matrix: Any, name: str) -> None:
    shape = (1, *matrix.shape)[-2:]  # a CSR array may have one dimension
    n_rows, n_columns = (size // block for size, block in zip(shape, getattr(matrix, "blocksize", (1, 1)), strict=True))
    n_lines, limit = (n_columns, n_rows) if matrix.format == "csc" else (n_rows, n_columns)
    indptr, indices = matrix.indptr, matrix.indices
    _check_lengths(name, indices, matrix.data)
    is_whole = indptr.shape == (n_lines + 1,) and indptr.dtype.kind in "iu"
    if not is_whole or indptr[0] != 0 or indptr[-1] > indices.size or (indptr[1:] < indptr[:-1]).any():
        msg = (
            f"{name} must have an indptr of {n_lines + 1} integers that starts at 0, is non-decreasing and ends within "
            "the entries. It does not: the matrix is corrupt. Rebuild it from rows, columns and values."
        )
        raise InputError(msg)
    _check_indices(name, indices[: indptr[-1]], limit)


def _check_lists(matrix: Any, name: str) -> None:
    """Check a LIL matrix, whose rows are lists of columns and of values."""
    for columns, values in zip(matrix.rows, matrix.data, strict=True):
        if columns:
            numbers = np.asarray(columns)
            _check_lengths(name, numbers, np.asarray(values))
            _check_indices(name, numbers, matrix.shape[1])


def _check_lengths(name: str, indices: NDArray, values: NDArray) -> None:
    if indices.ndim != 1 or values.shape[:1] != indices.shape:
        msg = (
            f"{name} must have one index per stored value. Got {indices.size} indices for {len(values)} values: the "
            "matrix is corrupt. Rebuild it from rows, columns and values."
        )
        raise InputError(msg)


def _check_indices(name: str, indices: NDArray, size: int) -> None:
    if indices.dtype.kind not in "iu":
        msg = f"{name} must have integer indices. Got dtype {indices.dtype}. Convert them, for instance to int32."
        raise InputError(msg)
    # Without their sign, negative indices are larger than any size: one sweep checks both ends.
    if indices.size and indices.view(indices.dtype.str.replace("i", "u")).max() >= size:
        came = indices.min() if indices.min() < 0 else indices.max()
        msg = (
            f"{name} must have indices from 0 to {size - 1} to match its shape. Got {came}. "
            "Correct the index, or build the matrix with a larger shape."
        )
        raise InputError(msg)


def _without_spare_room(csr: sp.csr_array) -> sp.csr_array:
    """Drop the entries beyond the last row, which scipy allows."""
    used = int(csr.indptr[-1])
    if used == csr.indices.size:
        return csr
    return sp.csr_array((csr.data[:used], csr.indices[:used], csr.indptr), shape=csr.shape, copy=False)


def _with_native_indices(csr: sp.csr_array) -> sp.csr_array:
    """Convert indices in the byte order of another machine, which kernels do not read."""
    if csr.indices.dtype.isnative and csr.indptr.dtype.isnative:
        return csr
    pointers = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    return sp.csr_array((csr.data, *pointers), shape=csr.shape, copy=False)


def _without_torch(matrix: Any) -> Any:
    """Convert a torch tensor to a numpy or scipy object, sharing memory if possible; return anything else unchanged."""
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
    rows, columns = matrix.coords
    order = np.lexsort((columns, rows))
    rows, columns = rows[order], columns[order]
    x = int(np.argmax((np.diff(rows) == 0) & (np.diff(columns) == 0)))
    return rows[x], columns[x]


def _refuse_duplicate(name: str, instance: int, label: int) -> NoReturn:
    msg = (
        f"{name} must hold each label of an instance once. Instance {instance} holds label {label} twice. "
        "Remove or merge the duplicates first; sum_duplicates() of a scipy matrix adds them up."
    )
    raise InputError(msg)


def is_mapped(array: Any) -> bool:
    """Whether an array is a view, directly or indirectly, of a mapped file."""
    while array is not None and not isinstance(array, (np.memmap, mmap.mmap)):
        array = array.obj if isinstance(array, memoryview) else getattr(array, "base", None)
    return array is not None


# By label


def make_columns(
    rows: Rows, sizes: NDArray, engine: Engine, make_array: Callable[[Any], NDArray], at_once: int
) -> Columns:
    """The candidates by label, `sizes` of each, in arrays that `make_array` makes; about `at_once` at a time."""
    indptr = add_up(sizes)
    dtypes = np.int32, position_type(rows), rows.values.dtype
    columns = Columns(indptr, *map(make_array, dtypes))
    for first, last in cut_pointers(indptr, at_once):
        _scatter(rows, indptr[:-1].copy(), columns, first, last, engine)
    return _read_only(columns)


def list_column_parts(rows: Rows, sizes: NDArray, engine: Engine) -> Iterator[Columns]:
    """Like `make_columns`, but a range of labels at a time, each part in memory, with the pointers of all labels."""
    indptr = add_up(sizes)
    for first, last in cut_pointers(indptr, ENTRIES_AT_ONCE):
        size = int(indptr[last] - indptr[first])
        dtypes = np.int32, position_type(rows), rows.values.dtype
        columns = Columns(indptr, *(np.empty(size, dtype) for dtype in dtypes))
        _scatter(rows, indptr[:-1] - indptr[first], columns, first, last, engine)
        yield columns


def position_type(rows: Rows) -> Any:
    """The smallest integer type that can number the positions of a row."""
    longest = np.diff(rows.indptr).max(initial=0)
    return np.uint16 if longest <= np.iinfo(np.uint16).max else np.int32


def extend_columns(columns: Columns, n_labels: int) -> Columns:
    """The same columns, with further labels that have no candidates."""
    more = np.full(n_labels + 1 - columns.indptr.size, columns.indptr[-1])
    return _read_only(columns._replace(indptr=np.concatenate([columns.indptr, more]))) if more.size else columns


def add_up(sizes: NDArray) -> NDArray:
    """Pointers to rows or columns of these sizes."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])


def _scatter(rows: Rows, ends: NDArray, columns: Columns, first: int, last: int, engine: Engine) -> None:
    """Put the candidates of labels first to last into the columns, a share of them on each thread."""
    edges = [first + edge for edge in cut_evenly(columns.indptr[first : last + 1], engine.workers)]
    engine.share(edges, lambda _, low, high: scatter(rows, ends, columns, low, high))


def _read_only(columns: Columns) -> Columns:
    """Make arrays read-only, as those of a store are, so that kernels are compiled only once."""
    for array in columns:
        array.flags.writeable = False
    return columns
