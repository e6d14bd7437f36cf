"""Greedy selection: one pass, each instance seeing only what was selected before it (paper, appendix on greedy)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tailwise.kernels.row_ascent import ascend, make_buffers
from tailwise.selection.problem import Outcome, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["select_greedy"]


def select_greedy(problem: Problem, instances: NDArray | None = None, positions: NDArray | None = None) -> Outcome:
    """A pass of ascent from nothing selected, one instance at a time; or over some instances, from given positions.

    The paper's greedy, made for a stream, knows p only of the instances seen; here the whole batch is at hand, so p is
    that of the batch.
    """
    positions = problem.empty_positions() if positions is None else positions
    instances = np.arange(problem.candidates.n_instances) if instances is None else instances
    order = np.random.default_rng(problem.settings.seed).permutation(instances)
    buffers = make_buffers(problem.candidates.n_labels, 1, positions.shape[1])
    rows, slots = problem.candidates.rows, problem.feasible.slots
    for part in _doubling(order) if problem.expectation.uses_quadrature else [order]:
        problem.expectation.count(positions)
        ascend(rows, problem.expectation.objective, positions, slots, part, *buffers)
    problem.expectation.count(positions)
    return Outcome(positions, (problem.expectation.expected(),))


def _doubling(order: NDArray) -> list[NDArray]:
    """Parts that double: the nodes of an exact expectation hold for about the q that they are placed for."""
    edges = [0, *(2**e for e in range(order.size.bit_length()) if 2**e < order.size), order.size]
    return [order[first:last] for first, last in pairwise(edges)]
