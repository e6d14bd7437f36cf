"""The interface between a search and what runs it, threads or a cluster, with what holds for all that say nothing else.

Two kinds of work are distributed: proposals of row passes, and pure tasks on shared arrays (`Engine.spread`).
"""

from __future__ import annotations

from abc import abstractmethod
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tailwise.kernels.label_state import State, Terms
    from tailwise.kernels.row_ascent import Moves
    from tailwise.kernels.rows import Rows

__all__ = ["Engine", "cut_evenly"]


@runtime_checkable
class Engine(Protocol):
    """Computes proposals, and other tasks, from arrays that it only reads.

    Classes derive from it, and inherit what they have no other way for.
    The caller applies the proposals one by one, in the order of the instances, so the result does not depend on where
    they were computed.

    Attributes
    ----------
    workers : int
        Number of parts that run at the same time on this machine.
    messages : tuple of str
        What it has to say about a search that is done.
    """

    workers: int
    messages: tuple[str, ...] = ()

    @abstractmethod
    def __enter__(self) -> Any: ...

    @abstractmethod
    def __exit__(self, *error: Any) -> None: ...

    @abstractmethod
    def shares(self, n_entries: int) -> bool:
        """Whether a group with this number of candidates is worth distributing."""

    # Work that parts of this process do, each in its own place of arrays in memory

    @abstractmethod
    def share(self, edges: Sequence[int], task: Callable[[int, int, int], object]) -> None:
        """Call ``task(part, edges[part], edges[part + 1])`` for each part, and wait for all of them."""

    def split(self, size: int, task: Callable[[int, int], object]) -> None:
        """Call ``task(first, last)`` for one part of ``range(size)`` per worker, and wait for all of them."""
        edges = [size * part // self.workers for part in range(self.workers + 1)]
        self.share(edges, lambda part, first, last: task(first, last))

    # A pass: proposals for one group after another

    def begin(self, recipe: Any, groups: list[NDArray]) -> None:
        """A pass over these groups begins, with terms that can be made elsewhere by calling `recipe`."""
        return

    def propose(
        self, rows: Rows, terms: Terms, state: State, positions: NDArray, slots: NDArray, group: NDArray, moves: Moves
    ) -> None:
        """Write to `moves` which labels the instances of a group would drop and add."""
        from tailwise.kernels.row_ascent import propose_part

        self.split(
            group.size,
            lambda first, last: propose_part(rows, terms, state, positions, slots, group, moves, first, last),
        )

    def end(self, state: State, positions: NDArray) -> None:
        """A pass ended."""
        return

    # Pure tasks on shared arrays

    @property
    def n_parts(self) -> int:
        """In how many tasks work is best cut."""
        return self.workers

    def cut(self, pointers: NDArray) -> list[tuple[int, int]]:
        """Ranges of rows, or of columns, with about as many entries each, at most one for each task."""
        return [(first, last) for first, last in pairwise(cut_evenly(pointers, self.n_parts)) if first < last]

    def is_elsewhere(self, n_entries: int) -> bool:
        """Whether tasks on this number of candidates run on other machines."""
        return False

    def spread(
        self,
        task: Callable[..., Any],
        shared: Any,
        parts: Sequence[tuple[Any, ...]],
        take: Callable[[int, Any], object],
        kept: Sequence[Any] = (),
    ) -> None:
        """Call ``take(number, task(shared, *parts[number]))`` for each part, and wait for all of them.

        `task` is a function of a module that returns an array or a tuple of arrays and changes nothing; `shared` is a
        named tuple of arrays, which no message holds. If there are `kept` messages, one for each part, the task is
        given its own before the rest, and a worker keeps it until `drop_kept`: for the same message in another call,
        only the rest is sent. `take` writes what belongs to the part only, as parts may end in any order.
        """

        def run(number: int, *_: int) -> None:
            more = (kept[number],) if kept else ()
            take(number, task(shared, *more, *parts[number]))

        self.share(range(len(parts) + 1), run)

    def drop_kept(self, kept: Sequence[Any]) -> None:
        """No further call of `spread` has these `kept` messages."""
        return


def cut_evenly(pointers: NDArray, n_parts: int) -> list[int]:
    """Edges of parts of rows, or of columns, with about as many entries each: ``n_parts + 1`` that do not fall."""
    shares = pointers[0] + (pointers[-1] - pointers[0]) * np.arange(1, n_parts) / n_parts
    return [0, *np.searchsorted(pointers, shares).tolist(), pointers.size - 1]
