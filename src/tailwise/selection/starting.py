"""Where an ascent starts: the most probable labels, random ones, the greedy selection, or a given one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.candidates import Candidates
from tailwise.chosen import EMPTY, Chosen
from tailwise.errors import InputError
from tailwise.kernels.rows import find_positions
from tailwise.selection.greedy import select_greedy
from tailwise.selection.instance_wise import select_best

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.selection.problem import Problem

__all__ = ["check_start", "starting_positions", "with_labels"]

STARTS = ("top", "random", "greedy")


def starting_positions(problem: Problem) -> NDArray:
    """Positions (n, k) within the rows; only a given selection may leave slots empty that a candidate could take."""
    init = problem.settings.init
    if isinstance(init, str):
        return {"top": _top, "random": _random, "greedy": _greedy}[init](problem)
    return _given(problem, init)


def check_start(init: Any, n_instances: int, n_labels: int) -> str | Chosen:
    """The name of a start, or a given selection of this batch."""
    if isinstance(init, str):
        if init not in STARTS:
            msg = f"init must be one of {', '.join(STARTS)}, or a selection. Got {init!r}."
            raise InputError(msg)
        return init
    return Chosen.of(init, n_labels, n_instances=n_instances, name="init", like="probabilities")


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
    """The candidates among the given labels, first ones first, up to the budget."""
    found = np.empty_like(init.labels)
    find_positions(problem.candidates.rows, init.labels, found)
    found = np.take_along_axis(found, np.argsort(found == EMPTY, axis=1, kind="stable"), axis=1)
    positions = problem.empty_positions()
    width = min(positions.shape[1], found.shape[1])
    positions[:, :width] = found[:, :width]
    positions[np.arange(positions.shape[1]) >= problem.room[:, None]] = EMPTY
    return positions


def with_labels(candidates: Candidates, chosen: Chosen) -> Candidates:
    """The candidates, and the labels of a selection that are none yet, with probability 0."""
    rows = candidates.rows
    found = np.empty_like(chosen.labels)
    find_positions(rows, chosen.labels, found)
    instances, slots = np.nonzero((found < 0) & (chosen.labels != EMPTY))
    if instances.size == 0:
        return candidates
    labels = np.concatenate([rows.labels, chosen.labels[instances, slots]])
    values = np.concatenate([rows.values, np.zeros(instances.size, dtype=rows.values.dtype)])
    instances = np.concatenate([np.repeat(np.arange(candidates.n_instances), candidates.sizes), instances])
    order = np.lexsort((labels, instances))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(instances, minlength=candidates.n_instances))])
    return Candidates(indptr, labels[order], values[order], candidates.n_labels)
