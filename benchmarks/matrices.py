"""The candidates that benchmarks run on."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from tailwise.datasets import zipf_candidates

__all__ = ["zipf_matrix"]


def zipf_matrix(n_instances: int, n_labels: int, top: int) -> sp.csr_array:
    """Zipf candidates as float32 CSR with 32-bit indices, the form that every program here reads without a copy."""
    matrix = zipf_candidates(n_instances, n_labels, top, exponent=0.8, seed=0)
    # scipy widens the labels to 64 bits where the row pointers have 64.
    parts = (matrix.data, matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32))
    return sp.csr_array(parts, shape=matrix.shape)
