"""The paper's approximation: psi of the expected counts, psi(E[t], q, E[p]) (paper, section 4.1)."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tailwise.expectations.worth import make_worth
from tailwise.kernels import label_state as kernels
from tailwise.kernels.columns import Columns, transpose
from tailwise.kernels.laws import Laws
from tailwise.kernels.nodes import Quadrature
from tailwise.kernels.rows import find_positions
from tailwise.kernels.set_worth import Worth
from tailwise.utilities.formula import Custom
from tailwise.utilities.linear import LinearUtility
from tailwise.utilities.macro import CONCAVE, CONVEX, PROPORTIONAL, UNKNOWN, Coverage, FormulaUtility

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.inputs.candidates import Candidates
    from tailwise.inputs.chosen import Chosen
    from tailwise.utilities.utility import Batch, Utility

__all__ = ["NO_LABELS", "NO_QUADRATURE", "SemiEmpirical"]

NO_LABELS = np.empty(0, dtype=np.int32)
NO_LAWS = Laws(np.empty(0, dtype=np.int32), np.empty((0, 2, 0)))
NO_QUADRATURE = Quadrature(np.empty((0, 4, 0)), np.empty((0, 2, 0)), np.empty(0), 0)

_CURVATURES = {
    PROPORTIONAL: kernels.CONVEX,
    CONVEX: kernels.CONVEX,
    CONCAVE: kernels.CONCAVE,
    UNKNOWN: kernels.UNKNOWN,
}


class SemiEmpirical:
    r"""The semi-empirical utility of a selection on one batch.

    .. math:: \sum_j \psi_j\Bigl(\sum_{i \in S_j} \eta_{ij},\; |S_j|,\; p_j\Bigr)

    exact for what is linear in the labels; coverage enters with its exact expectation,
    :math:`1 - \prod_{i \in S_j} (1 - \eta_{ij})`.

    Attributes
    ----------
    objective : tailwise.kernels.label_state.Objective
        The running totals that selection kernels read and write.
    """

    name = "semi"
    # Totals are counted from scratch now and then, so that rounding does not build up.
    passes_per_count = 16
    uses_quadrature = False
    # Whether a climb by a cheaper expectation first saves time.
    is_dear = False

    def __init__(self, utility: Utility, candidates: Candidates, batch: Batch) -> None:
        self.candidates, self.batch = candidates, batch
        m = candidates.n_labels
        linear, self._constant = _linear_part(utility, batch)
        self.formulas = [(f / m, term.formula) for f, term in utility.terms if isinstance(term, FormulaUtility)]
        totals = np.zeros((m, kernels.N_TOTALS))
        totals[:, kernels.P] = batch.condition_positives
        self.objective = kernels.Objective(
            totals,
            np.zeros(m, dtype=np.float32),
            np.zeros(m, dtype=np.float32),
            linear,
            np.array([formula.address() for _, formula in self.formulas], dtype=np.int64),
            np.array([(c, f.parameter, _CURVATURES[f.curvature]) for c, f in self.formulas]).reshape(-1, 3),
            float(sum(factor / m for factor, term in utility.terms if isinstance(term, Coverage))),
            float(candidates.n_instances),
            NO_QUADRATURE,
            NO_LAWS,
        )
        self._custom = [term for _, term in utility.terms if isinstance(term, Custom)]
        for term in self._custom:
            term.check(candidates.n_instances)

    @property
    def is_linear(self) -> bool:
        """Whether the gain of a label does not depend on the selection."""
        return not (self.objective.formulas.size or self.objective.coverage)

    @property
    def needs_one_thread(self) -> bool:
        """Plain Python formulas cannot be called from several threads at once."""
        return any(not term.compiled for term in self._custom)

    def count(self, positions: NDArray, others: NDArray = NO_LABELS) -> None:
        """Set the totals, from scratch, to those of a selection given as positions within the rows.

        `others` are selected labels that are no candidates of the instance: of probability 0.
        """
        kernels.count_selected(self.candidates.rows, positions, self.objective)
        kernels.refresh(self.objective)
        kernels.add_impossible(self.objective, others)
        self.raise_failure()

    def prepare(self, q: NDArray) -> None:
        """Set the totals to those of nothing selected, for labels that will be selected about q times."""
        self.count(np.full((self.candidates.n_instances, 1), -1, dtype=np.int32))

    def count_labels(self, chosen: Chosen) -> None:
        """The same for any selection, given by its labels."""
        positions = np.empty_like(chosen.labels)
        find_positions(self.candidates.rows, chosen.labels, positions)
        self.count(positions, chosen.labels[(positions < 0) & (chosen.labels >= 0)])

    def expected(self) -> float:
        """The expected utility at the present totals."""
        totals, linear = self.objective.totals, self.objective.linear
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused by who reports it
            psi = totals[:, kernels.PSI] + linear[:, 0] * totals[:, kernels.T] + linear[:, 1] * totals[:, kernels.Q]
            coverage = self.objective.coverage * (1 - totals[:, kernels.FAILURE])
            return float((psi + coverage).sum()) + self._constant

    @cached_property
    def columns(self) -> Columns:
        """The candidates by label."""
        return transpose(self.candidates.rows, self.candidates.n_labels)

    @cached_property
    def worth(self) -> Worth:
        """What sets of instances are worth to a label."""
        formulas = [formula for _, formula in self.formulas]
        return make_worth(self.objective, formulas, self.candidates.condition_positives(), *self._make_blocks())

    def _make_blocks(self) -> tuple[NDArray, Quadrature]:
        """Nodes for all sizes that a label's set can have, block by block."""
        return np.empty(0, dtype=np.int64), NO_QUADRATURE

    def raise_failure(self) -> None:
        for term in self._custom:
            term.raise_failure()


def _linear_part(utility: Utility, batch: Batch) -> tuple[NDArray, float]:
    """The factors of t and q of each label, and the part of the utility that no selection changes."""
    linear, constant = np.zeros((batch.n_labels, 2)), 0.0
    for factor, term in utility.terms:
        if isinstance(term, LinearUtility):
            coefficients = term.coefficients(batch)
            linear[:, 0] += factor * coefficients.on_t
            linear[:, 1] += factor * coefficients.on_q
            constant += factor * float(coefficients.constant.sum())
    return linear, constant
