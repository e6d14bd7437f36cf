"""From selected candidates to the Selection that is returned: slots filled, best gain first."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.errors import InputError
from tailwise.expectations.terms import check_value, locate, raise_failure
from tailwise.inputs.candidates import UNKNOWN, Origin
from tailwise.inputs.chosen import Chosen
from tailwise.inputs.matrices import is_mapped
from tailwise.inputs.totals import Totals
from tailwise.kernels import label_state as counts
from tailwise.kernels.fill import fill_least_loss
from tailwise.kernels.row_ascent import list_by_gain
from tailwise.selection.makeweights import describe_makeweights
from tailwise.selection.problem import Outcome, Problem
from tailwise.utilities.instance_weights import Precision

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.certificates.certificate import Certificate
    from tailwise.certificates.proof import Proof
    from tailwise.inputs.ids import Ids
    from tailwise.inputs.label_names import LabelNames
    from tailwise.kernels.label_state import State
    from tailwise.selection.explain import Explainer
    from tailwise.selection.reasons import Explanation, LabelExplanation
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
        Expected utility at the start, or after the warm-up, and after each pass, before empty slots were filled.
    passes : int
        Number of passes, over instances or labels, after the warm-up.
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
    instance_ids : Ids or None
        The ids of the instances, if the input had any.
    label_names : LabelNames or None
        The ids of the labels and their titles, if the input had any.
    messages : tuple of str
        What was decided about the input: which columns of a table were read. How many slots hold labels that only make
        up the number k. On a cluster, the bytes of each pass.

    Examples
    --------
    >>> import pandas as pd, tailwise as tw
    >>> table = pd.DataFrame({"user": ["ann", "ann", "bob"], "item": ["tea", "jam", "tea"], "score": [0.9, 0.4, 0.7]})
    >>> selection = tw.select(table, "macro-f1", k=1)
    >>> selection.to_dict()
    {'ann': ['jam'], 'bob': ['tea']}
    >>> selection["ann"]
    ['jam']
    >>> selection.messages
    ("Columns found by name: instance from 'user', label from 'item', probability from 'score'.",)
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
    instance_ids: Ids | None = None
    label_names: LabelNames | None = None
    origin: Origin = UNKNOWN
    problem: Problem | None = None  # what was solved, from which explanations are made

    @property
    def messages(self) -> tuple[str, ...]:
        """What is to be said about how the input was read, and of slots whose labels only make up the number k."""
        return (*self.origin.messages, *self._notes)

    @property
    def library(self) -> str:  # type: ignore[override]
        """The library of the table that the input was."""
        return self.origin.library

    def save(self, path: str | os.PathLike[str], *, format: str | None = None) -> None:
        """Write the labels of each instance with their order, probabilities and ids; the suffix says in which format.

        Ids are kept by .jsonl and .parquet, for instance; a format that cannot hold them is refused.
        """
        from tailwise.datasets.formats.selection_files import save_with_ids

        save_with_ids(path, self, self.probabilities, format)

    def explain(self, instance: Any, *, others: int = 5, priors: Any = None) -> Explanation:
        """Explain why an instance was given its labels, and not the next best.

        Gains are those at the final totals: what the utility would lose without a chosen label, or gain by another.

        Parameters
        ----------
        instance : int or str
            The instance.
        others : int
            How many labels that were not chosen are explained, best gain first.
        priors : LabelPriors or 0/1 matrix of training labels, optional
            To state training frequencies.

        Returns
        -------
        Explanation
            Print it, or use ``labels``, ``others``, ``sentence`` and ``to_dict()``.

        Examples
        --------
        >>> import numpy as np, tailwise as tw
        >>> selection = tw.select(np.array([[0.9, 0.4], [0.8, 0.1], [0.9, 0.2]]), "macro-f1", k=1)
        >>> print(selection.explain(0).labels[0].sentence)
        label 1 (40.0%, 2nd by probability) is chosen: without it the utility would be 0.18 lower. It is chosen for \
