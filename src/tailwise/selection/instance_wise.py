"""Closed form for utilities that are linear in the predictions (paper, section 4.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tailwise.kernels.closed_form import select_by_line
from tailwise.selection.passes import run_pass
from tailwise.selection.problem import Outcome, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.kernels.rows import Rows

__all__ = ["select_best", "select_instance_wise"]

ONE, ZERO = np.ones(1), np.zeros(1)
# Instances whose proposals are held in memory at once.
MOST_AT_ONCE = 65_536


def select_instance_wise(problem: Problem) -> Outcome:
    """Each instance takes its k labels of largest gain: the global optimum, in one pass.

    The gain is a_j eta + b_j; by exact expectation another function of eta for each label, not of the selection.
    """
    if problem.expectation.uses_quadrature or problem.feasible.has_optional_labels:
        return _select_by_gain(problem)
    slopes, offsets = (np.ascontiguousarray(column) for column in problem.expectation.objective.linear.T)
    positions = select_best(problem, problem.candidates.rows, slopes, offsets)
    problem.expectation.count(positions)
    return Outcome(positions, (problem.expectation.expected(),))


def _select_by_gain(problem: Problem) -> Outcome:
    """A pass from nothing selected."""
    positions = problem.empty_positions()
    problem.expectation.count(positions)
    n = problem.candidates.n_instances
    run_pass(problem, positions, np.arange(n), min(n, MOST_AT_ONCE))
    problem.expectation.count(positions)
    return Outcome(positions, (problem.expectation.expected(),))


def select_best(problem: Problem, rows: Rows, slopes: NDArray = ONE, offsets: NDArray = ZERO) -> NDArray:
    """Positions of the labels of largest slope_j * eta + offset_j in each row, by default of the most probable."""
    positions, least = problem.empty_positions(), problem.feasible.least
    problem.threads.split(
        least.size, lambda first, last: select_by_line(rows, slopes, offsets, least, positions, first, last)
    )
    return positions
