"""The interface between a search and what runs it: threads, mapped files or a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tailwise.kernels.label_state import State, Terms
    from tailwise.kernels.row_ascent import Moves
    from tailwise.kernels.rows import Rows

__all__ = ["Engine"]


class Engine(Protocol):
    """Computes proposals from arrays that it only reads.

    The caller applies the proposals one by one, in the order of the instances, so the result does not depend on where
    they were computed.

    Attributes
    ----------
    workers : int
        Number of parts that run at the same time.
    """

    workers: int

    def __enter__(self) -> Any: ...

    def __exit__(self, *error: Any) -> None: ...

    def shares(self, n_entries: int) -> bool:
        """Whether a group with this number of candidates is worth distributing."""

    def propose(
        self, rows: Rows, terms: Terms, state: State, positions: NDArray, slots: NDArray, group: NDArray, moves: Moves
    ) -> None:
        """Write to `moves` which labels the instances of a group would drop and add."""

    def split(self, size: int, task: Callable[[int, int], object]) -> None:
        """Call ``task(first, last)`` for parts of ``range(size)``, and wait for all of them."""

    def share(self, edges: Sequence[int], task: Callable[[int, int, int], object]) -> None:
        """Call ``task(part, edges[part], edges[part + 1])`` for each part, and wait for all of them."""