1 instance, 0.7 expected.
        """
        return self._explainer.explain(instance, others=others, priors=priors)

    def explain_label(self, label: Any, *, others: int = 5, priors: Any = None) -> LabelExplanation:
        """Explain where a label is chosen, and what it gains there.

        Parameters
        ----------
        label : int or str
            The label: its number, or its name if labels have names.
        others : int
            How many instances without the label are listed, the most probable first.
        priors : LabelPriors or 0/1 matrix of training labels, optional
            To state training frequencies.

        Returns
        -------
        LabelExplanation
            Print it, or use ``instances``, ``others``, ``sentence`` and ``to_dict()``.

        Examples
        --------
        >>> import numpy as np, tailwise as tw
        >>> selection = tw.select(np.array([[0.9, 0.4], [0.8, 0.1], [0.9, 0.2]]), "macro-f1", k=1)
        >>> selection.explain_label(1).times_chosen
        1
        """
        return self._explainer.explain_label(label, others=others, priors=priors)

    @property
    def probabilities(self) -> NDArray | None:
        """The probability of each label; NaN for an empty slot. None for a selection made on a label tree."""
        return self._slots[0]

    @property
    def gains(self) -> NDArray | None:
        """What the utility would lose without each label; NaN for an empty slot. None as for probabilities."""
        return self._slots[1]

    def _numbers_by_slot(self) -> dict[str, NDArray | None]:
        return {"probability": self.probabilities, "gain": self.gains}

    @cached_property
    def _slots(self) -> tuple[NDArray | None, NDArray | None]:
        return (None, None) if self.problem is None else self._explainer.list_slots()

    @cached_property
    def _notes(self) -> tuple[str, ...]:
        """Computed when asked for, as it takes the gain of every slot; not for a mapped file, larger than memory."""
        if self.problem is None or not self.problem.rules.has_budget or is_mapped(self.problem.candidates.rows.labels):
            return ()
        return describe_makeweights(self)

    @cached_property
    def _explainer(self) -> Explainer:
        from tailwise.selection.explain import Explainer  # imported when needed, because it imports `resolve`

        if self.problem is None:
            msg = (
                "An explanation needs the probabilities, which a selection from a file or another process does not "
                "hold. Use tailwise.selection.explain.explainer_of(probabilities, utility, selection)."
            )
            raise InputError(msg)
        rules = self.problem.rules
        budgets = rules.budgets if rules.has_budget else None
        with self.problem.engine:  # which was closed when the selection had been found
            return Explainer(self.problem.expectation, self, budgets, self.instance_ids, rules.set_aside)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what cannot go to another process: addresses of compiled formulas."""
        if self.problem is not None:
            self._notes, self._slots  # noqa: B018 - computed while the probabilities are there
        return {name: value for name, value in vars(self).items() if name not in ("problem", "_explainer")}

    def __repr__(self) -> str:
        n, k = self.labels.shape
        state = "interrupted" if self.interrupted else "converged" if self.converged else "not converged"
        over = f" over {self.n_labels:,} labels" if any(term.is_macro for _, term in self.utility.terms) else ""
        return (
            f"Selection({n:,} instances, at most {k} of {self.n_labels:,} labels, {self.utility} {self.expected:.6g} "
            f"expected{over}, {self.method}, {self.passes} passes, {state})"
        )


def present(problem: Problem, outcome: Outcome, proof: Proof | None, seconds: float) -> Selection:
    """The selection as it is returned."""
    state = outcome.state if outcome.is_counted else problem.expectation.recount(outcome.state, outcome.positions)
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
        instance_ids=problem.instance_ids,
        label_names=problem.candidates.label_names,
        origin=_noted(problem, value),
        problem=problem,
    )


def _noted(problem: Problem, value: float) -> Origin:
    """Where the probabilities came from, what the engine has to say, and why a precision is above 1."""
    origin, notes = problem.candidates.origin, problem.engine.messages
    if not problem.rules.has_budget and _is_due_to_precision(problem.utility, value):
        notes = (*notes, "Without a budget, precision counts the true labels of an instance; it may be above 1.")
    return origin._replace(messages=(*origin.messages, *notes))


def _is_due_to_precision(utility: Utility, value: float) -> bool:
    """Whether a value is beyond what the utility could reach if precision were at most 1."""
    highest = [
        max(factor * each for each in ((0.0, 1.0) if isinstance(term, Precision) else term.range))
        for factor, term in utility.terms
    ]
    return value > sum(highest) and any(isinstance(term, Precision) for _, term in utility.terms)


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
    problem.engine.split(
        labels.shape[0], lambda first, last: list_by_gain(rows, terms, state, positions, labels, first, last)
    )
    if rules.fills:
        fill_least_loss(rows, terms, state, labels, rules.budgets, rules.excluded)
    raise_failure(problem.utility)
    # Filling may select a label much more often than passes do.
    if rules.fills and not problem.expectation.fits(state):
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
        problem.candidates.label_names,
    )
