"""Probability matrices for benchmarks of any size, with labels that follow a Zipf law."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tailwise.errors import InputError
from tailwise.inputs.checks import check_seed, check_size
from tailwise.inputs.matrices import build_csr

# Draws per candidate: enough for most rows to find their distinct labels, few enough to be cheap.
DRAWS_PER_CANDIDATE = 3
# Draws held in memory at once. Changing it changes the result for a seed, because it sets the order of random numbers.
CHUNK = 1_000_000


def zipf_candidates(n_instances: int, n_labels: int, top: int, exponent: float = 0.8, seed: int = 0) -> sp.csr_array:
    r"""Draw a matrix of probabilities with popular and rare labels, for measuring speed.

    Every instance has ``top`` distinct candidates, drawn one after the other without replacement with

    .. math:: P(\text{label } j) \propto (j + 1)^{-s}, \qquad \eta_{ij} \sim \mathrm{Beta}(0.15, 3)

    independently, clipped to :math:`[10^{-6}, 1 - 10^{-6}]`. Probabilities do not depend on the label here; use
    :func:`make_long_tail` for more realistic data with true labels.

    Parameters
    ----------
    n_instances, n_labels : int
        Sizes n and m.
    top : int
        Candidates per instance k', at most m.
    exponent : float
        Exponent s of the Zipf law; 0 makes all labels equally popular.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    csr_array of float32, shape (n, m)
        Labels are ascending within a row. Time and memory are O(n k'), unless k' is close to m.

    Examples
    --------
    >>> from tailwise.datasets import zipf_candidates
    >>> probabilities = zipf_candidates(1_000, 300, top=20)
    >>> probabilities.shape, probabilities.nnz
    ((1000, 300), 20000)
    """
    n_instances, n_labels = check_size("n_instances", n_instances), check_size("n_labels", n_labels)
    top = check_size("top", top, largest=n_labels)
    check_seed(seed)
    rng = np.random.default_rng(seed)
    labels = draw_candidates(rng, zipf_popularities(n_labels, check_exponent(exponent)), n_instances, top)
    values = np.clip(rng.beta(0.15, 3.0, labels.size), 1e-6, 1 - 1e-6).astype(np.float32)
    return build_csr(values, labels.ravel(), np.arange(0, labels.size + 1, top), (n_instances, n_labels))


def zipf_popularities(n_labels: int, exponent: float) -> NDArray:
    """Return weights proportional to (j + 1) ** -exponent that sum to 1."""
    weights = np.arange(1, n_labels + 1, dtype=np.float64) ** -exponent
    return weights / weights.sum()


def draw_candidates(rng: np.random.Generator, popularities: NDArray, n_instances: int, top: int) -> NDArray:
    """Draw ``top`` labels per instance by popularity without replacement; int32 (n, top), ascending in each row.

    The first ``top`` distinct labels of a series of draws with replacement are draws without replacement. This costs
    O(top) per row; a weighted shuffle would cost O(m).
    """
    cumulated = np.cumsum(popularities)
    cumulated[-1] = np.inf  # rounding must not leave a draw above the last label
    labels = np.empty((n_instances, top), dtype=np.int32)
    n_draws = DRAWS_PER_CANDIDATE * top
    step = max(1, CHUNK // n_draws)
    for start in range(0, n_instances, step):
        part = labels[start : start + step]
        draws = np.searchsorted(cumulated, rng.random((len(part), n_draws)), side="right")
        series, is_kept = _keep_first_distinct(draws, top)
        is_complete = is_kept.sum(axis=1) == top
        part[is_complete] = series[is_complete][is_kept[is_complete]].reshape(-1, top)
        for i in np.flatnonzero(~is_complete):
            part[i] = _complete_row(rng, popularities, series[i, is_kept[i]], top)
    return labels


def _keep_first_distinct(draws: NDArray, top: int) -> tuple[NDArray, NDArray]:
    """Return the sorted rows, and a mask of the first ``top`` distinct labels drawn in each (all, if fewer)."""
    n_draws = draws.shape[1]
    ordered = np.sort(draws * n_draws + np.arange(n_draws), axis=1)
    series, drawn_at = np.divmod(ordered, n_draws)
    drawn_at[:, 1:][series[:, 1:] == series[:, :-1]] = n_draws  # a repetition counts as never drawn
    last = np.partition(drawn_at, top - 1, axis=1)[:, top - 1 : top]
    return series, (drawn_at <= last) & (drawn_at < n_draws)


def _complete_row(rng: np.random.Generator, popularities: NDArray, found: NDArray, top: int) -> NDArray:
    """Return the labels found and the missing ones, drawn by an exponential race with rates ``popularities``."""
    arrivals = rng.standard_exponential(popularities.size) / popularities
    arrivals[found] = -1.0
    return np.sort(np.argpartition(arrivals, top - 1)[:top])


def check_exponent(exponent: float) -> float:
    """Refuse an exponent outside [0, 10]; beyond 10, the first label has nearly all the weight."""
    if not 0 <= exponent <= 10:
        msg = f"exponent must be a number between 0 and 10. Got {exponent!r}. For real label sets it is close to 1."
        raise InputError(msg)
    return float(exponent)
