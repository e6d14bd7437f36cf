"""Greedy selection: one pass, each instance seeing only what was selected before it (paper, appendix on greedy).

| paper | here |
|---|---|
| Algorithm 3, greedy | `greedy` |
| Algorithm 4, for coverage | the same, with the coverage term |
| Algorithms 7 and 8, on sparse probabilities | the same: candidates are always sparse |

The paper's greedy is made for a stream and knows p only of the instances seen; here the whole batch is at hand, so p is
that of the batch. For a stream there is :class:`tailwise.OnlineSelector`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tailwise.selection.bca import empty_positions, run_pass, visiting_order
from tailwise.selection.problem import Outcome, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.kernels.label_state import State
    from tailwise.selection.observer import Observer

__all__ = ["greedy", "greedy_order", "run_greedy"]


def greedy(problem: Problem, outcome: Outcome | None, observer: Observer) -> Outcome:
    """A pass from nothing selected, one instance at a time, in random order."""
    positions = empty_positions(problem)
    run_greedy(problem, positions, greedy_order(problem), observer)
    state = problem.expectation.count(positions)
    return Outcome(positions, state, (problem.expectation.value(state),))


def greedy_order(problem: Problem) -> NDArray:
    """Groups of one instance, in random order."""
    return visiting_order(problem.candidates.n_instances, 1, problem.seed)[0]


def run_greedy(problem: Problem, positions: NDArray, instances: NDArray, observer: Observer) -> State:
    """Let instances take their best labels, one after another, on top of what is selected."""
    expectation = problem.expectation
    state = expectation.count(positions)
    for part in _doubling(instances) if expectation.uses_nodes else [instances]:
        run_pass(problem, state, positions, part, 1, observer)
        expectation.refit(state, positions)
    return state


def _doubling(order: NDArray) -> list[NDArray]:
    """Parts that double: the nodes of an exact expectation hold for about the q that they are placed for."""
    edges = [0, *(2**e for e in range(order.size.bit_length()) if 2**e < order.size), order.size]
    return [order[first:last] for first, last in pairwise(edges)]
