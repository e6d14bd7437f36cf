"""The candidates by label, for what looks at all instances of one label at a time."""

from typing import NamedTuple

import numpy as np

from tailwise.kernels.compiling import kernel


class Columns(NamedTuple):
    """CSC columns of (instance, place in its row, probability), instances ascending within a column."""

    indptr: np.ndarray  # int64 (m + 1,)
    instances: np.ndarray  # int32 (nnz,)
    positions: np.ndarray  # uint16 (nnz,), or int32 where rows are longer than that can tell
    values: np.ndarray  # float32 or float64 (nnz,)


@kernel
def _scatter(rows, ends, instances, positions, values):
    for i in range(rows.indptr.size - 1):
        for x in range(rows.indptr[i], rows.indptr[i + 1]):
            j = rows.labels[x]
            y = ends[j]
            instances[y] = i
            positions[y] = x - rows.indptr[i]
            values[y] = rows.values[x]
            ends[j] = y + 1


def transpose(rows, n_labels):
    """The columns of the rows."""
    indptr = np.zeros(n_labels + 1, np.int64)
    np.cumsum(np.bincount(rows.labels, minlength=n_labels), out=indptr[1:])
    size = rows.labels.size
    is_short = np.diff(rows.indptr).max(initial=0) <= np.iinfo(np.uint16).max
    positions = np.empty(size, np.uint16 if is_short else np.int32)
    columns = Columns(indptr, np.empty(size, np.int32), positions, np.empty(size, rows.values.dtype))
    _scatter(rows, indptr[:-1].copy(), *columns[1:])
    return columns
