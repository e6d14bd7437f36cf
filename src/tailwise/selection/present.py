"""From selected candidates to the Selection that is returned: slots filled, best gain first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tailwise.expectations.terms import check_value, locate, raise_failure
from tailwise.inputs.chosen import Chosen
from tailwise.inputs.totals import Totals
from tailwise.kernels import label_state as counts
from tailwise.kernels.fill import fill_least_loss
from tailwise.kernels.row_ascent import sort_by_gain
from tailwise.kernels.rows import labels_at
from tailwise.selection.problem import Outcome, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.certificates.certificate import Certificate
    from tailwise.certificates.proof import Proof
    from tailwise.kernels.label_state import State
    from tailwise.utilities import Utility

__all__ = ["Selection", "present"]


@dataclass(frozen=True, eq=False, repr=False)
class Selection(Chosen):
    """The labels selected for each instance, and how they were found.

    Attributes
    ----------
    labels : ndarray of int32, shape (n, k)
        Best gain first. -1 marks a slot without a label: where an instance has too few candidates (``fill`` says what
        happens then), where its budget is below the largest, or where there is no budget.
    n_labels : int
        Number of labels m.
    utility : Utility
        What was maximised.
    expected : float
        Expected utility of this selection, by the expectation that was used; with a context, of both together.
    history : tuple of float
        Expected utility at the start and after each pass, before empty slots were filled.
    passes : int
        Number of passes, over instances or labels; a warm-up counts as one.
    seconds : float
        Time taken by the passes and all else in ``select``, compilation included where it happened.
    converged : bool
        Whether the last pass gained less than the tolerance (or one pass is all it takes).
    interrupted : bool
        Whether Ctrl-C ended the passes or the proof.
    method, expectation : str
        What was used, never "auto".
    certificate : Certificate or None
        The proof of how close to the optimum this is, where it was asked for.
    totals : Totals
        t, q and p of every label in this selection, without the context: to be added to others, saved, or given to
        the next ``select`` as its context.
    """

    labels: NDArray
    n_labels: int
    utility: Utility
    expected: float
    history: tuple[float, ...]
    passes: int
    seconds: float
    converged: bool
    interrupted: bool
    method: str
    expectation: str
    certificate: Certificate | None = None
    is_ranked: bool = True
    totals: Totals | None = None

    def __repr__(self) -> str:
        n, k = self.labels.shape
        state = "interrupted" if self.interrupted else "converged" if self.converged else "not converged"
        return (
            f"Selection({n:,} instances, at most {k} of {self.n_labels:,} labels, {self.utility} {self.expected:.6g} "
            f"expected, {self.method}, {self.passes} passes, {state})"
        )


def present(problem: Problem, outcome: Outcome, proof: Proof | None, seconds: float) -> Selection:
    """The selection as it is returned."""
    state = outcome.state if outcome.is_counted else problem.expectation.count(outcome.positions)
    unfilled = problem.expectation.value(state)
    labels, state = _fill(problem, outcome, state)
    value = _value_of(problem, labels, state)
    return Selection(
        labels[: problem.n_instances],
        problem.candidates.n_labels,
        problem.utility,
        check_value(problem.utility, value),
        outcome.history,
        outcome.passes,
        seconds,
        outcome.converged,
        outcome.interrupted,
        problem.method,
        problem.expectation.name,
        None if proof is None else proof.certificate(problem, value, filled=value - unfilled),
        totals=_totals_of(problem, labels, state),
    )


def _fill(problem: Problem, outcome: Outcome, state: State) -> tuple[NDArray, State]:
    """The labels of all slots, best gain first, and their state.

    Filled slots are not foreseen by the passes, so that what was found on the way may end higher; then it is taken.
    """
    labels, state = _labels_of(problem, outcome.positions, state)
    for positions in outcome.others if problem.rules.fills else ():
        other_labels, other = _labels_of(problem, positions, problem.expectation.count(positions))
        if _value_of(problem, other_labels, other) > _value_of(problem, labels, state):
            labels, state = other_labels, other
    return labels, state


def _value_of(problem: Problem, labels: NDArray, state: State) -> float:
    """What the labels are worth; where the working value was exact for rare labels only, by the laws of all."""
    if problem.expectation.uses_laws:
        return problem.expectation.value_of(Chosen(labels, problem.candidates.n_labels))
    return problem.expectation.value(state)


def _labels_of(problem: Problem, positions: NDArray, state: State) -> tuple[NDArray, State]:
    """The labels of positions, sorted and filled, and their state."""
    rows, terms, rules = problem.candidates.rows, problem.expectation.terms, problem.rules
    labels = np.empty_like(positions)
    labels_at(rows, positions, labels)
    sort_by_gain(rows, terms, state, labels, positions)
    if rules.fills:
        fill_least_loss(terms, state, labels, rules.budgets, rules.excluded)
    raise_failure(problem.utility)
    # Filling may select a label much more often than passes do; and where an optional label has taken the place of a
    # candidate, that candidate may fill a slot, with a probability that the kernel does not know of.
    if rules.fills and (rules.has_optional_labels or not problem.expectation.fits(state)):
        state = problem.expectation.count(*locate(Chosen(labels, problem.candidates.n_labels), problem.candidates))
    return labels, state


def _totals_of(problem: Problem, labels: NDArray, state: State) -> Totals:
    """The totals of the state, without those of the context."""
    context, m = problem.expectation.context, problem.candidates.n_labels
    failure = None
    if problem.expectation.terms.coverage.size and context.log_failure is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            failure = np.log(state.counts[:, counts.MANTISSA]) + state.counts[:, counts.SCALE] * np.log(counts.RESCALE)
            failure = np.minimum(0.0, failure - context.log_failure)
        if not np.isfinite(failure).all():  # where the context is certain, the labels tell what the state does not
            failure = Totals.of(Chosen(labels, m), problem.candidates).log_failure
    zeros = np.zeros(m)
    return Totals(
        np.maximum(0.0, state.counts[:, counts.T] - context.t),
        state.counts[:, counts.Q] - context.q,
        problem.batch.condition_positives - context.p,
        float(problem.n_instances),
        problem.batch.n_slots - (context.n_slots if problem.rules.has_budget else context.n_instances),
        failure,
        zeros,
        zeros,
        None if problem.candidates.label_names is None else tuple(problem.candidates.label_names.ids),
    )
