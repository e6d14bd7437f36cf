"""Semi-online greedy: labels for rows as they arrive, from the totals of earlier rows (paper, appendix on greedy).

| paper | here |
|---|---|
| Algorithm 3, greedy | `SemiOnlineGreedy.select_rows`, and `select_row` for a single row |
| Algorithm 4, for coverage | the same, with the coverage term |
| Algorithms 7 and 8, on sparse probabilities | the same: candidates are always sparse |

Future rows are unknown, so p and n count the rows so far, including the current one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tailwise.errors import NumericalError, UtilityError
from tailwise.expectations.terms import check_terms, make_terms, raise_failure
from tailwise.inputs.candidates import SMALLEST, Candidates
from tailwise.inputs.totals import Totals
from tailwise.kernels import online_greedy as columns
from tailwise.kernels.online_greedy import select_online
from tailwise.kernels.rows import Rows
from tailwise.utilities.macro import FormulaUtility
from tailwise.utilities.utility import Batch, SingleUtility, Utility, UtilityClass

# Number of instances assumed when a user-defined formula is tested; the actual number is unknown.
N_TRIED = 100
# Initial capacity for the candidates of a single row.
FIRST_ROOM = 128


class SemiOnlineGreedy:
    """The totals of a stream, from which the labels of its next rows are chosen."""

    def __init__(self, utility: Utility, k: int, n_labels: int) -> None:
        self.utility, self.k = utility, k
        nothing = np.zeros(n_labels)
        check_terms(utility, Batch(N_TRIED, n_labels, float(N_TRIED * k), nothing))
        # Kept alive here, because the terms hold addresses of compiled formulas.
        self._parts = [(factor, _as_online(term)) for factor, term in utility.terms]
        # Linear parts are divided by n or n k; these are the coefficients for n = 1, which the kernel divides by n.
        self._terms, _ = make_terms(self._parts, Batch(1, n_labels, float(k), nothing))
        if not any(_is_instance_wise(term) for _, term in self._parts):
            self._terms = self._terms._replace(linear=np.empty((0, 2)))
        self.counts = np.zeros((n_labels, columns.N_COLUMNS))
        self.counts[:, columns.FAILURE] = 1.0
        self.n_seen = np.zeros(1)
        self._make_room(FIRST_ROOM)

    @property
    def totals(self) -> Totals:
        t, q, p, _, log_failure = self.counts[:, : columns.N_TOTALS].T.copy()
        zeros, n = np.zeros(t.size), float(self.n_seen[0])
        return Totals(t, q, p, n, n * self.k, log_failure, zeros, zeros)

    def select_row(self, labels: NDArray, values: NDArray) -> NDArray | None:
        """Choose the labels of one row quickly; return None, without changes, for a row that needs further checks."""
        size = labels.size
        if size > self._row.labels.size:
            self._make_room(2 * size)
        row = self._row
        row.indptr[1] = size
        row.labels[:size] = labels
        row.values[:size] = values
        chosen = np.empty((1, self.k), dtype=np.int32)
        refused = select_online(row, self._terms, self.counts, self.n_seen, SMALLEST, chosen)
        return None if refused >= 0 else chosen[0]

    def select_rows(self, candidates: Candidates) -> NDArray:
        """Choose the labels of checked rows, one after another; add all of them to the totals, or none on an error."""
        chosen = np.empty((candidates.n_instances, self.k), dtype=np.int32)
        touched = self._touched(candidates)
        before = self.counts[touched]
        refused = select_online(candidates.rows, self._terms, self.counts, self.n_seen, SMALLEST, chosen)
        if refused >= 0:
            self.counts[touched] = before
            raise_failure(self.utility)
            msg = (
                f"The gains of {self.utility} must be finite. They are not for row {refused}. "
                "Use smaller factors, weights or parameters, or a formula that is finite for all counts."
            )
            raise NumericalError(msg)
        return chosen

    def _touched(self, candidates: Candidates) -> NDArray:
        """The labels whose totals the rows may change."""
        labels, m = candidates.rows.labels, self.counts.shape[0]
        return np.unique(labels) if labels.size < m else np.arange(m)

    def _make_room(self, size: int) -> None:
        """Allocate arrays of fixed types for single rows, so that one compiled kernel serves all."""
        self._row = Rows(np.zeros(2, dtype=np.int64), np.empty(size, dtype=np.int64), np.empty(size))


def _is_instance_wise(term: SingleUtility) -> bool:
    return term.formula is None and not term.is_coverage and term.kind is UtilityClass.FULLY_LINEAR


def _as_online(term: SingleUtility) -> SingleUtility:
    """Return the term in a form that needs only t, q and p of the rows so far."""
    if term.formula is not None or term.is_coverage or _is_instance_wise(term):
        return term
    formula = getattr(term, "online_formula", None)
    if formula is None:
        msg = (
            f"A utility for online selection must define psi(t, q, p, n). {type(term).__name__} does not. "
            "Use Utility.from_formula(psi), or define `formula` or `online_formula` in its class."
        )
        raise UtilityError(msg)
    online = FormulaUtility(weights=term.weights)
    online.formula = formula
    return online
