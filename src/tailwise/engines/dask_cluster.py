"""Proposals made by the workers of a Dask cluster, which read the candidates themselves.

The driver owns all that changes. Once, workers are sent the totals and the positions. After that, tasks of several
groups are sent ahead: a task depends on the answers for the group before, which workers send each other, and which each
of them settles as the driver does. So the driver settles one group while workers propose for the next. Tasks are pure
and can run again anywhere; if a worker lacks what it needs, all that was sent ahead is dropped, and the driver sends
the totals of the moment.
"""

from __future__ import annotations

import os
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.engines.dask_messages import (
    NOTHING_SETTLED,
    Packed,
    Part,
    Placed,
    Snapshot,
    describe_settled,
    narrowed,
    own_copy,
    propose_on_worker,
    size_of,
    size_of_pickled,
    unpack,
    without_placing,
)
from tailwise.engines.dask_workers import ATTEMPTS, UNREACHED, Cluster, Job
from tailwise.engines.engine import MIN_SHARED_ENTRIES, Threads
from tailwise.errors import extra_needed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.kernels.label_state import State, Terms
    from tailwise.kernels.row_ascent import Moves
    from tailwise.kernels.rows import Rows

__all__ = ["Dask", "local_cluster"]

T, Q = 0, 1  # columns of State.counts
AHEAD = 3  # groups whose tasks are sent before the answers for the first of them are settled

