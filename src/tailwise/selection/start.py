"""Where ascent starts: the most probable labels, random ones, the greedy selection, or a given one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.errors import InputError
from tailwise.inputs.chosen import EMPTY, Chosen
from tailwise.kernels.rows import find_positions
from tailwise.selection.bca import empty_positions, take_best
from tailwise.selection.greedy import greedy_order, run_greedy
from tailwise.selection.problem import Outcome, Problem
from tailwise.selection.rules import check_given

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.inputs.candidates import Candidates
    from tailwise.selection.observer import Observer

__all__ = ["STARTS", "check_start", "given_outcome", "start", "starting_positions"]

STARTS = ("top", "random", "greedy")


def check_start(init: Any, candidates: Candidates, k: Any) -> str | Chosen:
    """The name of a start, or a given selection of this batch."""
    if isinstance(init, str):
        if init not in STARTS:
            msg = f"init must be one of {', '.join(STARTS)}, or a selection. Got {init!r}."
            raise InputError(msg)
        return init
    return check_given(init, candidates, k, "init")


def start(problem: Problem, outcome: Outcome | None, observer: Observer) -> Outcome:
    """The starting positions and their totals."""
    positions = starting_positions(problem, observer)
    state = problem.expectation.count(positions)
    # Passes do not foresee which labels fill empty slots, so that a given selection may be the better one in the end.
    keeps_start = problem.rules.fills and not isinstance(problem.start, str)
    others = (positions.copy(),) if keeps_start else ()
    return Outcome(positions, state, (problem.expectation.value(state),), passes=0, converged=False, others=others)


def starting_positions(problem: Problem, observer: Observer) -> NDArray:
    """Positions (n, k) within the rows, as many as each instance must take at least."""
    rows = problem.candidates.rows
    if isinstance(problem.start, Chosen):
        return _given(problem, problem.start, observer)
    if problem.start == "top":
        return take_best(problem, rows)
    if problem.start == "greedy":
        positions = empty_positions(problem)
        run_greedy(problem, positions, greedy_order(problem), observer)
        return positions
    numbers = np.random.default_rng(problem.seed).random(rows.values.size, dtype=np.float32)
    numbers = numbers.astype(rows.values.dtype, copy=False)
    numbers.flags.writeable = False  # as the probabilities, so that no second kernel is compiled for them
    return take_best(problem, rows._replace(values=numbers))


def given_outcome(problem: Problem, given: Chosen) -> Outcome:
    """A given selection as it is, its labels being all among the candidates."""
    positions = _locate(problem, given)
    state = problem.expectation.count(positions)
    return Outcome(positions, state, (problem.expectation.value(state),))


def _given(problem: Problem, given: Chosen, observer: Observer) -> NDArray:
    """The given labels; instances with fewer of them than they must have take their best ones."""
    positions = _locate(problem, given)
    is_short = (positions != EMPTY).sum(axis=1) < problem.rules.least
    if is_short.any():
        order = greedy_order(problem)
        run_greedy(problem, positions, order[is_short[order]], observer)
    return positions


def _locate(problem: Problem, given: Chosen) -> NDArray:
    found = np.empty_like(given.labels)
    find_positions(problem.candidates.rows, given.labels, found)
    width = problem.rules.width if problem.rules.has_budget else found.shape[1]
    positions = np.full((problem.candidates.n_instances, width), EMPTY, dtype=np.int32)
    width = min(positions.shape[1], found.shape[1])
    positions[:, :width] = found[:, :width]
    return positions
