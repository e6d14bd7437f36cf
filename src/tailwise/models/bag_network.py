"""A classifier on sparse and dense features: a bag of term vectors and a linear map, against vectors of the labels.

Imported only where torch is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.utils.extmath import randomized_svd
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from numpy.typing import NDArray

INITIAL_SCALE = 20.0  # of cosines: a temperature of 0.05
ROWS = 2048  # scored at once


class BagNetwork(nn.Module):
    """Scores labels by the cosine of their vectors and a vector of the instance, times a scale.

    Parameters
    ----------
    n_sparse, n_dense : int
        Numbers of sparse and dense features; either may be 0.
    n_labels, size : int
        Number of labels; length of all vectors.
    dropout : float
        Share of a vector left out while training.
    """

    def __init__(self, n_sparse: int, n_dense: int, n_labels: int, size: int, dropout: float) -> None:
        super().__init__()
        self.terms = nn.EmbeddingBag(n_sparse, size, mode="sum") if n_sparse else None
        self.map = nn.Linear(n_dense, size, bias=False) if n_dense else None
        self.norm = nn.LayerNorm(size)
        self.inner = nn.Linear(size, 2 * size)
        self.outer = nn.Linear(2 * size, size)
        self.drop = nn.Dropout(dropout)
        self.labels = nn.Parameter(torch.zeros(n_labels, size))
        self.scale = nn.Parameter(torch.tensor(INITIAL_SCALE).log())
        nn.init.zeros_(self.outer.weight)  # the block begins as the identity
        nn.init.zeros_(self.outer.bias)

    def forward(self, batch: Batch) -> Any:
        """Return the unit vectors of instances."""
        parts = []
        if self.terms is not None:
            parts.append(self.terms(batch.terms, batch.starts, per_sample_weights=batch.weights))
        if self.map is not None:
            parts.append(self.map(batch.dense))
        base = sum(parts)
        vectors = base + self.outer(self.drop(functional.gelu(self.inner(self.norm(self.drop(base))))))
        return functional.normalize(vectors)

    def score(self, vectors: Any, labels: Any = None) -> Any:
        """Return scores of some labels, or of all."""
        chosen = self.labels if labels is None else self.labels[labels]
        return self.scale.exp() * vectors @ functional.normalize(chosen).T


class Batch:
    """Rows of features as tensors."""

    def __init__(self, sparse: sp.csr_array | None, dense: NDArray | None, rows: NDArray, device: str) -> None:
        if sparse is not None:
            part = sparse[rows]
            self.terms = torch.from_numpy(part.indices.astype(np.int64)).to(device)
            self.starts = torch.from_numpy(part.indptr[:-1].astype(np.int64)).to(device)
            self.weights = torch.from_numpy(part.data.astype(np.float32)).to(device)
        if dense is not None:
            self.dense = torch.from_numpy(np.ascontiguousarray(dense[rows], dtype=np.float32)).to(device)


def begin(network: BagNetwork, sparse: sp.csr_array | None, dense: NDArray | None, Y: sp.csr_array, seed: int) -> None:
    """Start term vectors from the SVD of the features, and labels from the mean of their instances."""
    size = network.labels.shape[1]
    generator = np.random.RandomState(seed)
    with torch.no_grad():
        if network.terms is not None and sparse is not None:
            rank = min(size, *sparse.shape)
            _, _, axes = randomized_svd(sparse, rank, n_iter=2, random_state=generator)
            network.terms.weight.zero_()
            network.terms.weight[:, :rank] = torch.from_numpy(axes.T.astype(np.float32))
        if network.map is not None:
            nn.init.orthogonal_(network.map.weight)
        network.eval()
        vectors = encode(network, sparse, dense, Y.shape[0])
        weights = sp.csr_array(Y.T, dtype=np.float32)
        means = weights @ vectors
        means += 1e-3 * generator.standard_normal(means.shape)  # labels without instances differ, too
        network.labels.copy_(functional.normalize(torch.from_numpy(means.astype(np.float32))))


def encode(network: BagNetwork, sparse: sp.csr_array | None, dense: NDArray | None, n: int) -> NDArray:
    """Return the vectors of n instances."""
    device = str(network.labels.device)
    with torch.inference_mode():
        parts = [
            network(Batch(sparse, dense, np.arange(start, min(n, start + ROWS)), device)).cpu().numpy()
            for start in range(0, n, ROWS)
        ]
    return np.concatenate(parts)


def best_labels(network: BagNetwork, vectors: NDArray, top: int) -> tuple[NDArray, NDArray]:
    """Return the best labels of each vector, and the logarithm of their softmax over all labels."""
    labels, values = [], []
    device = network.labels.device
    with torch.inference_mode():
        for start in range(0, vectors.shape[0], ROWS):
            scores = network.score(torch.from_numpy(vectors[start : start + ROWS]).to(device))
            found = scores.topk(top, dim=1)
            labels.append(found.indices.cpu().numpy())
            values.append((found.values - scores.logsumexp(dim=1, keepdim=True)).cpu().numpy())
    return np.concatenate(labels), np.concatenate(values)
