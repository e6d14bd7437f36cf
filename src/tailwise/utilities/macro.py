"""Macro averages: the mean over labels of a binary measure (paper, section 3.2)."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tailwise.errors import UtilityError
from tailwise.kernels.curvature import AFFINE, CONCAVE, CONVEX, PROPORTIONAL
from tailwise.utilities.by_label import as_weights
from tailwise.utilities.instance_weights import Hamming
from tailwise.utilities.linear import LinearUtility, divide
from tailwise.utilities.utility import Batch, Coefficients, Formula, Ratio, SingleUtility, number_text

# Up to ten times this value, relative errors of exact values stay below 1e-6; above it, F-beta equals recall to six
# digits.
LARGEST_BETA = 1000.0


class MacroUtility(SingleUtility):
    r"""A mean over labels.

    Parameters
    ----------
    weights : array_like of shape (m,) or mapping, optional
        Factors of the labels' parts, numbers of at least 0: one per label, or a mapping by label number or name, in
        which labels that are not listed have weight 1. The utility is :math:`\frac1m \sum_j w_j \psi_j`.
    """

    is_macro = True

    def __init__(self, *, weights: Any = None) -> None:
        self.weights = None if weights is None else as_weights(weights)

    @property
    def online_formula(self) -> Formula | None:
        """psi(t, q, p, n) while p still grows, for utilities without `formula`, which are linear once p is known."""
        return None


class FormulaUtility(MacroUtility):
    """The mean over labels of a nonlinear formula psi(t, q, p)."""

    linear_in_predictions = False
    linear_in_labels = False
    formula: Formula
    built_in: ClassVar[tuple[str, float] | None] = None  # a function of kernels/psi.py, and its curvature

    def __init__(self, *, weights: Any = None) -> None:
        super().__init__(weights=weights)
        if self.built_in is not None:
            self.formula = _built_in(*self.built_in)

    def psi_of(self, t: NDArray, q: NDArray, batch: Batch) -> NDArray:
        function, parameters = self.formula.function, self.formula.parameters
        rows = np.broadcast_to(parameters, (t.size, parameters.shape[-1]))
        counts, n = zip(t, q, batch.condition_positives, rows, strict=True), batch.n_instances
        values = np.array([function(*each[:3], n, each[3]) for each in counts], dtype=np.float64)
        weights = self.weights_in(batch)
        return values / batch.n_labels if weights is None else weights * values / batch.n_labels


def _built_in(name: str, curvature: float, *parameters: float) -> Formula:
    from tailwise.kernels import psi

    return Formula(getattr(psi, name), partial(_address, name), np.array(parameters, dtype=np.float64), curvature)


def _address(name: str) -> int:
    from tailwise.kernels import psi

    return psi.compile_built_in(getattr(psi, name)).address


class MacroPrecision(FormulaUtility):
    r"""Macro-precision: :math:`\frac1m \sum_j t_j / q_j`, 0/0 = 0."""

    name = "macro-precision"
    built_in = ("precision", PROPORTIONAL)
    linear_in_labels = True


class MacroFBeta(FormulaUtility):
    r"""Macro-F-measure: :math:`\frac1m \sum_j (1 + \beta^2) t_j / (q_j + \beta^2 p_j)`, 0/0 = 0.

    Parameters
    ----------
    beta : float
        How much more recall counts than precision; above 0 and at most 1000.
    """

    name = "macro-fbeta"

    def __init__(self, beta: float = 1.0, *, weights: Any = None) -> None:
        super().__init__(weights=weights)
        self.beta = float(beta)
        if not 0 < self.beta <= LARGEST_BETA:
            msg = (
                f"beta must be above 0 and at most {LARGEST_BETA:g}. Got {beta}. "
                "Use MacroPrecision (macro-precision) for 0, MacroRecall (macro-recall) for larger ones."
            )
            raise UtilityError(msg)
        self.formula = _built_in("f_beta", PROPORTIONAL, self.beta)
        self.ratios = (Ratio("hits", 1.0 + self.beta**2, on_q=1.0, on_p=self.beta**2),)

    def parameters(self) -> dict[str, Any]:
        return {"beta": self.beta}

    def text(self) -> str:
        return f"{self.name}({number_text(self.beta)})"


class MacroF1(MacroFBeta):
    r"""Macro-F1: :math:`\frac1m \sum_j 2 t_j / (q_j + p_j)`, 0/0 = 0."""

    name = "macro-f1"

    def __init__(self, *, weights: Any = None) -> None:
        super().__init__(1.0, weights=weights)

    def parameters(self) -> dict[str, Any]:
        return {}

    def text(self) -> str:
        return self.name


class MacroJaccard(FormulaUtility):
    r"""Macro-Jaccard: :math:`\frac1m \sum_j t_j / (q_j + p_j - t_j)`, 0/0 = 0."""

    name = "macro-jaccard"
    built_in = ("jaccard", CONVEX)
    ratios = (Ratio("jaccard", 1.0),)


class MacroGMean(FormulaUtility):
    r"""Macro-G-mean: :math:`\frac1m \sum_j \sqrt{tpr_j\, tnr_j}`; 0 for a label without positives or negatives."""

    name = "macro-gmean"
    built_in = ("geometric_mean", CONCAVE)


class MacroHMean(FormulaUtility):
    r"""Macro-H-mean: :math:`\frac1m \sum_j 2\, tpr_j\, tnr_j / (tpr_j + tnr_j)`, 0/0 = 0."""

    name = "macro-hmean"
    built_in = ("harmonic_mean", CONCAVE)


class MacroAUC(FormulaUtility):
    r"""Macro-AUC: :math:`\frac1m \sum_j 1 - fp_j\, fn_j / (p_j (n - p_j))`.

    The share of pairs of a positive and a negative instance that the selection does not put in the wrong order; 0 for a
    label without such pairs.
    """

    name = "macro-auc"
    built_in = ("pair_order", CONCAVE)


class MacroRecall(MacroUtility, LinearUtility):
    r"""Macro-recall: :math:`\frac1m \sum_j t_j / p_j`, 0/0 = 0."""

    name = "macro-recall"
    ratios = (Ratio("hits", 1.0, on_p=1.0),)

    @property
    def online_formula(self) -> Formula:
        return _built_in("recall", PROPORTIONAL)

    def coefficients(self, batch: Batch) -> Coefficients:
        zero = np.zeros(batch.n_labels)
        return Coefficients(divide(1 / batch.n_labels, batch.condition_positives), zero, zero)


class MacroBalancedAccuracy(MacroUtility, LinearUtility):
    r"""Macro balanced accuracy: :math:`\frac1{2m} \sum_j t_j / p_j + tn_j / (n - p_j)`, 0/0 = 0."""

    name = "macro-balanced-accuracy"
    ratios = (Ratio("hits", 0.5, on_p=1.0), Ratio("false-positives", 0.5))

    @property
    def online_formula(self) -> Formula:
        return _built_in("balanced_accuracy", AFFINE)

    def coefficients(self, batch: Batch) -> Coefficients:
        from tailwise.kernels.psi import FEW_NEGATIVES, FEW_NEGATIVES_SHARE

        n, p, half = batch.n_instances, batch.condition_positives, 0.5 / batch.n_labels
        negatives = np.where(n - p > FEW_NEGATIVES + FEW_NEGATIVES_SHARE * n, n - p, 0.0)
        per_positive, per_negative = divide(half, p), divide(half, negatives)
        # tn = (n - p) - (q - t)
        return Coefficients(per_positive + per_negative, -per_negative, per_negative * negatives)


class MacroAccuracy(MacroUtility, Hamming):
    r"""Macro-accuracy: :math:`\frac1{nm} \sum_j tp_j + tn_j`; the same number as the Hamming utility."""

    name = "macro-accuracy"


class Coverage(MacroUtility):
    r"""Coverage: the share of labels predicted correctly at least once, :math:`\frac1m \sum_j 1[t_j > 0]`.

    Its expectation is exact: :math:`\frac1m \sum_j 1 - \prod_{i \in S_j} (1 - \eta_{ij})` (paper, section 4.4).
    """

    name = "coverage"
    is_coverage = True
    linear_in_predictions = False
    linear_in_labels = False

    def psi_of(self, t: NDArray, q: NDArray, batch: Batch) -> NDArray:
        weights = self.weights_in(batch)
        return (t > 0) / batch.n_labels * (1.0 if weights is None else weights)
