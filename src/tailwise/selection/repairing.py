"""A better selection where the prices of a proof point: put together from the best sets of the labels, and climbed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tailwise.kernels.slot_prices import keep_most_shared
from tailwise.selection.global_ascent import climb_globally

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.selection.problem import Outcome, Problem

__all__ = ["repair"]

# How much the probability counts beside the share of best sets that hold a candidate: where sets disagree about an
# instance, the more probable label is the better guess.
TIE_BREAK = 1e-3


def repair(problem: Problem, outcome: Outcome, shares: NDArray) -> Outcome:
    """Climb from the candidates that the labels' best sets held most often; the better one of the two outcomes."""
    left = problem.settings.max_passes - outcome.passes
    if left < 1:
        return outcome
    problem = replace(problem, settings=replace(problem.settings, max_passes=left))
    positions = _most_shared(problem, shares)
    problem.expectation.count(positions)
    found = climb_globally(problem, positions, [problem.expectation.expected()])
    best = outcome.history[-1]
    if found.history[-1] <= best:
        problem.expectation.count(outcome.positions)
        return replace(outcome, interrupted=found.interrupted)
    history = (*outcome.history, *(max(best, value) for value in found.history[1:]))
    others = (*outcome.others, outcome.positions) if problem.feasible.fills else ()
    return replace(found, history=history, passes=len(history) - 1, others=others)


def _most_shared(problem: Problem, shares: NDArray) -> NDArray:
    """For each instance the candidates that were most often in the best sets of their labels."""
    positions = problem.empty_positions()
    gains = np.full(positions.shape, -np.inf)
    keep_most_shared(problem.expectation.columns, shares, TIE_BREAK, problem.feasible.most, gains, positions)
    return positions
