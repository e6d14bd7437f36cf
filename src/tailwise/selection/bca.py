"""Block coordinate ascent (paper, section 4.3 and Algorithm 1), in batches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tailwise.selection.climbing import climb
from tailwise.selection.greedy import select_greedy
from tailwise.selection.passes import run_pass
from tailwise.selection.problem import Outcome, Problem
from tailwise.selection.starting import starting_positions

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tqdm import tqdm

__all__ = ["batch_size", "select_by_ascent", "visiting_order"]

# Batches in a pass: of this size they reach the same utility as batches of one (docs/benchmarks.md).
AUTO_BATCHES = 8
# Instances are shuffled in blocks of neighbours, which memory delivers faster than single ones.
BLOCK = 32


def select_by_ascent(problem: Problem) -> Outcome:
    """Visit the instances again and again; each takes the k labels of largest gain while all others stand still."""
    positions = starting_positions(problem)
    # Passes do not foresee which labels fill empty slots, so that a given selection may be the better one in the end.
    keeps_start = problem.feasible.fills and not isinstance(problem.settings.init, str)
    others = (positions.copy(),) if keeps_start else ()
    problem.expectation.count(positions)
    history = [problem.expectation.expected()]

    def run_passes(bar: tqdm) -> bool:
        if problem.rehearsal is not None:
            _rehearse(problem, positions, history, bar)
        return _run_passes(problem, positions, history, bar)

    return replace(climb(problem, positions, history, str(problem.utility), run_passes), others=others)


def _run_passes(problem: Problem, positions: NDArray, history: list[float], bar: tqdm) -> bool:
    """Pass after pass, until one gains less than the tolerance; returns whether that came to be."""
    order, batch = visiting_order(problem), batch_size(problem)
    converged = False
    while not converged and len(history) <= problem.settings.max_passes:
        n_moved = run_pass(problem, positions, order, batch)
        if len(history) % problem.expectation.passes_per_count == 0:
            problem.expectation.count(positions)
        history.append(problem.expectation.expected())
        converged = n_moved == 0 or history[-1] - history[-2] < problem.settings.tolerance
        bar.set_postfix(expected=f"{history[-1]:.6f}", moved=n_moved, refresh=False)
        bar.update()
    return converged


def _rehearse(problem: Problem, positions: NDArray, history: list[float], bar: tqdm) -> None:
    """Climb by a cheaper expectation first, from its greedy selection; start where that led, if it is better."""
    assert problem.rehearsal is not None
    cheaper = replace(problem, expectation=problem.rehearsal, rehearsal=None)
    start = select_greedy(cheaper)
    found = start.positions
    try:
        _run_passes(cheaper, found, [*start.history], bar)
    finally:  # also after Ctrl-C: what was found by then may be better than the start
        problem.expectation.count(found)
        if problem.expectation.expected() > history[0]:
            positions[:] = found
            history.append(problem.expectation.expected())
        else:
            problem.expectation.count(positions)


def batch_size(problem: Problem) -> int:
    """How many instances move at the same time."""
    batch, n = problem.settings.batch, problem.candidates.n_instances
    return max(1, n // AUTO_BATCHES) if batch == "auto" else min(int(batch), n)


def visiting_order(problem: Problem) -> NDArray:
    """A random order of the instances, by blocks where a batch holds many of them.

    One for all passes: an order drawn anew in each pass ended at lower utilities (docs/benchmarks.md).
    """
    n, rng = problem.candidates.n_instances, np.random.default_rng(problem.settings.seed)
    if batch_size(problem) < 4 * BLOCK:
        return rng.permutation(n)
    starts = rng.permutation(-(-n // BLOCK)) * BLOCK
    order = (starts[:, None] + np.arange(BLOCK)).ravel()
    return order[order < n]
