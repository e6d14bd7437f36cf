"""What the driver and the workers of a cluster send each other, and what a worker does with it.

A worker keeps a copy of the totals and positions of a search, which only saves messages: a task says which version of
them it needs, and a worker that has another one says so and is sent what it lacks. To go from one version to the next,
a worker settles the moves that the driver has settled, in the same order, by the same kernel.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tailwise.engines.dask_files import open_shared
from tailwise.engines.threads import Threads, own_copy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.kernels.label_state import State, Terms
    from tailwise.kernels.row_ascent import Moves, Touched
    from tailwise.kernels.rows import Rows

__all__ = [
    "Packed",
    "Part",
    "Placed",
    "Snapshot",
    "find_movers",
    "narrowed",
    "pack",
    "propose_on_worker",
    "release",
    "run_on_worker",
    "size_of",
    "unpack",
]

MOST_KEPT = 4  # searches of which a worker keeps a copy


class Packed(NamedTuple):
    """The moves of some rows of a group, without those that stay."""

    rows: NDArray  # places in the group, or instances
    positions: NDArray
    counts: NDArray
    labels: NDArray  # of what rows leave and take, one row after another
    values: NDArray


class Part(NamedTuple):
    """Instances of a group as ranges: where each begins, and how long it is."""

    starts: NDArray
    lengths: NDArray

    @classmethod
    def of(cls, instances: NDArray) -> Part:
        """The ranges of ascending instances."""
        breaks = np.flatnonzero(np.diff(instances) != 1) + 1
        edges = np.concatenate([[0], breaks, [instances.size]])
        return cls(instances[edges[:-1]], np.diff(edges))

    def instances(self) -> NDArray:
        """The inverse."""
        ends = np.cumsum(self.lengths)
        return np.arange(ends[-1]) + np.repeat(self.starts - ends + self.lengths, self.lengths)


class Snapshot(NamedTuple):
    """All that a search changes, and what its terms are made of."""

    files: tuple[str, ...]  # of the candidates
    recipe: Any  # returns the terms; addresses of compiled formulas hold in one process only
    slots: NDArray  # of any type of integers, as are the positions
    positions: NDArray
    state: Any


class Placed(NamedTuple):
    """Nodes that were placed anew, of some labels."""

    labels: NDArray
    linear: NDArray
    product: NDArray


@dataclass
class Copy:
    """What a worker keeps of a search."""

    version: int
    recipe: Any  # kept because terms hold addresses of what it holds
    rows: Rows
    terms: Terms
    slots: NDArray
    positions: NDArray
    state: State
    touched: Touched
    lock: threading.Lock = field(default_factory=threading.Lock)


_copies: dict[str, Copy] = {}
_making = threading.Lock()


def release() -> str:
    """The version of tailwise in this process."""
    return str(import_module("tailwise").__version__)


def narrowed(array: NDArray) -> NDArray:
    """The same integers in the smallest type that holds them, for a message."""
    largest = max(int(array.max(initial=0)), -int(array.min(initial=0)))
    return array.astype(np.min_scalar_type(-largest - 1), copy=False)


def size_of(message: Any) -> int:
    """Bytes of the arrays in a message."""
    if isinstance(message, np.ndarray):
        return int(message.nbytes)
    return sum(map(size_of, message)) if isinstance(message, (tuple, list)) else 0


def find_movers(moves: Moves, size: int) -> NDArray:
    """The rows of a group that leave or take a label."""
    leaves, takes = moves.counts[:size].T
    return np.flatnonzero(leaves | takes)


def pack(moves: Moves, rows: NDArray, names: NDArray, value_type: Any) -> Packed:
    """The moves of some rows, under other names."""
    counts, k = moves.counts[rows], moves.positions.shape[1]
    is_used = np.arange(k) < counts[:, :, None]
    return Packed(
        names.astype(np.int32 if names.max(initial=0) < 2**31 else np.int64),
        narrowed(moves.positions.take(rows, axis=0)),
        counts.astype(np.int8 if k < 128 else np.int32),
        moves.labels.take(rows, axis=0)[is_used],
        moves.values.take(rows, axis=0)[is_used].astype(value_type),
    )


def spread(packed: Packed) -> Moves:
    """The moves of packed rows, one after another."""
    from tailwise.kernels.row_ascent import Moves

    n_rows, k = packed.positions.shape
    is_used = np.arange(k) < packed.counts[:, :, None]
    labels, values = np.zeros((n_rows, 2, k), np.int32), np.zeros((n_rows, 2, k))
    labels[is_used], values[is_used] = packed.labels, packed.values
    return Moves(packed.positions.astype(np.int32), packed.counts.astype(np.int32), labels, values)


def unpack(packed: Packed, moves: Moves, rows: NDArray) -> None:
    """Write packed moves to rows of the buffer."""
    for ours, theirs in zip(moves, spread(packed), strict=True):
        ours[rows] = theirs


def run_on_worker(
    task: Callable[..., Any], kind: Any, files: tuple[str, ...], arguments: tuple[Any, ...], kept: Any
) -> tuple[str, Any, str]:
    """The result of a task on arrays that this worker maps itself; integers in the smallest type that holds them."""
    more = () if kept is None else (kept,)
    return "found", _narrow(task(kind(*open_shared(files)), *more, *own_copy(arguments))), _worker().address


def _narrow(found: Any) -> Any:
    if isinstance(found, tuple):
        return tuple(map(_narrow, found))
    return narrowed(found) if isinstance(found, np.ndarray) and found.dtype.kind in "iu" else found


def propose_on_worker(
    search: str,
    version: int,
    base: int,
    snapshot: Snapshot | None,
    news: list[Packed | Placed],
    part: Part,
) -> tuple[str, Any, str]:
    """What the instances of a part would leave and take, if this worker can know; else which version it has.

    With a snapshot of version `base`, or with a copy of it, and the news after it, a worker has `version`.
    """
    copy = _find_copy(search, base, snapshot)
    if copy is None:
        return "lacks", None, _worker().address
    with copy.lock:
        if copy.version == base:
            for each in news:
                _settle(copy, each) if isinstance(each, Packed) else _renew(copy, each)
            copy.version = version
        if copy.version != version:
            return "lacks", copy.version, _worker().address
    return "moves", _propose(copy, part.instances()), _worker().address


def _propose(copy: Copy, instances: NDArray) -> Packed:
    from tailwise.kernels.row_ascent import make_buffers

    moves, _ = make_buffers(1, instances.size, copy.positions.shape[1])
    with Threads(_worker().state.nthreads) as threads:
        threads.propose(copy.rows, copy.terms, copy.state, copy.positions, copy.slots, instances, moves)
    movers = find_movers(moves, instances.size)
    return pack(moves, movers, movers, copy.rows.values.dtype)


def _worker() -> Any:
    from distributed import get_worker

    return get_worker()


def _find_copy(search: str, base: int, snapshot: Snapshot | None) -> Copy | None:
    with _making:
        copy = _copies.get(search)
        if snapshot is not None and (copy is None or copy.version < base):
            copy = _copies[search] = _make_copy(snapshot, base)
            for old in list(_copies)[:-MOST_KEPT]:
                del _copies[old]
        return copy


def _make_copy(snapshot: Snapshot, version: int) -> Copy:
    from tailwise.kernels.row_ascent import make_buffers
    from tailwise.kernels.rows import Rows

    rows = Rows(*open_shared(snapshot.files))
    terms, state = snapshot.recipe()[0], own_copy(snapshot.state)
    _, touched = make_buffers(state.counts.shape[0], state.counts.shape[0], 1)  # room for every label
    return Copy(
        version,
        snapshot.recipe,
        rows,
        terms,
        snapshot.slots.astype(np.int64),
        snapshot.positions.astype(np.int32),
        state,
        touched,
    )


def _settle(copy: Copy, packed: Packed) -> None:
    """Settle what the driver has settled; rows that it did not move are not among them."""
    from tailwise.kernels.row_ascent import settle

    if packed.rows.size:
        instances = packed.rows.astype(np.int64)
        settle(copy.terms, copy.state, copy.positions, copy.slots, instances, spread(packed), copy.touched)


def _renew(copy: Copy, placed: Placed) -> None:
    from tailwise.kernels.label_state import refresh

    copy.state.nodes.linear[placed.labels], copy.state.nodes.product[placed.labels] = placed.linear, placed.product
    refresh(copy.terms, copy.state)
