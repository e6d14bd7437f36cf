"""The largest entries of each row of a sparse matrix."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from tailwise.kernels.pooling import keep_top_entries


def keep_top(matrix: sp.csr_array, top: int) -> sp.csr_array:
    """Return the `top` largest entries of each row in single precision; ties go to the smaller column."""
    matrix = sp.csr_array(matrix)
    matrix.sort_indices()
    longest = int(np.diff(matrix.indptr).max(initial=0))
    values = matrix.data.astype(np.float32, copy=False)
    if longest <= top:
        return sp.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)
    starts, columns = matrix.indptr.astype(np.int64, copy=False), matrix.indices.astype(np.int32, copy=False)
    found = np.empty_like(starts), np.empty_like(columns), np.empty_like(values)
    keep_top_entries(starts, columns, values, top, np.empty(longest, np.float32), *found)
    n_found = int(found[0][-1])
    return sp.csr_array((found[2][:n_found].copy(), found[1][:n_found].copy(), found[0]), shape=matrix.shape)
