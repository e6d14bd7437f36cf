"""No budget: every label takes the instances that are best for it alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tailwise.inputs.candidates import Candidates
from tailwise.inputs.scratch import make_scratch
from tailwise.kernels.label_state import State
from tailwise.kernels.prefixes import select_best_prefixes
from tailwise.kernels.rows import Columns
from tailwise.selection.observer import Observer
from tailwise.selection.problem import Outcome, Problem

# Nodes of an exact expectation hold for about the q they are placed for: first a guess, then what it led to.
ROUNDS = 3


def no_budget(problem: Problem, outcome: Outcome | None, observer: Observer) -> Outcome:
    """Each label takes its best set; the positions are as wide as the most labels of an instance.

    For a utility that grows with t, the best set of q instances is the q most probable ones, so one sort per label
    finds the global optimum over the candidates. Of equally good sets the smallest is taken.
    """
    candidates, expectation = problem.candidates, problem.expectation
    columns = _columns_of_instances(problem)
    q = candidates.condition_positives()
    for _ in range(ROUNDS if expectation.uses_nodes else 1):
        is_selected = _select_prefixes(problem, columns, expectation.start(q))
        places = np.flatnonzero(is_selected)  # by column
        q = np.diff(np.searchsorted(places, columns.indptr))
    positions = _positions_of(columns, places, candidates)
    state = expectation.count(positions)
    return Outcome(positions, state, (expectation.value(state),))


def _columns_of_instances(problem: Problem) -> Columns:
    """The candidates by label, without those that are excluded."""
    candidates, n = problem.candidates, problem.n_instances
    if n == candidates.n_instances:
        return candidates.columns(problem.engine)
    rows, last = candidates.rows, candidates.rows.indptr[n]
    kept = Candidates(rows.indptr[: n + 1], rows.labels[:last], rows.values[:last], candidates.n_labels)
    return kept.columns(problem.engine)


def _select_prefixes(problem: Problem, columns: Columns, state: State) -> NDArray:
    terms, is_selected = problem.expectation.terms, make_scratch(columns.values.size, np.bool_, columns.values)
    problem.engine.split(
        problem.candidates.n_labels,
        lambda first, last: select_best_prefixes(columns, terms, state, is_selected, first, last),
    )
    return is_selected


def _positions_of(columns: Columns, selected: NDArray, candidates: Candidates) -> NDArray:
    """Selected candidates of the columns as positions within the rows, ascending."""
    instances, places = columns.instances[selected], columns.positions[selected].astype(np.int32)
    order = np.lexsort((places, instances))
    counts = np.bincount(instances, minlength=candidates.n_instances)
    positions = np.full((candidates.n_instances, max(1, int(counts.max()))), -1, dtype=np.int32)
    positions[np.arange(positions.shape[1]) < counts[:, None]] = places[order]
    return positions
