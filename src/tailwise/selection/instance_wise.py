"""Closed form for utilities that are linear in the predictions (paper, section 4.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tailwise.selection.bca import complete, empty_positions, run_pass, take_best
from tailwise.selection.observer import Observer
from tailwise.selection.problem import Outcome, Problem

# Instances whose proposals are held in memory at once.
MOST_AT_ONCE = 65_536


def instance_wise(problem: Problem, outcome: Outcome | None, observer: Observer) -> Outcome:
    """Each instance takes its k labels of largest gain: the global optimum, in one pass.

    The gain is a_j eta + b_j; by exact expectation another function of eta for each label, not of the selection.
    """
    expectation = problem.expectation
    if expectation.uses_nodes or problem.rules.has_optional_labels:
        positions = _take_by_gain(problem, observer)
    else:
        slopes, offsets = (np.ascontiguousarray(column) for column in expectation.terms.linear.T)
        positions = take_best(problem, problem.candidates.rows, slopes, offsets)
    was_stopped = complete(problem, positions)
    state = expectation.count(positions)
    return Outcome(positions, state, (expectation.value(state),), converged=not was_stopped)


def _take_by_gain(problem: Problem, observer: Observer) -> NDArray:
    """A pass from nothing selected."""
    n, positions = problem.candidates.n_instances, empty_positions(problem)
    state = problem.expectation.start(np.ones(problem.candidates.n_labels))
    run_pass(problem, state, positions, np.arange(n), min(n, MOST_AT_ONCE), observer)
    return positions