Tasks = list[tuple[Any, Job]]  # of a group, from its first part to its last


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
        self._state: Any = None
        self._mark: tuple[float, ...] = ()
        self._passes: list[list[int]] = []
        self._before: Tasks = []  # of the group before the next one
        self._answered: list[Packed] = []
        self._groups, self._ahead = deque[Any](), deque[tuple[Any, Tasks]]()
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
        passes = tuple(
            f"Pass {number}: {sent:,} bytes sent to the workers, {came:,} bytes came back, {between:,} bytes from "
            "worker to worker."
            for number, (sent, came, between) in enumerate(self._passes, 1)
        )
        sent, came = self._elsewhere
        rest = f"Other steps: {sent:,} bytes sent to the workers, {came:,} bytes came back."
        return (*passes, rest) if sent or came else passes

    def shares(self, n_entries: int) -> bool:
        """Whether a group with this number of candidates is worth sending."""
        return n_entries >= MIN_SHARED_ENTRIES

    def share(self, edges: Sequence[int], task: Callable[[int, int, int], object]) -> None:
        """Call ``task(part, edges[part], edges[part + 1])`` for each part on the threads of this machine."""
        self._threads.share(edges, task)

    def begin(self, recipe: Any, groups: list[NDArray]) -> None:
        """A pass over these groups begins, with terms and nodes that workers make by `recipe`."""
        if recipe is not self._recipe:
            self._forget()
        elif self._ahead:  # the pass before was stopped: workers may have gone on
            self._drop_ahead()
        self._recipe, self._groups, self._begins_pass = recipe, deque(groups), True
        self._passes.append([0, 0, 0])

    def propose(
        self, rows: Rows, terms: Terms, state: State, positions: NDArray, slots: NDArray, group: NDArray, moves: Moves
    ) -> None:
        """Write to `moves` which labels the instances of a group would drop and add."""
        if self._begins_pass:
            self._take_note(state, positions)
        moves.counts[: group.size] = 0

        def snapshot() -> Snapshot:
            files, lean = self._files.of(rows), without_placing(state)
            return Snapshot(files, self._recipe, narrowed(slots), narrowed(positions), lean)

        self._settled = describe_settled(self._answered, positions)
        self._answered = self._answers(snapshot)
        for answer in self._answered:
            unpack(answer, group, moves)

    def end(self, state: State, positions: NDArray) -> None:
        """A pass ended: note what the totals are, to find out whether others change them before the next."""
        self._mark = _mark_of(state, positions)

    # What workers know

    def _forget(self) -> None:
        """Begin another search: nobody knows anything of it."""
        self._search = secrets.token_hex(6)
        self._recipe, self._state, self._mark = None, None, ()
        self._placed = np.empty(0)
        self._epoch = self._number = 0
        self._begins_pass = True
        self._drop_ahead()
        self._groups.clear()

    def _drop_ahead(self) -> None:
        """Take back what was sent ahead; workers will be sent the totals of the moment."""
        self._groups.extendleft(group for group, _ in reversed(self._ahead))
        self._ahead.clear()
        self._before = []
        self._answered = []
        self._settled = NOTHING_SETTLED
        self._present: dict[str, int] = {}
        self._crew: list[tuple[str, int]] = []  # workers, with their threads, that know the totals
        self._news: list[Any] = []  # for each of the crew, what was placed anew
        self._epoch += 1

    def _take_note(self, state: State, positions: NDArray) -> None:
        """Find out what others changed since the last pass: everything, nodes, or nothing."""
        self._begins_pass = False
        mark, self._mark = self._mark, ()  # a pass that is not ended leaves none
        is_same = self._state is state.counts and mark == _mark_of(state, positions)
        placed, self._placed = self._placed, state.nodes.placed_for.copy()
        self._state = state.counts
        if not is_same or self._present != self._find_workers():
            self._drop_ahead()
            return
        nodes, labels = state.nodes, np.flatnonzero(placed != self._placed)
        if labels.size:
            self._tell(Placed.of(nodes, labels))

    def _tell(self, news: Placed) -> None:
        """Send workers what was placed anew; where one cannot be reached, all are sent everything."""
        try:
            self._news = [self._lay(news, address) for address, _ in self._crew]
            self._passes[-1][0] += size_of(news) * len(self._crew)
        except UNREACHED:
            self._drop_ahead()

    # Tasks

    def _answers(self, snapshot: Callable[[], Snapshot]) -> list[Packed]:
        """What is proposed for the next group; tasks of some groups after it are sent, too."""
        failure = None
        for attempt in range(ATTEMPTS):
            while self._groups and len(self._ahead) < AHEAD:
                group = self._groups.popleft()
                self._ahead.append((group, self._submit(group, snapshot, attempt)))
            group, tasks = self._ahead[0]
            found, failure = self._collect(tasks)
            if failure is None:
                self._before = self._ahead.popleft()[1]
                return found
            self._drop_ahead()
        return self._refuse(f"a task failed {ATTEMPTS} times, at last with {failure}")

    def _submit(self, group: NDArray, snapshot: Callable[[], Snapshot], attempt: int) -> Tasks:
        """Send the tasks of a group to the workers that know the totals; to all, with the totals, if none does."""
        before, news = self._ahead[-1][1] if self._ahead else self._before, self._news
        knows, self._news = bool(self._crew), []
        if not knows:
            self._present = self._find_workers()
            self._crew = list(self._present.items())
            message = snapshot()
            self._passes[-1][0] += size_of_pickled(message) * len(self._crew)
        self._number += 1
        edges = np.cumsum([0, *(threads for _, threads in self._crew)]) * group.size
        edges //= sum(threads for _, threads in self._crew)
        tasks = []
        for number, piece in enumerate(pairwise(edges.tolist())):
            job, whole = Job(piece, self._crew[number][0], attempt), None
            if not knows:
                job, whole = self._send(job, message)
                self._crew[number] = job.address, self._crew[number][1]
            part = Part.of(group[slice(*piece)])
            self._passes[-1][0] += size_of(part)
            arguments = whole, [future for future, _ in before], news[number] if news else None, part
            tasks.append((self._start(job, number, arguments), job))
        return tasks

    def _start(self, job: Job, number: int, arguments: tuple[Any, ...]) -> Any:
        name = f"pass{len(self._passes)}-version{self._number}-part{number}-try{job.attempt}"
        return self._client.submit(
            propose_on_worker,
            *(self._search, (self._epoch, self._number), *arguments),
            key=f"propose-{self._search}-{name}",
            workers=[job.address],
            allow_other_workers=True,
            pure=False,
        )

    def _send(self, job: Job, message: Snapshot) -> tuple[Job, Any]:
        """Send all that there is to know to a worker, once it is known to understand it; to another, if it is gone."""
        tried: set[str] = set()
        for _ in range(ATTEMPTS):
            job = job._replace(address=self._find_ready(job, tried))
            tried.add(job.address)
            if not self._check_release(job.address):
                continue
            if job.address.startswith("inproc"):  # where sending is no copying
                message = own_copy(message)
            with suppress(*UNREACHED):
                return job, self._lay(message, job.address)
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

    def _collect(self, tasks: Tasks) -> tuple[list[Packed], Any]:
        """The answers of a group, and why there are none."""
        found = []
        for kind, answer, _ in self._fetch(dict(tasks)):
            if kind != "moves":
                return [], "a worker that lacks the totals" if kind == "lacks" else answer
            if not np.array_equal(answer.settled, self._settled):
                return [], "a worker that settles otherwise"
            found.append(answer)
        came = size_of(found)
        self._passes[-1][1] += came
        self._passes[-1][2] += came * (len({job.address for _, job in tasks}) - 1)
        return found, None


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
