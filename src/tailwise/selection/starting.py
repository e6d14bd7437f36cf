"""Where an ascent starts: the most probable labels, random ones, the greedy selection, or a given one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tailwise.chosen import EMPTY, Chosen
from tailwise.errors import InputError
from tailwise.kernels.rows import find_positions
from tailwise.selection.greedy import select_greedy
from tailwise.selection.instance_wise import select_best

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.selection.problem import Problem

__all__ = ["starting_positions"]

STARTS = ("top", "random", "greedy")


def starting_positions(problem: Problem) -> NDArray:
    """Positions (n, k) within the rows; only a given selection may leave slots empty that a candidate could take."""
    init = problem.settings.init
    if isinstance(init, str):
        if init not in STARTS:
            msg = f"init must be one of {', '.join(STARTS)}, or a selection. Got {init!r}."
            raise InputError(msg)
        return _widen({"top": _top, "random": _random, "greedy": _greedy}[init](problem), problem)
    return _widen(_given(problem, Chosen.of(init, problem.candidates.n_labels, name="init")), problem)


def _top(problem: Problem) -> NDArray:
    return select_best(problem.candidates.rows, problem.room, problem.threads)


def _random(problem: Problem) -> NDArray:
    """The top of random numbers in the place of probabilities."""
    rows, rng = problem.candidates.rows, np.random.default_rng(problem.settings.seed)
    numbers = rng.random(rows.values.size, dtype=np.float32).astype(rows.values.dtype, copy=False)
    numbers.flags.writeable = False  # as the probabilities, so that no second kernel is compiled for them
    return select_best(rows._replace(values=numbers), problem.room, problem.threads)


def _greedy(problem: Problem) -> NDArray:
    return select_greedy(problem).positions


def _given(problem: Problem, init: Chosen) -> NDArray:
    """The candidates among the given labels, first ones first, up to the budget."""
    if init.n_instances != problem.candidates.n_instances:
        msg = (
            f"init must have one row per instance, {problem.candidates.n_instances}. Got {init.n_instances}. "
            "Give a selection of the same batch."
        )
        raise InputError(msg)
    positions = np.empty_like(init.labels)
    find_positions(problem.candidates.rows, init.labels, positions)
    to_front = np.argsort(positions == EMPTY, axis=1, kind="stable")
    return np.take_along_axis(positions, to_front, axis=1)


def _widen(positions: NDArray, problem: Problem) -> NDArray:
    """As many columns as the largest budget, nothing beyond the budget of a row."""
    width = max(1, int(problem.budgets.max()))
    widened = np.full((positions.shape[0], width), EMPTY, dtype=np.int32)
    common = min(width, positions.shape[1])
    widened[:, :common] = positions[:, :common]
    widened[np.arange(width) >= problem.room[:, None]] = EMPTY
    return widened
