"""A better selection where the prices of a proof point: put together from the best sets of the labels, and climbed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.kernels.slot_prices import keep_most_shared

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tailwise.selection.observer import Observer
    from tailwise.selection.problem import Outcome, Problem

    Climb = Callable[[Problem, Outcome, Observer], Outcome]

# How much the probability counts beside the share of best sets that hold a candidate: where sets disagree about an
# instance, the more probable label is the better guess.
TIE_BREAK = 1e-3


def repair(problem: Problem, outcome: Outcome, shares: NDArray, climb: Climb, observer: Observer) -> Outcome:
    """Climb from the candidates that the labels' best sets held most often; the better one of the two outcomes."""
    left = problem.max_passes - outcome.passes
    if left < 1:
        return outcome
    positions = _most_shared(problem, shares)
    state = problem.expectation.count(positions)
    begin = replace(
        outcome, positions=positions, state=state, history=(problem.expectation.value(state),), passes=0, others=()
    )
    found = climb(replace(problem, max_passes=left), begin, observer)
    best = outcome.history[-1]
    if found.history[-1] <= best:
        return replace(outcome, interrupted=found.interrupted)
    history = (*outcome.history, *(max(best, value) for value in found.history[1:]))
    others = (*outcome.others, outcome.positions) if problem.rules.fills else ()
    return replace(found, history=history, passes=len(history) - 1, others=others)


def _most_shared(problem: Problem, shares: NDArray) -> NDArray:
    """For each instance the candidates that were most often in the best sets of their labels."""
    positions = np.full((problem.candidates.n_instances, problem.rules.width), -1, dtype=np.int32)
    keep_most_shared(*_to_keep(problem, shares, positions))
    return positions


def most_shared_call(problem: Problem) -> tuple[Any, tuple[Any, ...]]:
    """The kernel, with arguments of the types that it is called with."""
    return keep_most_shared, _to_keep(problem, np.empty(0, dtype=np.uint16), np.empty((0, 1), dtype=np.int32))


def _to_keep(problem: Problem, shares: NDArray, positions: NDArray) -> tuple[Any, ...]:
    gains = np.full(positions.shape, -np.inf)
    return problem.candidates.columns(problem.engine), shares, TIE_BREAK, problem.rules.most, gains, positions
