"""What the driver and the workers of a cluster send each other, and what a worker does with it.

A worker keeps a copy of the totals and positions of a search, which only saves messages: a task says which version of
them it needs, and a worker that has another one says so. To go from one version to the next, a worker settles what was
proposed for the group before, in the same order and by the same kernel as the driver.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tailwise.engines.dask_files import open_shared
from tailwise.engines.engine import Threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.kernels.label_state import State, Terms
    from tailwise.kernels.nodes import Nodes
    from tailwise.kernels.row_ascent import Moves, Touched
    from tailwise.kernels.rows import Rows

__all__ = [
    "NOTHING_SETTLED",
    "Answer",
    "Packed",
    "Part",
    "Placed",
    "Snapshot",
    "describe_settled",
    "narrowed",
    "own_copy",
    "pack",
    "propose_on_worker",
    "release",
    "run_on_worker",
    "size_of",
    "size_of_pickled",
    "unpack",
    "without_placing",
]

NOTHING_SETTLED = np.zeros(2, np.int64)
NOTHING_PLACED = np.empty((0, 0, 0))
MOST_KEPT = 4  # searches of which a worker keeps a copy

Version = tuple[int, int]  # how often a search sent everything, and how many groups it had begun


class Packed(NamedTuple):
    """What some instances propose, without those that stay."""

    settled: NDArray  # what `describe_settled` says of the group before
    instances: NDArray
    positions: NDArray
    counts: NDArray
    labels: NDArray  # of what rows leave and take, one row after another
    values: NDArray


Answer = tuple[str, Any, str]  # "moves" and what is proposed, or "lacks"; and the address of the worker


class Part(NamedTuple):
    """Instances of a group as ranges: where each begins, and how long it is."""

    starts: NDArray
    lengths: NDArray

    @classmethod
    def of(cls, instances: NDArray) -> Part:
        """The ranges of ascending instances."""
        breaks = np.flatnonzero(np.diff(instances) != 1) + 1
        edges = np.concatenate([[0], breaks, [instances.size]]) if instances.size else np.zeros(1, np.int64)
        return cls(instances[edges[:-1]], np.diff(edges))

    def instances(self) -> NDArray:
        """The inverse."""
        ends = np.cumsum(self.lengths)
        return np.arange(self.lengths.sum()) + np.repeat(self.starts - ends + self.lengths, self.lengths)


class Snapshot(NamedTuple):
    """All that a search changes, and what its terms are made of."""

    files: tuple[str, ...]  # of the candidates
    recipe: Any  # returns the terms, as addresses of compiled formulas hold in one process only, and places nodes
    slots: NDArray  # of any type of integers, as are the positions
    positions: NDArray
    state: Any  # as `without_placing` returns it


class Placed(NamedTuple):
    """Labels whose nodes were placed anew, what for, and weights and products of these nodes with nothing selected.

    Workers place them, too, and count the selection, of which they have a copy.
    """

    labels: NDArray
    placed_for: NDArray
    blank: NDArray

    @classmethod
    def of(cls, nodes: Nodes, labels: NDArray) -> Placed:
        """What to send of nodes that were placed anew."""
        labels = labels[nodes.places[labels] >= 0]
        return cls(narrowed(labels), nodes.placed_for[labels], nodes.blank[nodes.places[labels]])


@dataclass
class Copy:
    """What a worker keeps of a search."""

    version: Version
    recipe: Any  # kept because terms hold addresses of what it holds
    rows: Rows
    terms: Terms
    slots: NDArray
    positions: NDArray
    state: State
    touched: Touched
    settled: NDArray = field(default_factory=lambda: NOTHING_SETTLED)
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


def size_of_pickled(message: Any) -> int:
    """Bytes of the arrays in a message that holds them anywhere."""
    from distributed.protocol.pickle import dumps

    buffers: list[Any] = []
    dumps(message, buffer_callback=buffers.append)
    return sum(memoryview(each).nbytes for each in buffers)


def describe_settled(answers: list[Packed], positions: NDArray) -> NDArray:
    """How many of the instances that proposed have moved, and the sum of their numbers.

    A worker whose processor rounds otherwise than that of the driver could settle otherwise, which this shows.
    """
    found = NOTHING_SETTLED.copy()
    for each in answers:
        has_moved = (positions[each.instances] == each.positions).all(axis=1)
        found += has_moved.sum(), each.instances[has_moved].sum(dtype=np.int64)
    return found


def pack(moves: Moves, instances: NDArray, value_type: Any, settled: NDArray) -> Packed:
    """The moves of those instances that leave or take a label."""
    from tailwise.kernels.packed_moves import pack_labels

    leaves, takes = moves.counts.T
    rows = np.flatnonzero(leaves | takes)
    counts, k, names = moves.counts[rows], moves.positions.shape[1], instances[rows]
    labels, values = pack_labels(moves, rows, int(counts.sum()))
    return Packed(
        settled,
        names.astype(np.int32 if names.max(initial=0) < 2**31 else np.int64),
        narrowed(moves.positions.take(rows, axis=0)),
        counts.astype(np.int8 if k < 128 else np.int32),
        labels,
        values.astype(value_type),
    )


def spread(packed: Packed) -> Moves:
    """The moves of packed rows, one after another."""
    from tailwise.kernels.row_ascent import make_buffers

    moves, _ = make_buffers(1, *packed.positions.shape)
    _unpack(packed, np.arange(packed.instances.size), moves)
    return moves


def unpack(packed: Packed, group: NDArray, moves: Moves) -> None:
    """Write what some instances of a group propose to the buffer."""
    _unpack(packed, np.searchsorted(group, packed.instances), moves)


def _unpack(packed: Packed, rows: NDArray, moves: Moves) -> None:
    from tailwise.kernels.packed_moves import unpack_labels

    moves.positions[rows], moves.counts[rows] = packed.positions, packed.counts
    unpack_labels(moves, rows, np.array(packed.labels), packed.values.astype(np.float64))


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
    search: str, version: Version, snapshot: Snapshot | None, before: list[Answer], placed: Placed | None, part: Part
) -> Answer:
    """What the instances of a part would leave and take, if this worker can know; else that it lacks the totals.

    A worker has a version that it is sent a snapshot of, or if it has the one before, and is given all answers of the
    group before, and the nodes that were placed anew after that.
    """
    copy = _find_copy(search, version, snapshot)
    if copy is None or not _bring_up(copy, version, before, placed):
        return "lacks", None, _worker().address
    return "moves", _propose(copy, part.instances()), _worker().address


def _bring_up(copy: Copy, version: Version, before: list[Answer], placed: Placed | None) -> bool:
    """Settle what was proposed before, unless that was done; returns whether the copy now has this version."""
    epoch, number = version
    with copy.lock:
        if copy.version == (epoch, number - 1) and all(kind == "moves" for kind, _, _ in before):
            _settle(copy, [packed for _, packed, _ in before])
            if placed is not None:
                _renew(copy, placed)
            copy.version = version
        return copy.version == version


def _propose(copy: Copy, instances: NDArray) -> Packed:
    from tailwise.kernels.row_ascent import make_buffers

    moves, _ = make_buffers(1, instances.size, copy.positions.shape[1])
    with Threads(_worker().state.nthreads) as threads:
        threads.propose(copy.rows, copy.terms, copy.state, copy.positions, copy.slots, instances, moves)
    return pack(moves, instances, copy.rows.values.dtype, copy.settled)


def _worker() -> Any:
    from distributed import get_worker

    return get_worker()


def _find_copy(search: str, version: Version, snapshot: Snapshot | None) -> Copy | None:
    with _making:
        copy = _copies.get(search)
        if snapshot is not None and (copy is None or copy.version < version):
            copy = _copies[search] = _make_copy(snapshot, version)
            for old in list(_copies)[:-MOST_KEPT]:
                del _copies[old]
        return copy


def _make_copy(snapshot: Snapshot, version: Version) -> Copy:
    from tailwise.kernels.row_ascent import make_buffers
    from tailwise.kernels.rows import Rows

    rows = Rows(*open_shared(snapshot.files))
    terms, state = snapshot.recipe.make_terms()[0], _with_placing(snapshot.state, snapshot.recipe)
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


def _settle(copy: Copy, answers: list[Packed]) -> None:
    """Settle what the driver settles: the proposals of a group, from its first part to its last."""
    from tailwise.kernels.row_ascent import settle

    packed = Packed(*map(np.concatenate, zip(*answers, strict=True)))
    instances = packed.instances.astype(np.int64)
    settle(copy.terms, copy.state, copy.positions, copy.slots, instances, spread(packed), copy.touched)
    copy.settled = describe_settled(answers, copy.positions)


def _renew(copy: Copy, placed: Placed) -> None:
    """Place nodes as the driver has placed them, and count the selection."""
    from tailwise.kernels.label_state import refresh
    from tailwise.kernels.nodes import PRODUCT, WEIGHT

    nodes, labels = copy.state.nodes, placed.labels.astype(np.int64)
    fresh, places = copy.recipe.placing.place(labels, placed.placed_for), nodes.places[labels]
    n_linear = nodes.linear.shape[2]
    fresh.linear[:, WEIGHT], fresh.product[:, PRODUCT] = placed.blank[:, :n_linear], placed.blank[:, n_linear:]
    nodes.linear[places], nodes.product[places] = fresh.linear, fresh.product
    is_wanted = np.zeros(copy.state.counts.shape[0], dtype=np.bool_)
    is_wanted[labels] = True
    _count_nodes(copy, is_wanted)
    refresh(copy.terms, copy.state)


def _count_nodes(copy: Copy, is_wanted: NDArray) -> None:
    """Count the selection in the nodes of some labels, in the order in which the driver counts it."""
    from tailwise.kernels.nodes import count_nodes
    from tailwise.kernels.rows import pick_entries

    rows, positions, nodes = copy.rows, copy.positions, copy.state.nodes
    labels, values = np.empty(positions.shape, np.int32), np.empty(positions.shape, rows.values.dtype)
    with Threads(_worker().state.nthreads) as threads:
        threads.split(len(positions), lambda first, last: pick_entries(rows, positions, labels, values, first, last))
        threads.split(
            is_wanted.size,
            lambda first, last: count_nodes(labels.ravel(), values.ravel(), nodes, is_wanted, first, last),
        )


def without_placing(state: State) -> State:
    """A state for a message: of nodes, only weights, sums and products, and what they were placed for."""
    from tailwise.kernels.nodes import PRODUCT, SUM, WEIGHT

    nodes = state.nodes
    if nodes.largest.size == 0:
        return state
    linear, product = nodes.linear[:, [WEIGHT, SUM]], nodes.product[:, [PRODUCT]]
    return state._replace(nodes=nodes._replace(linear=linear, product=product, blank=np.empty((0, 0))))


def _with_placing(state: State, recipe: Any) -> State:
    """The inverse, on a worker, which places the nodes from what they were placed for. Returns a copy."""
    from tailwise.kernels.nodes import PRODUCT, SUM, WEIGHT

    nodes = state.nodes
    if nodes.largest.size == 0:
        return own_copy(state)
    labels = np.flatnonzero(nodes.places >= 0)  # places are numbered in the order of labels
    placed = recipe.placing.place(labels, nodes.placed_for[labels])
    placed.linear[:, WEIGHT], placed.linear[:, SUM] = nodes.linear[:, 0], nodes.linear[:, 1]
    placed.product[:, PRODUCT] = nodes.product[:, 0]
    nodes = nodes._replace(linear=NOTHING_PLACED, product=NOTHING_PLACED)
    found = own_copy(state._replace(nodes=nodes))
    return found._replace(nodes=found.nodes._replace(linear=placed.linear, product=placed.product))


def own_copy(message: Any) -> Any:
    """A copy that may be written to: arrays from a message may not."""
    if isinstance(message, tuple):
        return type(message)(*map(own_copy, message)) if hasattr(message, "_fields") else tuple(map(own_copy, message))
    return np.array(message) if isinstance(message, np.ndarray) else message
