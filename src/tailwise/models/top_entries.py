"""The largest entries of each row of a sparse matrix."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def keep_top(matrix: sp.csr_array, top: int) -> sp.csr_array:
    """Return the `top` largest entries of each row in single precision; ties go to the smaller column."""
    matrix = sp.csr_array(matrix)
    matrix.sort_indices()
    sizes = np.diff(matrix.indptr)
    values = matrix.data.astype(np.float32, copy=False)
    if sizes.max(initial=0) <= top:
        return sp.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)
    rows = np.repeat(np.arange(matrix.shape[0]), sizes)
    order = np.lexsort((-values, rows))
    ranks = np.empty(order.size, np.int64)
    ranks[order] = np.arange(order.size) - matrix.indptr[rows]
    kept = ranks < top
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=matrix.shape[0]))])
    return sp.csr_array((values[kept], matrix.indices[kept], indptr), shape=matrix.shape)
