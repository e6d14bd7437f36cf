"""Macro averages: the mean over labels of a binary measure (paper, section 3.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tailwise.errors import UtilityError
from tailwise.utilities.instance_weights import Hamming
from tailwise.utilities.linear import Coefficients, LinearUtility, divide
from tailwise.utilities.utility import Batch, SingleUtility, number_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = [
    "Coverage",
    "Formula",
    "FormulaUtility",
    "MacroAUC",
    "MacroAccuracy",
    "MacroBalancedAccuracy",
    "MacroF1",
    "MacroFBeta",
    "MacroGMean",
    "MacroHMean",
    "MacroJaccard",
    "MacroPrecision",
    "MacroRecall",
]

# How a formula bends in t at fixed q and p. A proportional one is a line through 0, whose slope falls and bends
# upwards as q grows.
PROPORTIONAL, CONVEX, CONCAVE, UNKNOWN = "proportional", "convex", "concave", "unknown"


# Exact values keep their relative error of 1e-6 up to ten times this; beyond it, F-beta is recall to six digits.
LARGEST_BETA = 1000.0


class Formula(NamedTuple):
    """psi(t, q, p, n, parameter) of one label, and its address as a C function once a kernel needs it."""

    function: Callable[[float, float, float, float, float], float]
    address: Callable[[], int]
    parameter: float = 0.0
    curvature: str = UNKNOWN


class FormulaUtility(SingleUtility):
    """The mean over labels of a nonlinear formula psi(t, q, p)."""

    linear_in_predictions = False
    linear_in_labels = False
    formula: Formula

    def psi_of(self, t: NDArray, q: NDArray, batch: Batch) -> NDArray:
        function = np.vectorize(self.formula.function, otypes=[np.float64])
        values = function(t, q, batch.condition_positives, batch.n_instances, self.formula.parameter)
        return values / batch.n_labels


def _built_in(name: str, curvature: str, parameter: float = 0.0) -> Formula:
    from tailwise.kernels import psi as formulas

    function = getattr(formulas, name)
    return Formula(function, lambda: formulas.compile_built_in(function).address, parameter, curvature)


class MacroPrecision(FormulaUtility):
    r"""Macro-precision: :math:`\frac1m \sum_j t_j / q_j`, 0/0 = 0."""

    name = "macro-precision"
    linear_in_labels = True

    def __init__(self) -> None:
        self.formula = _built_in("precision", PROPORTIONAL)


class MacroFBeta(FormulaUtility):
    r"""Macro-F-measure: :math:`\frac1m \sum_j (1 + \beta^2) t_j / (q_j + \beta^2 p_j)`, 0/0 = 0.

    Parameters
    ----------
    beta : float
        How much more recall counts than precision; above 0 and at most 1000.
    """

    name = "macro-fbeta"

    def __init__(self, beta: float = 1.0) -> None:
        self.beta = float(beta)
        if not 0 < self.beta <= LARGEST_BETA:
            msg = (
                f"beta must be above 0 and at most {LARGEST_BETA:g}. Got {beta}. "
                "Use MacroPrecision (macro-precision) for 0, MacroRecall (macro-recall) for larger ones."
            )
            raise UtilityError(msg)
        self.formula = _built_in("f_beta", PROPORTIONAL, self.beta)

    def parameters(self) -> dict[str, Any]:
        return {"beta": self.beta}

    def __str__(self) -> str:
        return f"{self.name}({number_text(self.beta)})"


class MacroF1(MacroFBeta):
    r"""Macro-F1: :math:`\frac1m \sum_j 2 t_j / (q_j + p_j)`, 0/0 = 0."""

    name = "macro-f1"

    def __init__(self) -> None:
        super().__init__(1.0)

    def parameters(self) -> dict[str, Any]:
        return {}

    def __str__(self) -> str:
        return self.name


class MacroJaccard(FormulaUtility):
    r"""Macro-Jaccard: :math:`\frac1m \sum_j t_j / (q_j + p_j - t_j)`, 0/0 = 0."""

    name = "macro-jaccard"

    def __init__(self) -> None:
        self.formula = _built_in("jaccard", CONVEX)


class MacroGMean(FormulaUtility):
    r"""Macro-G-mean: :math:`\frac1m \sum_j \sqrt{tpr_j\, tnr_j}`; 0 for a label without positives or negatives."""

    name = "macro-gmean"

    def __init__(self) -> None:
        self.formula = _built_in("geometric_mean", CONCAVE)


class MacroHMean(FormulaUtility):
    r"""Macro-H-mean: :math:`\frac1m \sum_j 2\, tpr_j\, tnr_j / (tpr_j + tnr_j)`, 0/0 = 0."""

    name = "macro-hmean"

    def __init__(self) -> None:
        self.formula = _built_in("harmonic_mean", CONCAVE)


class MacroAUC(FormulaUtility):
    r"""Macro-AUC: :math:`\frac1m \sum_j 1 - fp_j\, fn_j / (p_j (n - p_j))`.

    The share of pairs of a positive and a negative instance that the selection does not put in the wrong order; 0 for a
    label without such pairs.
    """

    name = "macro-auc"

    def __init__(self) -> None:
        self.formula = _built_in("pair_order", CONCAVE)


class MacroRecall(LinearUtility):
    r"""Macro-recall: :math:`\frac1m \sum_j t_j / p_j`, 0/0 = 0."""

    name = "macro-recall"

    def coefficients(self, batch: Batch) -> Coefficients:
        zero = np.zeros(batch.n_labels)
        return Coefficients(divide(1 / batch.n_labels, batch.condition_positives), zero, zero)


class MacroBalancedAccuracy(LinearUtility):
    r"""Macro balanced accuracy: :math:`\frac1{2m} \sum_j t_j / p_j + tn_j / (n - p_j)`, 0/0 = 0."""

    name = "macro-balanced-accuracy"

    def coefficients(self, batch: Batch) -> Coefficients:
        from tailwise.kernels.psi import FEW_NEGATIVES, FEW_NEGATIVES_SHARE

        n, p, half = batch.n_instances, batch.condition_positives, 0.5 / batch.n_labels
        negatives = np.where(n - p > FEW_NEGATIVES + FEW_NEGATIVES_SHARE * n, n - p, 0.0)
        per_positive, per_negative = divide(half, p), divide(half, negatives)
        # tn = (n - p) - (q - t)
        return Coefficients(per_positive + per_negative, -per_negative, per_negative * negatives)


class MacroAccuracy(Hamming):
    r"""Macro-accuracy: :math:`\frac1{nm} \sum_j tp_j + tn_j`; the same number as the Hamming utility."""

    name = "macro-accuracy"


class Coverage(SingleUtility):
    r"""Coverage: the share of labels predicted correctly at least once, :math:`\frac1m \sum_j 1[t_j > 0]`.

    Its expectation is exact: :math:`\frac1m \sum_j 1 - \prod_{i \in S_j} (1 - \eta_{ij})` (paper, section 4.4).
    """

    name = "coverage"
    linear_in_predictions = False
    linear_in_labels = False

    def psi_of(self, t: NDArray, q: NDArray, batch: Batch) -> NDArray:
        return (t > 0) / batch.n_labels
