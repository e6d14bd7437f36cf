"""Instance-wise utilities: precision and its weighted variants, Hamming, any weights (paper, section 3.1)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailwise.errors import UtilityError
from tailwise.inputs.matrices import as_dense
from tailwise.inputs.priors import LabelPriors
from tailwise.utilities.linear import InstanceWise
from tailwise.utilities.utility import Batch, number_text


class WeightedInstance(InstanceWise):
    r"""A weight for each outcome:
    :math:`\frac1n \sum_j (w_{00}^j tn_j + w_{01}^j fp_j + w_{10}^j fn_j + w_{11}^j tp_j)`.

    Parameters
    ----------
    w00, w01, w10, w11 : float or array_like of shape (m,)
        Weight of a true negative, false positive, false negative, true positive; arrays give one per label.

    Examples
    --------
    >>> import tailwise as tw
    >>> tw.utilities.WeightedInstance(w11=1.0, w01=-0.2)
    WeightedInstance(w00=0, w01=-0.2, w10=0, w11=1)
    """

    name = "weighted-instance"

    def __init__(self, w00: Any = 0.0, w01: Any = 0.0, w10: Any = 0.0, w11: Any = 0.0) -> None:
        weights = (("w00", w00), ("w01", w01), ("w10", w10), ("w11", w11))
        self._weights = {name: _check_weight(name, weight) for name, weight in weights}

    def outcome_weights(self, batch: Batch) -> tuple[Any, Any, Any, Any]:
        return tuple(self._weights.values())  # type: ignore[return-value]

    def parameters(self) -> dict[str, Any]:
        return self._weights


class _WeightedPrecision(InstanceWise):
    """Weights on true positives only, divided by the budget: w_j / k."""

    remedy = "Use smaller parameters."

    def outcome_weights(self, batch: Batch) -> tuple[Any, Any, Any, Any]:
        with np.errstate(over="ignore", divide="ignore"):
            weights = np.asarray(self.label_weights())
        if not np.isfinite(weights).all():
            j = int(np.argmax(~np.isfinite(weights)))
            msg = f"{self} must give every label a finite weight. Got {weights[j]} for label {j}. {self.remedy}"
            raise UtilityError(msg)
        return 0.0, 0.0, 0.0, weights * (batch.n_instances / batch.n_slots)

    def label_weights(self) -> NDArray | float:
        return 1.0


class Precision(_WeightedPrecision):
    r"""Precision at k: :math:`\frac1{nk} \sum_j t_j`. Its best selection is the k most probable labels.

    With a budget per instance, k is its mean; without a budget, k = 1.
    """

    name = "precision"
    lowest = 0.0  # without a budget it is divided only by n, so it has no upper limit


class _PriorWeightedPrecision(_WeightedPrecision):
    def __init__(self, priors: Any) -> None:
        if priors is None:
            msg = (
                f"{type(self).__name__} needs the label priors of the training set. Got none. "
                "Give priors=training_labels (--priors FILE)."
            )
            raise UtilityError(msg)
        self.priors = LabelPriors.from_labels(priors)

    def parameters(self) -> dict[str, Any]:
        return {"priors": self.priors}

    def text(self) -> str:
        arguments = [number_text(value) for value in self.parameters().values() if value is not self.priors]
        return f"{self.name}({', '.join(arguments)})" if arguments else self.name


class PropensityScoredPrecision(_PriorWeightedPrecision):
    r"""Propensity-scored precision at k: :math:`\frac1{nk} \sum_j w_j t_j` with
    :math:`w_j = 1 + (\log n' - 1)(b + 1)^a (N_j + b)^{-a}`, :math:`N_j` the training count of label j among n'.

    Parameters
    ----------
    priors : LabelPriors or 0/1 matrix of shape (n', m)
        Training frequencies.
    a, b : float
        Parameters of the propensity model.
    """

    name = "ps-precision"
    remedy = "Use a smaller a, and a b above 0."

    def __init__(self, priors: Any = None, a: float = 0.55, b: float = 1.5) -> None:
        super().__init__(priors)
        self.a, self.b = _check_parameter("a", a, 0.0), _check_parameter("b", b, 0.0)

    def label_weights(self) -> NDArray:
        return self.priors.inverse_propensities(self.a, self.b)

    def parameters(self) -> dict[str, Any]:
        return {"priors": self.priors, "a": self.a, "b": self.b}


class PowerLawPrecision(_PriorWeightedPrecision):
    r"""Precision at k with weights :math:`\hat\pi_j^{-\beta}`, the training prior to a negative power.

    Parameters
    ----------
    priors : LabelPriors or 0/1 matrix of shape (n', m)
        Training frequencies.
    beta : float
        0 gives precision; the larger it is, the more rare labels count.
    """

    name = "power-law"

    def __init__(self, priors: Any = None, beta: float = 0.5) -> None:
        super().__init__(priors)
        self.beta = _check_parameter("beta", beta, -math.inf)

    def label_weights(self) -> NDArray:
        return self.priors.probabilities**-self.beta

    def parameters(self) -> dict[str, Any]:
        return {"priors": self.priors, "beta": self.beta}


class LogPrecision(_PriorWeightedPrecision):
    r"""Precision at k with weights :math:`-\log \hat\pi_j`.

    Parameters
    ----------
    priors : LabelPriors or 0/1 matrix of shape (n', m)
        Training frequencies.
    """

    name = "log"

    def __init__(self, priors: Any = None) -> None:
        super().__init__(priors)

    def label_weights(self) -> NDArray:
        return -np.log(self.priors.probabilities)


class Hamming(InstanceWise):
    r"""Hamming utility: :math:`\frac1{nm} \sum_j (tp_j + tn_j)`, one minus the Hamming loss."""

    name = "hamming"
    lowest, highest = 0.0, 1.0

    def outcome_weights(self, batch: Batch) -> tuple[Any, Any, Any, Any]:
        return 1 / batch.n_labels, 0.0, 0.0, 1 / batch.n_labels


def _check_weight(name: str, weight: Any) -> NDArray:
    weights = as_dense(weight, name)
    if not np.isfinite(weights).all():
        msg = f"{name} must be finite. Got {weights[~np.isfinite(weights)][0] if weights.ndim else weights}."
        raise UtilityError(msg)
    return weights


def _check_parameter(name: str, value: float, smallest: float) -> float:
    if not (math.isfinite(value) and value >= smallest):
        rule = "a finite number" if smallest == -math.inf else f"a finite number of at least {smallest:g}"
        msg = f"{name} must be {rule}. Got {value}."
        raise UtilityError(msg)
    return float(value)
