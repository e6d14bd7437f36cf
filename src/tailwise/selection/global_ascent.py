"""Row passes and label passes in turn: out of the local optimum that row passes alone end in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tailwise.selection.bca import batch_size, select_by_ascent, visiting_order
from tailwise.selection.climbing import climb
from tailwise.selection.label_moves import LabelMoves
from tailwise.selection.passes import run_pass
from tailwise.selection.problem import Outcome, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tqdm import tqdm

__all__ = ["climb_globally", "select_globally"]

# A pass over the labels with few candidates is worth repeating if it gained this share of the utility.
MUCH_SHARE = 1e-4
# A pass over all labels that gains a smaller share is the last one.
LEAST_SHARE = 3e-5


def select_globally(problem: Problem) -> Outcome:
    """Climb by rows until that gains no more, then by labels and rows in turn until neither does."""
    outcome = select_by_ascent(problem)
    if outcome.interrupted or outcome.passes >= problem.settings.max_passes:
        return outcome
    others = (*outcome.others, outcome.positions.copy()) if problem.feasible.fills else ()
    return replace(climb_globally(problem, outcome.positions, [*outcome.history]), others=others)


def climb_globally(problem: Problem, positions: NDArray, history: list[float]) -> Outcome:
    """Label passes and row passes in turn, from a selection that the expectation has counted."""
    name = f"{problem.utility}, by labels"
    return climb(problem, positions, history, name, lambda bar: _run_passes(problem, positions, history, bar))


def _run_passes(problem: Problem, positions: NDArray, history: list[float], bar: tqdm) -> bool:
    """Passes over the labels with few candidates while they gain much, then one over all; a row pass after each.

    Returns whether a pass over all labels gained less than the tolerance.
    """
    moves, order, batch = LabelMoves(problem), visiting_order(problem), batch_size(problem)
    looks_at_all = False
    while len(history) <= problem.settings.max_passes:
        n_moved = moves.run_pass(positions, moves.every if looks_at_all else moves.small)
        n_moved += run_pass(problem, positions, order, batch)
        problem.expectation.count(positions)
        history.append(problem.expectation.expected())
        bar.set_postfix(expected=f"{history[-1]:.6f}", moved=n_moved, refresh=False)
        bar.update()
        gain, scale = history[-1] - history[-2], abs(history[-1])
        if looks_at_all and (n_moved == 0 or gain < max(problem.settings.tolerance, LEAST_SHARE * scale)):
            return True
        looks_at_all = gain <= MUCH_SHARE * scale
    return False
