"""Nearest rows by a plain inverted index: all postings of a query's features, then the largest sums."""

from __future__ import annotations

import numba
import numpy as np
import scipy.sparse as sp

__all__ = ["plain_search"]

N_NEIGHBOURS = 30


def plain_search(by_feature: sp.csc_matrix, queries: sp.csr_matrix) -> np.ndarray:
    """Return the largest inner products of each query with rows, in descending order; 0 where there are fewer."""
    parts = (by_feature.indptr, by_feature.indices, by_feature.data)
    return _search(queries.indptr, queries.indices, queries.data, *parts, by_feature.shape[0], N_NEIGHBOURS)


@numba.njit(fastmath=True)
def _search(starts, features, values, feature_starts, rows, weights, n, r):
    found = np.zeros((starts.size - 1, r), np.float32)
    sums = np.zeros(n, np.float32)
    for i in range(found.shape[0]):
        for e in range(starts[i], starts[i + 1]):
            for s in range(feature_starts[features[e]], feature_starts[features[e] + 1]):
                sums[rows[s]] += values[e] * weights[s]
        best, least = found[i], 0
        for row in range(n):
            if sums[row] > best[least]:
                best[least] = sums[row]
                least = np.argmin(best)
            sums[row] = 0.0
        found[i] = -np.sort(-best)
    return found
