"""The formulas of the metrics, one line each in two tables.

A formula takes counts and ``ratio``, which is used for every division and defines 0/0. Its values are averaged over
labels or instances; a single number is its own average.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ratio = Callable[[Any, Any], Any]


def ratio_for(zero_division: float) -> Ratio:
    """Return a division that gives ``zero_division`` if the denominator is zero."""

    def ratio(numerator: Any, denominator: Any) -> NDArray:
        numerator, denominator = np.broadcast_arrays(numerator, denominator)
        undefined = np.full(numerator.shape, float(zero_division))
        return np.divide(numerator, denominator, out=undefined, where=denominator != 0)

    return ratio


def average(values: Any, zero_division: float) -> float:
    """Average the values that are not NaN; ``zero_division`` if there are none."""
    values = np.asarray(values)
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else float(zero_division)


def fbeta(beta: float) -> Callable[..., Any]:
    """Return the F-measure that weights recall ``beta`` times as much as precision."""
    b2 = beta * beta
    return lambda t, q, p, n, ratio: ratio((1 + b2) * t, b2 * p + q)


def _harmonic_mean(a: NDArray, b: NDArray) -> NDArray:
    # The harmonic mean of two zeros is zero, not undefined.
    return 2 * a * b / np.where(a + b == 0, 1, a + b)


def _sum_of_ratios(numerator: NDArray, denominator: NDArray) -> float:
    # An instance with 0/0 adds nothing to either sum, regardless of zero_division.
    return ratio_for(0.0)(numerator, denominator).sum()


# Averaged over labels. For each label: t true, q predicted, p condition positives among n instances.
LABEL_METRICS: dict[str, Callable[..., Any]] = {
    "macro-precision": lambda t, q, p, n, ratio: ratio(t, q),
    "macro-recall": lambda t, q, p, n, ratio: ratio(t, p),
    "macro-f1": fbeta(1),
    "macro-jaccard": lambda t, q, p, n, ratio: ratio(t, p + q - t),
    "macro-balanced-accuracy": lambda t, q, p, n, ratio: (ratio(t, p) + ratio(n - p - q + t, n - p)) / 2,
    "macro-gmean": lambda t, q, p, n, ratio: np.sqrt(ratio(t, p) * ratio(n - p - q + t, n - p)),
    "macro-hmean": lambda t, q, p, n, ratio: _harmonic_mean(ratio(t, p), ratio(n - p - q + t, n - p)),
    "macro-accuracy": lambda t, q, p, n, ratio: ratio(n - p - q + 2 * t, n),
    "coverage": lambda t, q, p, n, ratio: t > 0,
    "catalogue-coverage": lambda t, q, p, n, ratio: q > 0,
}

# Averaged over instances; c is an InstanceCounts. The last three are one number for all instances.
INSTANCE_METRICS: dict[str, Callable[..., Any]] = {
    "precision": lambda c, ratio: ratio(c.hits, c.slots),
    "recall": lambda c, ratio: ratio(c.hits, c.true),
    "ndcg": lambda c, ratio: ratio(c.gain, c.ideal_gain),
    "ps-precision": lambda c, ratio: ratio(c.weighted_hits, c.slots),
    "ps-precision-normalised": lambda c, ratio: ratio(
        _sum_of_ratios(c.weighted_hits, c.slots), _sum_of_ratios(c.best_weighted_hits, c.slots)
    ),
    "ps-ndcg": lambda c, ratio: ratio(
        _sum_of_ratios(c.weighted_gain, c.ideal_gain), _sum_of_ratios(c.best_weighted_gain, c.ideal_gain)
    ),
    "micro-f1": lambda c, ratio: ratio(2 * c.hits.sum(), c.chosen.sum() + c.true.sum()),
}
