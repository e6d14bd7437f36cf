"""One pass over the instances, on one thread or several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tailwise.kernels.row_ascent import ascend, make_buffers, propose_part, settle
from tailwise.selection.problem import Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.kernels.row_ascent import Swaps

__all__ = ["MIN_SHARED_ENTRIES", "run_pass"]

# A batch with fewer candidates is not worth waking other threads for.
MIN_SHARED_ENTRIES = 20_000
# Candidates between two looks at the keyboard: a fraction of a second.
ENTRIES_PER_CALL = 20_000_000


def run_pass(problem: Problem, positions: NDArray, order: NDArray, batch: int) -> int:
    """Let the instances of `order`, `batch` at a time, move to their best labels; returns how many moved."""
    buffers = make_buffers(problem.candidates.n_labels, batch, positions.shape[1])
    rows, objective, slots = problem.candidates.rows, problem.expectation.objective, problem.feasible.slots
    entries_per_batch = max(1, problem.candidates.n_entries * batch // order.size)
    n_moved = 0
    if problem.threads.workers == 1 or entries_per_batch < MIN_SHARED_ENTRIES:
        step = batch * max(1, ENTRIES_PER_CALL // entries_per_batch)
        for start in range(0, order.size, step):
            n_moved += ascend(rows, objective, positions, slots, order[start : start + step], *buffers)
            problem.expectation.raise_failure()
        return n_moved
    for start in range(0, order.size, batch):
        instances = order[start : start + batch]
        _propose_shared(problem, positions, instances, buffers[0])
        n_moved += settle(objective, positions, slots, instances, *buffers)
    return n_moved


def _propose_shared(problem: Problem, positions: NDArray, instances: NDArray, swaps: Swaps) -> None:
    rows, objective, slots = problem.candidates.rows, problem.expectation.objective, problem.feasible.slots
    problem.threads.split(
        instances.size,
        lambda first, last: propose_part(rows, objective, positions, slots, instances, swaps, first, last),
    )
