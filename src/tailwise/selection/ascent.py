"""Block coordinate ascent (paper, section 4.3 and Algorithm 1), in batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from tqdm import tqdm

from tailwise.kernels.ascent import ascend, make_buffers, propose_part, settle
from tailwise.selection.problem import Outcome, Problem
from tailwise.selection.starting import starting_positions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.kernels.ascent import Swaps

__all__ = ["select_by_ascent"]

# Batches in a pass: of this size they reach the same utility as batches of one (docs/benchmarks.md).
AUTO_BATCHES = 8
# Instances are shuffled in blocks of neighbours, which memory delivers faster than single ones.
BLOCK = 32
# A batch with fewer candidates is not worth waking other threads for.
MIN_SHARED_ENTRIES = 20_000
# Totals are counted from scratch now and then, and at the end, so that rounding does not build up.
PASSES_PER_COUNT = 16
# Candidates between two looks at the keyboard: a fraction of a second.
ENTRIES_PER_CALL = 20_000_000


def select_by_ascent(problem: Problem) -> Outcome:
    """Visit the instances again and again; each takes the k labels of largest gain while all others stand still."""
    positions = starting_positions(problem)
    problem.expectation.count(positions)
    history, converged, interrupted = [problem.expectation.expected()], False, False
    order = _visiting_order(problem)
    bar = tqdm(unit=" passes", disable=not problem.settings.progress, desc=str(problem.utility))
    try:
        while not converged and len(history) <= problem.settings.max_passes:
            n_moved = _ascend_once(problem, positions, order)
            if len(history) % PASSES_PER_COUNT == 0:
                problem.expectation.count(positions)
            history.append(problem.expectation.expected())
            converged = n_moved == 0 or history[-1] - history[-2] < problem.settings.tolerance
            bar.set_postfix(expected=f"{history[-1]:.6f}", moved=n_moved, refresh=False)
            bar.update()
    except KeyboardInterrupt:
        interrupted = True
    finally:
        bar.close()
    problem.expectation.count(positions)
    return Outcome(positions, tuple(history), len(history) - 1, converged, interrupted)


def _ascend_once(problem: Problem, positions: NDArray, order: NDArray) -> int:
    """One pass; returns how many instances moved."""
    batch = _batch_size(problem)
    buffers = make_buffers(problem.candidates.n_labels, batch, positions.shape[1])
    rows, objective, room = problem.candidates.rows, problem.expectation.objective, problem.room
    entries_per_batch = max(1, problem.candidates.n_entries * batch // order.size)
    n_moved = 0
    if problem.threads.workers == 1 or entries_per_batch < MIN_SHARED_ENTRIES:
        step = batch * max(1, ENTRIES_PER_CALL // entries_per_batch)
        for start in range(0, order.size, step):
            n_moved += ascend(rows, objective, positions, room, order[start : start + step], *buffers)
            problem.expectation.raise_failure()
        return n_moved
    for start in range(0, order.size, batch):
        instances = order[start : start + batch]
        _propose_shared(problem, positions, room, instances, buffers[0])
        n_moved += settle(objective, positions, room, instances, *buffers)
    return n_moved


def _propose_shared(problem: Problem, positions: NDArray, room: NDArray, instances: NDArray, swaps: Swaps) -> None:
    rows, objective = problem.candidates.rows, problem.expectation.objective
    problem.threads.split(
        instances.size,
        lambda first, last: propose_part(rows, objective, positions, room, instances, swaps, first, last),
    )


def _batch_size(problem: Problem) -> int:
    batch, n = problem.settings.batch, problem.candidates.n_instances
    return max(1, n // AUTO_BATCHES) if batch == "auto" else min(int(batch), n)


def _visiting_order(problem: Problem) -> NDArray:
    """A random order of the instances, by blocks where a batch holds many of them.

    One for all passes: an order drawn anew in each pass ended at lower utilities (docs/benchmarks.md).
    """
    n, rng = problem.candidates.n_instances, np.random.default_rng(problem.settings.seed)
    if _batch_size(problem) < 4 * BLOCK:
        return rng.permutation(n)
    starts = rng.permutation(-(-n // BLOCK)) * BLOCK
    order = (starts[:, None] + np.arange(BLOCK)).ravel()
    return order[order < n]
