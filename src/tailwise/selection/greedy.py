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

from tailwise.selection.bca import complete, empty_positions, greedy_order, run_greedy
from tailwise.selection.observer import Observer
from tailwise.selection.problem import Outcome, Problem


def greedy(problem: Problem, outcome: Outcome | None, observer: Observer) -> Outcome:
    """A pass from nothing selected, one instance at a time, in random order."""
    positions = empty_positions(problem)
    run_greedy(problem, positions, greedy_order(problem), observer)
    was_stopped = complete(problem, positions)
    state = problem.expectation.count(positions)
    return Outcome(positions, state, (problem.expectation.value(state),), converged=not was_stopped)
