"""Synthetic data with the published sizes of a benchmark, for use without a network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tailwise.datasets.catalogue.benchmarks import DataSet, find_data_set
from tailwise.datasets.synthetic.long_tail import make_long_tail
from tailwise.datasets.synthetic.zipf import zipf_popularities
from tailwise.errors import InputError
from tailwise.inputs.matrices import build_csr
from tailwise.inputs.priors import LabelPriors

LEAST_CANDIDATES = 100
WORDS_OF_LABEL = 8  # features that indicate a label
WORDS_DRAWN = 4  # features drawn from them for an instance with the label
COMMON_WORDS = 10  # features of an instance that are unrelated to its labels


@dataclass(frozen=True, eq=False)
class SyntheticData:
    """A training and a test set from the same distribution, and the true probabilities of the test set.

    Attributes
    ----------
    name : str
        The data set with these sizes.
    train_features, test_features : csr_array of float32, shape (n, d)
        Bags of words, rows of length 1.
    train_labels, test_labels : csr_array of int8, shape (n, m)
        0 or 1.
    probabilities : csr_array of float32, shape (n, m)
        The probabilities from which ``test_labels`` were drawn.
    """

    name: str
    train_features: sp.csr_array
    train_labels: sp.csr_array
    test_features: sp.csr_array
    test_labels: sp.csr_array
    probabilities: sp.csr_array

    @property
    def priors(self) -> LabelPriors:
        """The training frequencies."""
        return LabelPriors.from_labels(self.train_labels)


def make_like(name: str | DataSet, *, scale: float = 1.0, seed: int = 0) -> SyntheticData:
    r"""Draw data with the published sizes of a benchmark.

    Labels and probabilities are those of :func:`make_long_tail`, with n, m and labels per point :math:`\ell` of the
    benchmark; points per label are then :math:`n \ell / m`, as published. Each label has 8 features, drawn from a Zipf
    law over all d features; an instance has 4 features of each of its labels, and 10 drawn from the Zipf law.

    Parameters
    ----------
    name : str or DataSet
        A data set of the catalogue.
    scale : float
        Above 0 and at most 1: n, m and d are multiplied by it; labels per point and points per label do not change.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    SyntheticData
        Memory is about 100 candidates (more for many labels per point) for each training and test instance; use
        `scale` for the largest data sets.

    Examples
    --------
    >>> from tailwise.datasets import make_like
    >>> data = make_like("Eurlex-4K", scale=0.05)
    >>> data.test_labels.shape, data.train_features.shape
    ((190, 200), (777, 250))
    """
    shape = find_data_set(name) if isinstance(name, str) else name
    if not 0 < scale <= 1:
        msg = f"scale must be above 0 and at most 1. Got {scale!r}. Use scale=0.1 (--scale 0.1) for a tenth."
        raise InputError(msg)
    n_train, n_test, d, m = (
        max(2, round(size * scale)) for size in (shape.n_train, shape.n_test, shape.n_features, shape.n_labels)
    )
    top = min(max(LEAST_CANDIDATES, round(4 * shape.labels_per_point)), m)
    per_point = min(shape.labels_per_point, 0.9 * top)
    law = make_long_tail(n_train + n_test, m, per_point, top, n_training=n_train, seed=seed)
    features = _draw_features(np.random.default_rng([seed, 1]), law.truth, max(d, WORDS_OF_LABEL))
    return SyntheticData(
        shape.name,
        *(features[:n_train], law.truth[:n_train], features[n_train:], law.truth[n_train:]),
        law.probabilities[n_train:],
    )


def _draw_features(rng: np.random.Generator, labels: sp.csr_array, n_features: int) -> sp.csr_array:
    n, m = labels.shape
    cumulated = np.cumsum(zipf_popularities(n_features, 1.0))
    words = _draw_words(rng, cumulated, (m, WORDS_OF_LABEL))
    drawn = rng.integers(WORDS_OF_LABEL, size=(labels.nnz, WORDS_DRAWN))
    own = np.take_along_axis(words[labels.indices], drawn, axis=1)
    counts = np.diff(labels.indptr).astype(np.int64)
    rows = np.concatenate([np.repeat(np.arange(n), counts * WORDS_DRAWN), np.repeat(np.arange(n), COMMON_WORDS)])
    columns = np.concatenate([own.ravel(), _draw_words(rng, cumulated, (n * COMMON_WORDS,))])
    order = np.argsort(rows, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(counts * WORDS_DRAWN + COMMON_WORDS)])
    matrix = build_csr(np.ones(rows.size, dtype=np.float32), columns[order], indptr, (n, n_features))
    matrix.sum_duplicates()
    lengths = np.sqrt(np.add.reduceat(matrix.data**2, matrix.indptr[:-1]))
    matrix.data /= np.repeat(lengths, np.diff(matrix.indptr))
    return matrix


def _draw_words(rng: np.random.Generator, cumulated: NDArray, size: tuple[int, ...]) -> NDArray:
    draws = np.searchsorted(cumulated, rng.random(size), side="right")
    return np.minimum(draws, cumulated.size - 1).astype(np.int32)
