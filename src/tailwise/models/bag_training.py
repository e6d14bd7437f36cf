"""Training of the bag classifier: softmax over the labels of a batch and random ones.

Imported only where torch is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from scipy.special import gammaln

from tailwise.models.bag_network import BagNetwork, Batch, begin, best_labels, encode
from tailwise.models.network_training import Training, train

if TYPE_CHECKING:
    from numpy.typing import NDArray

K = 5  # the score of an epoch is precision at K


class Rows(NamedTuple):
    """Features and labels of instances."""

    sparse: sp.csr_array | None
    dense: NDArray | None
    Y: sp.csr_array

    def take(self, rows: NDArray) -> Rows:
        """Return some rows."""
        return Rows(*(None if part is None else part[rows] for part in self))


class BagOptions(NamedTuple):
    """How to train; see TextModel."""

    size: int
    dropout: float
    epochs: int
    patience: int
    batch_size: int
    negatives: int
    learning_rate: float
    device: str
    checkpoint: Any
    identity: str
    progress: bool


def train_bag(fitting: Rows, held: Rows | None, options: BagOptions, seed: int) -> tuple[BagNetwork, list[float]]:
    """Train a network; return it with the score of each epoch on the held-out rows."""
    torch.manual_seed(seed)
    n, n_labels = fitting.Y.shape
    n_sparse, n_dense = (0 if part is None else part.shape[1] for part in fitting[:2])
    network = BagNetwork(n_sparse, n_dense, n_labels, options.size, options.dropout)
    begin(network, fitting.sparse, fitting.dense, fitting.Y, seed)
    network.to(options.device)
    optimizer = torch.optim.Adam(network.parameters(), lr=options.learning_rate)
    steps = -(-n // options.batch_size) * options.epochs
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, options.learning_rate, total_steps=max(2, steps + 1))
    sampler = _Sampler(fitting, options, seed)
    training = Training(
        network,
        optimizer,
        sampler.batches,
        lambda sample: _loss(network, sample),
        None if held is None else lambda: _precision(network, held),
        options.epochs,
        options.patience,
        schedule=schedule,
        checkpoint=options.checkpoint,
        identity=options.identity,
        progress=options.progress,
    )
    train(training)
    return network, training.history


class _Sample(NamedTuple):
    batch: Batch
    labels: Any  # candidates
    targets: Any  # shares of the true labels of each row, which sum to 1
    shift: Any  # logarithm of the probability that a label is a candidate


class _Sampler:
    """Draws batches and their candidate labels; an epoch's draws depend on the seed and its number only."""

    def __init__(self, rows: Rows, options: BagOptions, seed: int) -> None:
        self.rows, self.options, self.seed = rows, options, seed
        self.n_labels = rows.Y.shape[1]
        self.negatives = min(options.negatives, self.n_labels)
        self.labelled = np.flatnonzero(np.diff(rows.Y.indptr))
        counts = np.bincount(rows.Y.indices, minlength=self.n_labels)
        self.shift = log_inclusion(counts, self.labelled.size, options.batch_size, self.negatives).astype(np.float32)

    def batches(self, epoch: int) -> Iterator[_Sample]:
        """Draw the batches of an epoch."""
        generator = np.random.RandomState((self.seed + 7919 * (epoch + 1)) % 2**32)
        order = generator.permutation(self.labelled)
        for start in range(0, order.size, self.options.batch_size):
            yield self._draw(order[start : start + self.options.batch_size], generator)

    def _draw(self, rows: NDArray, generator: np.random.RandomState) -> _Sample:
        truth = self.rows.Y[rows]
        drawn = generator.randint(self.n_labels, size=self.negatives)
        is_all = self.negatives == self.n_labels
        labels = np.arange(self.n_labels) if is_all else np.union1d(truth.indices, drawn)
        targets = np.zeros((rows.size, labels.size), np.float32)
        counts = np.diff(truth.indptr)
        places = np.repeat(np.arange(rows.size), counts), np.searchsorted(labels, truth.indices)
        targets[places] = np.repeat(1 / np.maximum(counts, 1), counts)
        device = self.options.device
        tensors = (torch.from_numpy(each).to(device) for each in (labels, targets, self.shift[labels]))
        return _Sample(Batch(self.rows.sparse, self.rows.dense, rows, device), *tensors)


def log_inclusion(counts: NDArray, n_rows: int, batch_size: int, negatives: int) -> NDArray:
    """Return the logarithm of the probability that each label is a candidate of a batch.

    A batch holds `batch_size` different rows of `n_rows`, of which `counts` have the label; `negatives` labels are
    drawn from all, with repetition, or all are candidates if there are as many.
    """
    n_labels, size = counts.size, min(batch_size, n_rows)
    if negatives >= n_labels:
        return np.zeros(n_labels)
    # Hypergeometric: no row of the batch has the label; -inf where there are fewer rows without it than in a batch.
    without = n_rows - counts
    is_possible = without >= size
    others = np.where(is_possible, without, size)
    log_absent = gammaln(others + 1) - gammaln(others - size + 1) + gammaln(n_rows - size + 1) - gammaln(n_rows + 1)
    log_absent = np.where(is_possible, log_absent, -np.inf) + negatives * np.log1p(-1 / n_labels)
    return np.log(-np.expm1(np.minimum(log_absent, -1e-9)))


def _loss(network: BagNetwork, sample: _Sample) -> Any:
    scores = network.score(network(sample.batch), sample.labels) - sample.shift
    return -(sample.targets * scores.log_softmax(dim=1)).sum(dim=1).mean()


def _precision(network: BagNetwork, held: Rows) -> float:
    """Return the share of true labels among the best of held-out rows."""
    n, n_labels = held.Y.shape
    labels, _ = best_labels(network, encode(network, held.sparse, held.dense, n), min(K, n_labels))
    rows = np.repeat(np.arange(n), labels.shape[1])
    return float(np.asarray(held.Y[rows, labels.ravel()]).mean())
