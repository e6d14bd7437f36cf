"""Synthetic data with a long tail and known probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tailwise.datasets.synthetic.zipf import check_exponent, draw_candidates, zipf_popularities
from tailwise.errors import InputError
from tailwise.inputs.checks import check_seed, check_size
from tailwise.inputs.matrices import build_csr
from tailwise.inputs.priors import LabelPriors

# Standard deviation of the relevance in a logit; probabilities then range from near 0 to near 1, as in real models.
RELEVANCE_SPREAD = 3.0


@dataclass(frozen=True, eq=False)
class LongTail:
    """A batch of instances with known label probabilities.

    Attributes
    ----------
    probabilities : csr_array of float32, shape (n, m)
        The true probability of each candidate; every other label has probability 0.
    truth : csr_array of int8, shape (n, m)
        The labels, 0 or 1, drawn from ``probabilities``.
    training_counts : ndarray of int64, shape (m,)
        The number of instances with each label among ``n_training`` instances from the same distribution.
    n_training : int
        Number of training instances n'.
    """

    probabilities: sp.csr_array
    truth: sp.csr_array
    training_counts: NDArray
    n_training: int

    @property
    def priors(self) -> LabelPriors:
        """The training frequencies, for utilities and metrics."""
        return LabelPriors(self.training_counts, self.n_training)


def make_long_tail(
    n_instances: int = 3809,
    n_labels: int = 3993,
    labels_per_instance: float = 5.3,
    top: int = 100,
    n_training: int = 15449,
    exponent: float = 1.0,
    seed: int = 0,
) -> LongTail:
    r"""Draw a batch with few frequent and many rare labels, and its true labels.

    Label j has popularity :math:`w_j \propto (j + 1)^{-s}`. The k' candidates of an instance i are drawn one after the
    other, without replacement, in proportion to :math:`w_j`; label j is then among them with probability about
    :math:`\rho_j = 1 - e^{-\tau w_j}`, where :math:`\sum_j \rho_j = k'`. With the relevance
    :math:`z_{ij} \sim N(0, 1)` of label j to this instance, a candidate has probability

    .. math:: \eta_{ij} = \sigma\left(a + b z_{ij} + \log \frac{w_j}{\rho_j}\right), \qquad b = 3,

    and every other label has probability 0. The last term accounts for the popularity of head labels, which are
    candidates of nearly every instance: the expected positives :math:`p_j = \sum_i \eta_{ij}` then follow the Zipf law
    closely from head to tail. The constant a is chosen such that
    :math:`\sum_{ij} \eta_{ij} = n \cdot` ``labels_per_instance``. Finally

    .. math:: y_{ij} \sim \mathrm{Bernoulli}(\eta_{ij}), \qquad N_j \sim \mathrm{Binomial}(n', \pi_j), \quad
              \pi_j = \rho_j \, E_z\, \sigma\left(a + b z + \log \frac{w_j}{\rho_j}\right),

    all independent: the training counts :math:`N_j` come from the same distribution, not from this batch.

    Parameters
    ----------
    n_instances, n_labels : int
        Sizes n and m of the batch; the defaults are those of the test set of Eurlex-4K.
    labels_per_instance : float
        Average sum of the probabilities of a row; must be below ``top``.
    top : int
        Candidates per instance k'; at most m are used.
    n_training : int
        Number of training instances n' behind ``training_counts``.
    exponent : float
        Exponent s of the Zipf law; a larger value makes the tail longer.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    LongTail
        Label 0 is the most popular one. Time and memory are O(n k' + m), unless k' is close to m.

    Examples
    --------
    >>> from tailwise.datasets import make_long_tail
    >>> data = make_long_tail(n_instances=500, n_labels=400, top=30, labels_per_instance=3)
    >>> print(f"{data.probabilities.sum() / 500:.3f} labels per instance")
    3.000 labels per instance
    >>> data.priors
    LabelPriors(400 labels, 15,449 training instances)
    """
    shape = check_size("n_instances", n_instances), check_size("n_labels", n_labels)
    top = min(check_size("top", top), n_labels)
    n_training = check_size("n_training", n_training)
    _check_labels_per_instance(labels_per_instance, top)
    check_seed(seed)
    rng = np.random.default_rng(seed)
    popularities = zipf_popularities(n_labels, check_exponent(exponent))
    inclusions = _inclusion_probabilities(popularities, top)
    offsets = np.log(popularities / inclusions)

    labels = draw_candidates(rng, popularities, n_instances, top)
    logits = RELEVANCE_SPREAD * rng.standard_normal(labels.shape) + offsets[labels]
    shift = _bisect(lambda a: _sigmoid(logits + a).sum() / n_instances, labels_per_instance, -300.0, 300.0)
    probabilities = _sigmoid(logits + shift).astype(np.float32)
    rates = np.minimum(inclusions * _mean_sigmoid(offsets + shift), 1.0)
    return LongTail(
        probabilities=build_csr(probabilities.ravel(), labels.ravel(), np.arange(0, labels.size + 1, top), shape),
        truth=_draw_truth(rng, labels, probabilities, shape),
        training_counts=rng.binomial(n_training, rates),
        n_training=n_training,
    )


def _draw_truth(
    rng: np.random.Generator, labels: NDArray, probabilities: NDArray, shape: tuple[int, int]
) -> sp.csr_array:
    """Draw labels by comparing uniform numbers with the probabilities in float32, as they are stored."""
    is_positive = rng.random(labels.shape) < probabilities
    positives = labels[is_positive]
    indptr = np.concatenate([[0], np.cumsum(is_positive.sum(axis=1))])
    return build_csr(np.ones(positives.size, dtype=np.int8), positives, indptr, shape)


def _check_labels_per_instance(labels_per_instance: float, top: int) -> None:
    if not 0 < labels_per_instance < top:
        msg = (
            f"labels_per_instance must be above 0 and below {top}, the number of candidates per instance. "
            f"Got {labels_per_instance!r}. Use a larger top (and n_labels) for more labels."
        )
        raise InputError(msg)


def _inclusion_probabilities(popularities: NDArray, top: int) -> NDArray:
    """Approximate the probability of each label to be among ``top`` draws without replacement; above 0, at most 1."""

    def included(log_time: float) -> NDArray:
        return -np.expm1(-np.exp(log_time) * popularities)

    log_time = _bisect(lambda x: included(x).sum(), top, 0.0, 4.0 - np.log(popularities[-1]))
    return included(log_time)


def _bisect(increasing: Callable[[float], float], target: float, low: float, high: float) -> float:
    """Find where an increasing function reaches the target; an end of the interval if it does not."""
    for _ in range(60):
        middle = (low + high) / 2
        if increasing(middle) < target:
            low = middle
        else:
            high = middle
    return high


def _sigmoid(logits: NDArray) -> NDArray:
    return 1 / (1 + np.exp(-logits))


def _mean_sigmoid(centres: NDArray) -> NDArray:
    """Average sigmoid(centre + RELEVANCE_SPREAD * z) over a standard normal z, by Gauss-Hermite quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(64)
    return _sigmoid(centres[:, None] + RELEVANCE_SPREAD * nodes) @ (weights / weights.sum())
