"""Utilities that are linear in t and q: instance-wise ones, and macro averages whose denominators contain only p."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailwise.errors import UtilityError
from tailwise.utilities.utility import Batch, Coefficients, SingleUtility


class LinearUtility(SingleUtility):
    """A utility of the form a_j(p) t + b_j(p) q + c_j(p): each instance gets the labels of largest a_j eta + b_j."""

    linear_in_predictions = True
    linear_in_labels = False

    @abstractmethod
    def coefficients(self, batch: Batch) -> Coefficients:
        """The factors of t and q and the constant of each label, before weights."""

    def linear(self, batch: Batch) -> Coefficients:
        weights = self.weights_in(batch)
        coefficients = self.coefficients(batch)
        return coefficients if weights is None else Coefficients(*(part * weights for part in coefficients))

    def psi_of(self, t: NDArray, q: NDArray, batch: Batch) -> NDArray:
        on_t, on_q, constant = self.linear(batch)
        return on_t * t + on_q * q + constant


class InstanceWise(LinearUtility):
    r"""A weight for each outcome of each label (paper, section 3.1).

    .. math:: \frac1n \sum_j w_{00}^j\, tn_j + w_{01}^j\, fp_j + w_{10}^j\, fn_j + w_{11}^j\, tp_j
    """

    linear_in_labels = True
    lowest, highest = -math.inf, math.inf  # as are its weights

    @abstractmethod
    def outcome_weights(self, batch: Batch) -> tuple[Any, Any, Any, Any]:
        """w00, w01, w10 and w11: numbers, or arrays of shape (m,)."""

    def coefficients(self, batch: Batch) -> Coefficients:
        w00, w01, w10, w11 = (
            _per_label(weight, batch.n_labels) / batch.n_instances for weight in self.outcome_weights(batch)
        )
        p = batch.condition_positives
        return Coefficients(w11 - w01 - w10 + w00, w01 - w00, w10 * p + w00 * (batch.n_instances - p))


def divide(numerator: Any, denominator: Any) -> NDArray:
    """Divide, with 0/0 = 0."""
    denominator = np.asarray(denominator, dtype=np.float64)
    out = np.zeros(np.broadcast_shapes(np.shape(numerator), denominator.shape))
    return np.divide(numerator, denominator, out=out, where=denominator > 0)


def _per_label(weight: Any, n_labels: int) -> NDArray:
    weight = np.asarray(weight, dtype=np.float64)
    if weight.shape not in ((), (n_labels,)):
        msg = f"Weights and priors must be one number per label, {n_labels} in all. Got shape {weight.shape}."
        raise UtilityError(msg)
    return np.broadcast_to(weight, n_labels)
