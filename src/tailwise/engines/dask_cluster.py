"""Proposals made by the workers of a Dask cluster, which read the candidates themselves.

The driver owns all that changes. A task says which instances are to propose, and what happened since the worker last
heard of it: the moves that were settled. Rows that want to move come back. Tasks are pure and can run again anywhere.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.engines.dask_messages import (
    Packed,
    Part,
    Placed,
    Snapshot,
    find_movers,
    narrowed,
    pack,
    propose_on_worker,
    size_of,
    unpack,
)
from tailwise.engines.dask_workers import ATTEMPTS, LOST, Cluster, Job
from tailwise.engines.threads import MIN_SHARED_ENTRIES, Threads
from tailwise.errors import extra_needed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.kernels.label_state import State, Terms
    from tailwise.kernels.row_ascent import Moves
    from tailwise.kernels.rows import Rows

__all__ = ["Dask", "local_cluster"]

T, Q = 0, 1  # columns of State.counts


class Dask(Cluster):
    """An engine that makes proposals on a Dask cluster, and runs other steps there that read every candidate.

    Parameters
    ----------
    client : distributed.Client or str
        The client of a cluster, or the address of its scheduler.
    folder : path, optional
        A folder that all workers see, for candidates that do not come from a store, which are written there and
        removed at the end. Default: the folder of temporary files of this machine, which workers on it see.
    patience : float
        Seconds to wait for the scheduler, for a worker where there is none, and for a busy worker before others get its
        share. Where all are busy, it waits until one is not.

    Attributes
    ----------
    workers : int
        Threads of this machine.
    messages : tuple of str
        The bytes sent to the workers and back: in each pass, and in all other steps together.

    Notes
    -----
    Give `select` a store (:func:`tailwise.open_store`) on a file system that all workers see. The result is the same
    as without a cluster, whatever the number of workers, and after any of them was lost.
    """

    def __init__(self, client: Any, *, folder: str | os.PathLike[str] | None = None, patience: float = 30.0) -> None:
        super().__init__(client, folder, float(patience))
        self._threads = Threads(None)
        self.workers = self._threads.workers
        self._recipe: Any = None
        self._mark: tuple[float, ...] = ()
        self._passes: list[list[int]] = []
        self._begins_pass = True
        self._forget()

    def __enter__(self) -> Dask:
        self._threads.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._threads.__exit__(*error)
        self._files.remove()
        self._kept.clear()
        self._forget()

    @property
    def messages(self) -> tuple[str, ...]:  # type: ignore[override]
        steps = [(f"Pass {number}", *both) for number, both in enumerate(self._passes, 1)]
        steps += [("Other steps", *self._elsewhere)] if any(self._elsewhere) else []
        return tuple(
            f"{name}: {sent:,} bytes sent to the workers, {came:,} bytes came back." for name, sent, came in steps
        )

    def shares(self, n_entries: int) -> bool:
        """Whether a group with this number of candidates is worth sending."""
        return n_entries >= MIN_SHARED_ENTRIES

    def share(self, edges: Sequence[int], task: Callable[[int, int, int], object]) -> None:
        """Call ``task(part, edges[part], edges[part + 1])`` for each part on the threads of this machine."""
        self._threads.share(edges, task)

    def begin(self, recipe: Any) -> None:
        """A pass begins, with terms that workers make by calling `recipe`."""
        if recipe is not self._recipe:
            self._forget()
        self._recipe, self._begins_pass = recipe, True
        self._passes.append([0, 0])

    def propose(
        self, rows: Rows, terms: Terms, state: State, positions: NDArray, slots: NDArray, group: NDArray, moves: Moves
    ) -> None:
        """Write to `moves` which labels the instances of a group would drop and add."""
        self._take_note(state, positions)
        moves.counts[: group.size] = 0

        def snapshot() -> Snapshot:
            return Snapshot(self._files.of(rows), self._recipe, narrowed(slots), narrowed(positions), state)

        threads = self._find_workers()
        edges = np.cumsum([0, *threads.values()]) * group.size // sum(threads.values())
        pieces = [(first, last) for first, last in pairwise(edges.tolist()) if first < last]
        jobs = dict(
            self._submit(Job(piece, address, 0), group, snapshot)
            for piece, address in zip(pieces, threads, strict=False)
        )
        while jobs:
            self._collect(jobs, group, snapshot, moves)

    def settled(self, state: State, positions: NDArray, group: NDArray, moves: Moves, value_type: Any) -> None:
        """Take note of the proposals that were applied."""
        movers = find_movers(moves, group.size)
        has_moved = (positions[group[movers]] == moves.positions[movers]).all(axis=1)
        movers = movers[has_moved]
        self._log.append(pack(moves, movers, group[movers], value_type))

    def end(self, state: State, positions: NDArray) -> None:
        """A pass ended: note what the totals are, to find out whether others change them before the next."""
        self._mark = _mark_of(state, positions)

    # What workers know

    def _forget(self) -> None:
        """Begin another search: nobody knows anything of it."""
        self._search, self._first, self._log = secrets.token_hex(6), 0, list[Packed | Placed]()
        self._known: dict[str, int] = {}
        self._state: Any = None
        self._mark = ()
        self._placed = np.empty(0)

    @property
    def _version(self) -> int:
        return self._first + len(self._log)

    def _take_note(self, state: State, positions: NDArray) -> None:
        """Find out what others changed since the last pass: everything, nodes, or nothing."""
        if not self._begins_pass:
            return
        self._begins_pass = False
        mark, self._mark = self._mark, ()  # a pass that is not ended leaves none
        if self._state is not state.counts or mark != _mark_of(state, positions):
            self._first, self._log = self._version + 1, []
            self._state = state.counts
            self._placed = state.nodes.placed_for.copy()
            return
        labels = np.flatnonzero(self._placed != state.nodes.placed_for)
        if labels.size:
            self._placed = state.nodes.placed_for.copy()
            self._log.append(Placed(labels, state.nodes.linear[labels], state.nodes.product[labels]))

    # Tasks

    def _submit(self, job: Job, group: NDArray, snapshot: Callable[[], Snapshot]) -> tuple[Any, Job]:
        """Send a task with what its worker does not know yet; that may be another worker, if this one is gone."""
        base = self._known.get(job.address, -1)
        news: list[Packed | Placed] = []
        whole = None
        if base >= self._first:
            news = self._log[base - self._first :]
        else:
            base, message = self._version, snapshot()
            job, whole = self._send(job, message)
            self._passes[-1][0] += size_of((message.slots, message.positions, message.state))
        part = Part.of(group[slice(*job.piece)])
        self._passes[-1][0] += size_of([news, part])
        name = f"pass{len(self._passes)}-version{self._version}-part{job.piece[0]}-try{job.attempt}"
        future = self._client.submit(
            propose_on_worker,
            *(self._search, self._version, base, whole, news, part),
            key=f"propose-{self._search}-{name}",
            workers=[job.address],
            allow_other_workers=True,
            pure=False,
        )
        return future, job

    def _send(self, job: Job, message: Snapshot) -> tuple[Job, Any]:
        """Send all that there is to know to a worker, once it is known to understand it; to another, if it is gone."""
        tried: set[str] = set()
        for _ in range(ATTEMPTS):
            job = job._replace(address=self._find_ready(job, tried))
            tried.add(job.address)
            if not self._check_release(job.address):
                continue
            with suppress(OSError, TimeoutError):
                return job, self._client.scatter(message, workers=[job.address], hash=False)
        reason = f"{ATTEMPTS} attempts to send totals to a worker failed, at last to {job.address}"
        raise self._failure(reason)

    def _find_ready(self, job: Job, tried: set[str]) -> str:
        """The worker of a job; if it is gone, was tried or stays busy, another one, as soon as any is ready."""
        while True:
            present = self._find_workers()
            left = [each for each in present if each not in tried] or list(present)
            if job.address in left and time.monotonic() < self._prepare(job.address).patient_until:
                left = [job.address]
            ready = [each for each in left if self._prepare(each).version.done()]
            if ready:
                return job.address if job.address in ready else ready[job.piece[0] % len(ready)]
            time.sleep(0.05)

    def _collect(self, jobs: dict[Any, Job], group: NDArray, snapshot: Any, moves: Moves) -> None:
        """Take the answers that are there, and ask again where there is none to be had."""
        for future in self._wait(jobs):
            job = jobs.pop(future)
            kind, answer, address = self._answer_of(future) if future.done() else LOST
            if kind == "moves":
                self._known[address] = self._version
                self._passes[-1][1] += size_of(answer)
                unpack(answer, moves, answer.rows + job.piece[0])
                continue
            if job.attempt + 1 >= ATTEMPTS:
                self._refuse(f"a task failed {ATTEMPTS} times, at last with {answer}")
            self._known.pop(address or job.address, None)
            if kind == "lacks" and answer is not None:
                self._known[address] = answer
            again = Job(job.piece, self._choose_worker(address, job), job.attempt + 1)
            jobs.update([self._submit(again, group, snapshot)])

    def _choose_worker(self, address: str, job: Job) -> str:
        """The worker that answered, or another one than that which did not."""
        addresses = list(self._find_workers())
        others = [each for each in addresses if each != job.address] or addresses
        return address if address in addresses else others[job.piece[0] % len(others)]


@contextmanager
def local_cluster(n_workers: int) -> Iterator[str]:
    """Processes of this machine as a cluster, each with one thread; yields the address of their scheduler."""
    with extra_needed("A local cluster needs distributed", "'tailwise[dask]'"):
        from distributed import LocalCluster
    with LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster.scheduler_address


def _mark_of(state: State, positions: NDArray) -> tuple[float, ...]:
    """Numbers that differ if others changed the totals or the positions."""
    return (
        float(state.counts[:, T].sum()),
        float(state.counts[:, Q].sum()),
        float(positions.sum(dtype=np.int64)),
        id(positions),
    )
