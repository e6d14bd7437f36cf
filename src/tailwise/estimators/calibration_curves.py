"""The curves from a model's probabilities to calibrated ones: isotonic, Platt, temperature. All of them rise."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from scipy.optimize import isotonic_regression, minimize
from scipy.special import expit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FITTERS", "CalibrationCurve", "Logistic", "PiecewiseLinear"]

# Logits are cut off where the probabilities of models are rounded to 0 or 1 (single precision is finer near 0).
LOWEST, HIGHEST = 1e-12, 1 - 6e-8
SLOPES, OFFSETS = (1e-3, 1e3), (-50.0, 50.0)


class CalibrationCurve(Protocol):
    """A rising function from [0, 1] to [0, 1], kept as two arrays of numbers."""

    @property
    def arrays(self) -> tuple[NDArray, NDArray]: ...

    def __call__(self, probabilities: NDArray) -> NDArray: ...


class PiecewiseLinear(NamedTuple):
    """Linear between knots, constant before the first and after the last."""

    knots: NDArray
    values: NDArray

    @property
    def arrays(self) -> tuple[NDArray, NDArray]:
        return self.knots, self.values

    def __call__(self, probabilities: NDArray) -> NDArray:
        return np.interp(probabilities, self.knots, self.values)


class Logistic(NamedTuple):
    """The logistic function of ``slope * logit(probability) + offset``."""

    slope: float
    offset: float

    @property
    def arrays(self) -> tuple[NDArray, NDArray]:
        return np.array([self.slope]), np.array([self.offset])

    def __call__(self, probabilities: NDArray) -> NDArray:
        return expit(self.slope * _logit(probabilities) + self.offset)


def fit_isotonic(probabilities: NDArray, is_true: NDArray) -> PiecewiseLinear:
    r"""The rising step function with the least squared error, made continuous.

    Each step is represented by one knot: the mean probability of its candidates, and the share of them that is true.
    Between the knots the curve is linear (Oron and Flournoy, "Centered isotonic regression", 2017), so that candidates
    that the model ranked apart stay apart where a step would tie them. From (0, 0) to the first knot it is linear, too;
    beyond the last it is constant. No step says "never" or "always": n candidates without a true one count as one in
    n + 2, n true ones as n + 1 in n + 2.
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
    """Only the first step can be at 0 and only the last at 1; both keep their order with their neighbours."""
    values = values.copy()
    if values[-1] >= 1:
        values[-1] = max((n[-1] + 1) / (n[-1] + 2), *values[-2:-1], 0.0)
    if values[0] <= 0:
        values[0] = min(1 / (n[0] + 2), *values[1:2], 1.0)
    return values


def fit_platt(probabilities: NDArray, is_true: NDArray) -> Logistic:
    """Slope and offset of the largest likelihood; with Platt's targets, which never say "never" or "always"."""
    return _fit_logistic(probabilities, is_true, OFFSETS)


def fit_temperature(probabilities: NDArray, is_true: NDArray) -> Logistic:
    """The slope, one over the temperature, of the largest likelihood; a probability of one half stays."""
    return _fit_logistic(probabilities, is_true, (0.0, 0.0))


def _fit_logistic(probabilities: NDArray, is_true: NDArray, offsets: tuple[float, float]) -> Logistic:
    logits = _logit(probabilities)
    n_true = float(is_true.sum())
    n_false = is_true.size - n_true
    targets = np.where(is_true > 0, (n_true + 1) / (n_true + 2), 1 / (n_false + 2))

    def loss(parameters: NDArray) -> tuple[float, NDArray]:
        z = parameters[0] * logits + parameters[1]
        errors = expit(z) - targets
        return float(np.mean(np.logaddexp(0, z) - targets * z)), np.array([np.mean(errors * logits), np.mean(errors)])

    options = {"ftol": 1e-14, "gtol": 1e-9, "maxiter": 200}
    found = minimize(loss, (1.0, 0.0), jac=True, method="L-BFGS-B", bounds=(SLOPES, offsets), options=options)
    return Logistic(float(found.x[0]), float(found.x[1]))


def _logit(probabilities: NDArray) -> NDArray:
    p = np.clip(np.asarray(probabilities, dtype=np.float64), LOWEST, HIGHEST)
    return np.log(p) - np.log1p(-p)


FITTERS: dict[str, Callable[[NDArray, NDArray], CalibrationCurve]] = {
    "isotonic": fit_isotonic,
    "platt": fit_platt,
    "temperature": fit_temperature,
}
