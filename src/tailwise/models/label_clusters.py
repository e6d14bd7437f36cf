"""Balanced clusters of labels by their mean features."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tailwise.engines.engine import Threads
from tailwise.kernels.node_training import Matrix
from tailwise.models.tree_building import build_k_means_tree, build_label_vectors

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray


def cluster_labels(X: sp.csr_array, Y: sp.csr_array, size: int, seed: int) -> NDArray:
    """Return the cluster of each label: at most `size` labels each, numbered from 0.

    Labels are split in two repeatedly by balanced spherical 2-means on the mean features of their positives.
    """
    n_labels = Y.shape[1]
    n_clusters = -(-n_labels // size)
    if n_clusters == 1:
        return np.zeros(n_labels, np.int64)
    by_label = Y.tocsc()
    matrix = Matrix(X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data.astype(np.float32))
    with Threads(None) as threads:
        vectors = build_label_vectors(matrix, by_label.indptr.astype(np.int64), by_label.indices, threads)
        tree = build_k_means_tree(vectors, max(2, n_clusters), size, np.random.default_rng(seed), threads)
    above = tree.parents[tree.leaves]
    return np.unique(above, return_inverse=True)[1].astype(np.int64)
