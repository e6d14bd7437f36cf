"""Where an ascent starts: the most probable labels, random ones, the greedy selection, or a given one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.errors import InputError
from tailwise.inputs.chosen import EMPTY, Chosen
from tailwise.kernels.rows import find_positions
from tailwise.selection.greedy import select_greedy
from tailwise.selection.instance_wise import select_best
from tailwise.selection.rules import check_given

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.inputs.candidates import Candidates
    from tailwise.selection.problem import Problem

__all__ = ["check_start", "starting_positions"]

STARTS = ("top", "random", "greedy")


def starting_positions(problem: Problem) -> NDArray:
    """Positions (n, k) within the rows, as many as each instance must take at least."""
    init = problem.settings.init
    if isinstance(init, str):
        return {"top": _top, "random": _random, "greedy": _greedy}[init](problem)
    return _given(problem, init)


def check_start(init: Any, candidates: Candidates, k: Any) -> str | Chosen:
    """The name of a start, or a given selection of this batch."""
    if isinstance(init, str):
        if init not in STARTS:
            msg = f"init must be one of {', '.join(STARTS)}, or a selection. Got {init!r}."
            raise InputError(msg)
        return init
    return check_given(init, candidates, k, "init")


def _top(problem: Problem) -> NDArray:
    return select_best(problem, problem.candidates.rows)


def _random(problem: Problem) -> NDArray:
    """The top of random numbers in the place of probabilities."""
    rows, rng = problem.candidates.rows, np.random.default_rng(problem.settings.seed)
    numbers = rng.random(rows.values.size, dtype=np.float32).astype(rows.values.dtype, copy=False)
    numbers.flags.writeable = False  # as the probabilities, so that no second kernel is compiled for them
    return select_best(problem, rows._replace(values=numbers))


def _greedy(problem: Problem) -> NDArray:
    return select_greedy(problem).positions


def _given(problem: Problem, init: Chosen) -> NDArray:
    """The given labels, which are all among the candidates; instances with too few of them take their best ones."""
    found = np.empty_like(init.labels)
    find_positions(problem.candidates.rows, init.labels, found)
    positions = problem.empty_positions()
    width = min(positions.shape[1], found.shape[1])
    positions[:, :width] = found[:, :width]
    is_short = (positions != EMPTY).sum(axis=1) < problem.feasible.least
    return select_greedy(problem, np.flatnonzero(is_short), positions).positions if is_short.any() else positions
