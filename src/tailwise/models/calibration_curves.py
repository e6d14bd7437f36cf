"""Calibration curves, which map the probabilities of a model to calibrated ones. All of them are increasing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression, minimize
from scipy.special import expit

from tailwise.kernels.rows import Rows

# Probabilities are clipped to the range in which models do not round them to 0 or 1 (single precision).
LOWEST, HIGHEST = 1e-12, 1 - 6e-8
SMALLEST_SUM = 1e-12  # of the probabilities of an instance
SLOPES, OFFSETS, NOT_ABOVE_ZERO, FREE = (1e-3, 1e3), (-50.0, 50.0), (-50.0, 0.0), (-50.0, 50.0)


class PiecewiseLinear(NamedTuple):
    """Linear between knots, constant before the first and after the last."""

    knots: NDArray
    values: NDArray

    def __call__(self, probabilities: NDArray, context: NDArray | None = None) -> NDArray:
        return np.interp(probabilities, self.knots, self.values)


class Logistic(NamedTuple):
    """The logistic function of ``slope * logit(probability) + offset``."""

    slope: float
    offset: float

    def __call__(self, probabilities: NDArray, context: NDArray | None = None) -> NDArray:
        return expit(_columns(probabilities) @ (self.offset, self.slope))


class InContext(NamedTuple):
    """A piecewise linear curve of the logistic function of a weighted sum of 1, the logit and the context."""

    weights: NDArray
    knots: NDArray
    values: NDArray

    def __call__(self, probabilities: NDArray, context: NDArray | None = None) -> NDArray:
        scores = expit(_columns(probabilities, context) @ self.weights)
        return np.interp(scores, self.knots, self.values)


CalibrationCurve = PiecewiseLinear | Logistic | InContext


def fit_isotonic(probabilities: NDArray, is_true: NDArray, context: NDArray | None = None) -> PiecewiseLinear:
    r"""Fit the increasing step function with the least squared error, made continuous.

    Each step is represented by one knot: the mean probability of its candidates, and the fraction of them that is true.
    The curve is linear between the knots (Oron and Flournoy, "Centered isotonic regression", 2017), so candidates with
    different probabilities are not tied as they would be on a step. It is also linear from (0, 0) to the first knot,
    and constant beyond the last. No step is at 0 or 1: if none of n candidates is true, the value is 1 / (n + 2); if
    all are, it is (n + 1) / (n + 2).
    """
    points, group = np.unique(probabilities, return_inverse=True)
    sizes = np.bincount(group)
    shares = np.bincount(group, weights=is_true) / sizes
    fitted = isotonic_regression(shares, weights=sizes)
    starts = fitted.blocks[:-1]
    n = np.add.reduceat(sizes, starts)
    knots = np.add.reduceat(points * sizes, starts) / n
    values = _without_certainty(fitted.x[starts], n)
    if knots[0] > 0:
        knots, values = np.concatenate([[0.0], knots]), np.concatenate([[0.0], values])
    return PiecewiseLinear(knots, values)


def _without_certainty(values: NDArray, n: NDArray) -> NDArray:
    """Move the first step away from 0 and the last away from 1, without passing their neighbours."""
    values = values.copy()
    if values[-1] >= 1:
        values[-1] = max((n[-1] + 1) / (n[-1] + 2), *values[-2:-1], 0.0)
    if values[0] <= 0:
        values[0] = min(1 / (n[0] + 2), *values[1:2], 1.0)
    return values


def fit_platt(probabilities: NDArray, is_true: NDArray, context: NDArray | None = None) -> Logistic:
    """Fit slope and offset by maximum likelihood of Platt's targets, which are never 0 or 1."""
    offset, slope = _fit_logistic(_columns(probabilities), is_true, (OFFSETS, SLOPES))
    return Logistic(float(slope), float(offset))


def fit_temperature(probabilities: NDArray, is_true: NDArray, context: NDArray | None = None) -> Logistic:
    """Fit the slope, the inverse temperature, by maximum likelihood; a probability of 1/2 does not change."""
    _, slope = _fit_logistic(_columns(probabilities), is_true, ((0.0, 0.0), SLOPES))
    return Logistic(float(slope), 0.0)


def fit_in_context(probabilities: NDArray, is_true: NDArray, context: NDArray | None = None) -> InContext:
    """Fit weights by maximum likelihood, then an isotonic curve; a better rank never lowers a probability."""
    columns = _columns(probabilities, context)
    weights = _fit_logistic(columns, is_true, (OFFSETS, SLOPES, NOT_ABOVE_ZERO, FREE, FREE))
    curve = fit_isotonic(expit(columns @ weights), is_true)
    return InContext(weights, curve.knots, curve.values)


def _fit_logistic(columns: NDArray, is_true: NDArray, bounds: tuple[tuple[float, float], ...]) -> NDArray:
    """Fit column weights by maximum likelihood of Platt's targets, starting from a slope of 1."""
    n_true = float(is_true.sum())
    n_false = is_true.size - n_true
    targets = np.where(is_true > 0, (n_true + 1) / (n_true + 2), 1 / (n_false + 2))

    def loss(weights: NDArray) -> tuple[float, NDArray]:
        z = columns @ weights
        return float(np.mean(np.logaddexp(0, z) - targets * z)), (expit(z) - targets) @ columns / targets.size

    start = np.zeros(len(bounds))
    start[1] = 1.0
    options = {"ftol": 1e-14, "gtol": 1e-9, "maxiter": 500}
    return minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x


def describe_context(rows: Rows, label_counts: NDArray | None) -> NDArray:
    """Compute three numbers for each candidate, (nnz, 3).

    They are the logarithms of one plus its rank among the candidates of its instance (0 for the most probable; ties go
    to the smaller label), of the sum of their probabilities, and of one plus the training count of its label (0 if
    unknown).
    """
    sizes = np.diff(rows.indptr)
    instances = np.repeat(np.arange(sizes.size), sizes)
    order = np.lexsort((-rows.values, instances))  # stable, and labels ascend within a row
    ranks = np.empty(order.size)
    ranks[order] = np.arange(order.size) - np.repeat(rows.indptr[:-1], sizes)
    sums = np.bincount(instances, weights=rows.values, minlength=sizes.size)
    context = np.zeros((order.size, 3))
    context[:, 0] = np.log1p(ranks)
    context[:, 1] = np.log(np.maximum(sums, SMALLEST_SUM))[instances]
    if label_counts is not None:
        context[:, 2] = np.log1p(label_counts)[rows.labels]
    return context


def _columns(probabilities: NDArray, context: NDArray | None = None) -> NDArray:
    """Return the columns 1, logit and context: (nnz, 2) or more."""
    p = np.clip(np.asarray(probabilities, dtype=np.float64), LOWEST, HIGHEST)
    parts = [np.ones(p.size), np.log(p) - np.log1p(-p)]
    return np.column_stack(parts if context is None else [*parts, context])


FITTERS: dict[str, Callable[[NDArray, NDArray, NDArray | None], CalibrationCurve]] = {
    "isotonic": fit_isotonic,
    "platt": fit_platt,
    "temperature": fit_temperature,
    "context": fit_in_context,
}
CURVES: dict[str, Any] = {curve.__name__: curve for curve in (PiecewiseLinear, Logistic, InContext)}
