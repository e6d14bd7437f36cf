"""Closed form for utilities that are linear in the predictions (paper, section 4.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tailwise.kernels.instance_wise import select_by_line
from tailwise.selection.problem import Outcome, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.kernels.rows import Rows

__all__ = ["select_best", "select_instance_wise"]

ONE, ZERO = np.ones(1), np.zeros(1)


def select_instance_wise(problem: Problem) -> Outcome:
    """Each instance takes its k labels of largest a_j eta + b_j: the global optimum, in one pass."""
    slopes, offsets = (np.ascontiguousarray(column) for column in problem.expectation.objective.linear.T)
    positions = select_best(problem, problem.candidates.rows, slopes, offsets)
    problem.expectation.count(positions)
    return Outcome(positions, (problem.expectation.expected(),))


def select_best(problem: Problem, rows: Rows, slopes: NDArray = ONE, offsets: NDArray = ZERO) -> NDArray:
    """Positions of the labels of largest slope_j * eta + offset_j in each row, by default of the most probable."""
    positions, room = problem.empty_positions(), problem.room
    problem.threads.split(
        room.size, lambda first, last: select_by_line(rows, slopes, offsets, room, positions, first, last)
    )
    return positions
