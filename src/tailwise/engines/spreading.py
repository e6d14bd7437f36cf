"""Work that is cut into parts, each a pure task on shared arrays: on the threads of this machine, or on a cluster.

An engine that has the method `spread` and the number `n_parts`, as `Dask` has, runs the tasks elsewhere, where they
open the shared arrays from files. For all others, threads call them on the arrays themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.engines.engine import Engine

__all__ = ["cut_evenly", "is_elsewhere", "own_copy", "spread"]


def is_elsewhere(engine: Engine, n_entries: int) -> bool:
    """Whether tasks run on other machines, and work on this number of candidates is worth sending there."""
    return hasattr(engine, "spread") and engine.shares(n_entries)


def cut_evenly(pointers: NDArray, engine: Engine) -> list[tuple[int, int]]:
    """Ranges of rows, or of columns, with about as many entries each: as many as tasks run at the same time."""
    n_parts = getattr(engine, "n_parts", engine.workers)
    shares = pointers[0] + (pointers[-1] - pointers[0]) * np.arange(1, n_parts) / n_parts
    edges = [0, *np.searchsorted(pointers, shares).tolist(), pointers.size - 1]
    return [(first, last) for first, last in pairwise(edges) if first < last]


def spread(
    engine: Engine,
    task: Callable[..., Any],
    shared: Any,
    parts: Sequence[tuple[Any, ...]],
    take: Callable[[int, Any], object],
    kept: Sequence[Any] = (),
) -> None:
    """Call ``take(number, task(shared, *parts[number]))`` for each part, and wait for all of them.

    `task` is a function of a module that returns an array or a tuple of arrays and changes nothing; `shared` is a named
    tuple of arrays, which no message holds. If there are `kept` messages, one for each part, the task is given its own
    before the rest, and a worker keeps it: for the same message in another call, only the rest is sent. `take` writes
    what belongs to the part only, as parts may end in any order.
    """
    if hasattr(engine, "spread") and engine.shares(shared[1].size):
        engine.spread(task, shared, parts, take, kept)
        return

    def run(number: int, *_: int) -> None:
        more = (kept[number],) if kept else ()
        take(number, task(shared, *more, *parts[number]))

    engine.share(range(len(parts) + 1), run)


def own_copy(message: Any) -> Any:
    """A copy that may be written to: arrays from a message may not."""
    if isinstance(message, tuple):
        return type(message)(*map(own_copy, message)) if hasattr(message, "_fields") else tuple(map(own_copy, message))
    return np.array(message) if isinstance(message, np.ndarray) else message
