"""Greedy selection: one pass, each instance seeing only what was selected before it (paper, appendix on greedy)."""

from __future__ import annotations

import numpy as np

from tailwise.kernels.ascent import ascend, make_buffers
from tailwise.selection.problem import Outcome, Problem

__all__ = ["select_greedy"]


def select_greedy(problem: Problem) -> Outcome:
    """A pass of ascent from nothing selected, one instance at a time.

    The paper's greedy, made for a stream, knows p only of the instances seen; here the whole batch is at hand, so p is
    that of the batch.
    """
    positions = problem.empty_positions()
    problem.expectation.count(positions)
    order = np.random.default_rng(problem.settings.seed).permutation(problem.budgets.size)
    buffers = make_buffers(problem.candidates.n_labels, 1, positions.shape[1])
    ascend(problem.candidates.rows, problem.expectation.objective, positions, problem.room, order, *buffers)
    problem.expectation.count(positions)
    return Outcome(positions, (problem.expectation.expected(),))
