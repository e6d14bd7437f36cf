"""The workers of a Dask cluster: which are there, which are ready, what they answer, and tasks that any of them can do.

A task is pure: it can run again, anywhere. What a worker keeps only saves messages.
"""

from __future__ import annotations

import asyncio
import pkgutil
import secrets
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn

from tailwise.engines.dask_files import SharedFiles
from tailwise.engines.dask_messages import release, run_on_worker, size_of
from tailwise.engines.engine import Engine
from tailwise.errors import ClusterError, InputError, extra_needed

__all__ = ["ATTEMPTS", "LOST", "UNREACHED", "Cluster", "Job"]

ATTEMPTS = 4  # for a task, after its worker was lost
POLL = 2.0  # seconds between two looks at which workers are there
# The second is the built-in one from Python 3.11 on; the third comes from a scheduler that has just removed the worker.
UNREACHED = OSError, asyncio.TimeoutError, KeyError
LOST: tuple[str, Any, str] = "lost", "a lost worker", ""  # the answer of one that is gone


class Job(NamedTuple):
    """A part of a group, the worker that it was given to, and how often that was tried before."""

    piece: tuple[int, int]
    address: str
    attempt: int


class Preparation(NamedTuple):
    """Tasks that prepare a worker, and when others are asked instead of it."""

    version: Any  # the task that tells its version
    kernels: Any  # the task that imports kernels
    patient_until: float


class Kept(NamedTuple):
    """What a worker keeps for further tasks of the same part."""

    message: Any
    address: str
    future: Any


class Cluster(Engine):
    """What all uses of a cluster share; `Dask` is the engine."""

    def __init__(self, client: Any, folder: Any, patience: float) -> None:
        self._patience = patience
        self._client, self._is_own = self._connect(client)
        self._files = SharedFiles(folder)
        self._prepared: dict[str, Preparation] = {}
        self._checked: set[str] = set()  # workers that have our version
        self._kept: dict[int, Kept] = {}  # by identity, which holds while the message is kept
        self._elsewhere = [0, 0]  # bytes sent and received outside of passes
        for address in self._client.nthreads():  # while this process is busy with other things
            self._prepare(address)

    def _connect(self, client: Any) -> tuple[Any, bool]:
        with extra_needed("The engine Dask needs distributed", "'tailwise[dask]'"):
            from distributed import Client
        if isinstance(client, Client):
            return client, False
        if not isinstance(client, str):
            msg = f"client must be a distributed.Client or the address of a scheduler. Got {type(client).__name__}."
            raise InputError(msg)
        try:
            return Client(client, timeout=self._patience), True
        except (OSError, ValueError) as error:
            msg = (
                f"The scheduler at {client} did not answer within {self._patience:g} seconds: {error}. "
                "Check the address and that it runs: dask scheduler."
            )
            raise ClusterError(msg) from error

    def close(self) -> None:
        """Close the client, if this engine has opened it."""
        if self._is_own:
            self._client.close()

    def _find_workers(self) -> dict[str, int]:
        """The threads of each worker, by address; waits for workers where there are none."""
        end = time.monotonic() + self._patience
        while not (found := self._client.nthreads()):
            if time.monotonic() > end:
                self._refuse("it has no workers (any more)")
            time.sleep(0.05)
        return dict(sorted(found.items()))

    def _refuse(self, reason: str) -> NoReturn:
        raise self._failure(reason)

    def _failure(self, reason: str) -> ClusterError:
        return ClusterError(
            f"The cluster at {self._client.scheduler.address} must make proposals. It cannot: {reason}. Start workers "
            "with tailwise on them, and call again; with checkpoint= (--checkpoint) it goes on from the last pass."
        )

    def _find_checked(self) -> list[str]:
        """The workers that have told their version, which is ours; waits for the first."""

        def is_ready(address: str) -> bool:
            return address in self._checked or self._prepare(address).version.done()

        while not (ready := list(filter(is_ready, self._find_workers()))):
            time.sleep(0.05)
        found = [each for each in ready if self._check_release(each)]
        return found or self._find_checked()

    def _check_release(self, address: str) -> bool:
        """Whether a worker has answered; refuse one with another version of tailwise.

        It is asked once: the answer of a worker that was lost since would be waited for in vain.
        """
        if address in self._checked:
            return True
        kind, answer, _ = self._answer_of(self._prepare(address).version, self._patience)
        if kind == "lost":
            self._prepared.pop(address, None)
            return False
        if answer != release():
            self._refuse(f"the worker at {address} has tailwise {answer}, this process {release()}")
        self._checked.add(address)
        return True

    def _prepare(self, address: str) -> Preparation:
        """The task by which a worker tells its version of tailwise, after which it imports kernels; begun once.

        A function of Python's own does it: one of ours would end a worker that does not have it.
        """
        if address not in self._prepared:
            version, kernels = (
                self._client.submit(
                    pkgutil.resolve_name, name, key=f"prepare-{secrets.token_hex(4)}", workers=[address], pure=False
                )
                for name in ("tailwise:__version__", "tailwise.kernels.row_ascent:__name__")
            )
            self._prepared[address] = Preparation(version, kernels, time.monotonic() + self._patience)
        return self._prepared[address]

    def _wait(self, jobs: dict[Any, Job], return_when: str = "FIRST_COMPLETED") -> list[Any]:
        """The tasks that are done, or whose worker is gone."""
        from distributed import wait
        from distributed.client import FuturesCancelledError

        try:
            return list(wait(list(jobs), timeout=POLL, return_when=return_when).done)
        except FuturesCancelledError:  # what they need was lost
            return [future for future in jobs if future.done()]
        except asyncio.TimeoutError:
            return self._find_gone(jobs)

    def _find_gone(self, jobs: dict[Any, Job]) -> list[Any]:
        present = self._find_workers()
        return [future for future, job in jobs.items() if job.address not in present]

    def _fetch(self, jobs: dict[Any, Job]) -> list[tuple[str, Any, str]]:
        """The answers of all tasks: in one message, if none of them failed."""

        async def fetch() -> list[tuple[str, Any, str]]:
            return list(await self._client.gather(list(jobs)))

        waiting = dict(jobs)
        while waiting:
            for future in self._wait(waiting, "ALL_COMPLETED"):
                del waiting[future]
        if all(future.status == "finished" for future in jobs):
            with suppress(*self._losses()):
                return self._client.sync(fetch, callback_timeout=self._patience)
        return [self._answer_of(future) if future.done() else LOST for future in jobs]

    def _losses(self) -> tuple[type[BaseException], ...]:
        """What is raised where a worker was lost."""
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError
        from distributed.comm import CommClosedError

        return KilledWorker, FutureCancelledError, CommClosedError, asyncio.TimeoutError

    def _answer_of(self, future: Any, patience: float | None = None) -> tuple[str, Any, str]:
        try:
            found = future.result(timeout=patience if future.done() else self._patience)
            return found if isinstance(found, tuple) else ("prepared", found, "")
        except self._losses() as error:
            return "lost", error, ""
        except FileNotFoundError as error:
            self._refuse(f"a worker does not see {error.filename}: give a store, or a folder=, that all workers see")
        except ModuleNotFoundError as error:
            self._refuse(f"a worker has no {error.name}")

    # Tasks that any worker can do

    @property
    def n_parts(self) -> int:
        """In how many tasks work is best cut: one for each thread of the workers."""
        return sum(self._find_workers().values())

    def is_elsewhere(self, n_entries: int) -> bool:
        """Whether work on this number of candidates is worth sending."""
        return self.shares(n_entries)

    def spread(
        self,
        task: Callable[..., Any],
        shared: Any,
        parts: Sequence[tuple[Any, ...]],
        take: Callable[[int, Any], object],
        kept: Sequence[Any] = (),
    ) -> None:
        """Call ``take(number, task(shared, *parts[number]))`` for each part, on any worker, or here if it is little."""
        if not self.shares(shared[1].size):
            super().spread(task, shared, parts, take, kept)
            return
        fixed = task, type(shared), self._files.of(shared)
        waiting, jobs = deque((number, 0) for number in range(len(parts))), dict[Any, Job]()
        while waiting or jobs:
            while waiting:
                number, attempt = waiting.popleft()
                future, job = self._begin(fixed, parts[number], kept[number] if kept else None, number, attempt)
                jobs[future] = job
            for future in self._wait(jobs):
                job = jobs.pop(future)
                kind, answer, _ = self._answer_of(future) if future.done() else LOST
                if kind == "found":
                    self._elsewhere[1] += size_of(answer)
                    take(job.piece[0], answer)
                    continue
                if job.attempt + 1 >= ATTEMPTS:
                    self._refuse(f"a task failed {ATTEMPTS} times, at last with {answer}")
                self._kept = {key: each for key, each in self._kept.items() if each.address != job.address}
                waiting.append((job.piece[0], job.attempt + 1))

    def drop_kept(self, kept: Sequence[Any]) -> None:
        """Let workers drop messages that they keep: no further call of `spread` has them."""
        for each in kept:
            self._kept.pop(id(each), None)

    def _begin(
        self, fixed: tuple[Any, ...], arguments: tuple[Any, ...], kept: Any, number: int, attempt: int
    ) -> tuple[Any, Job]:
        """Send a task, with what it needs, to the worker that keeps something for it, or to any other."""
        name = fixed[0].__name__.strip("_").replace("_", "-")
        holder, message = self._send_to_any(arguments, kept, number + attempt)
        future = self._client.submit(
            run_on_worker,
            *(*fixed, message, holder.future),
            key=f"{name}-{secrets.token_hex(4)}-part{number}-try{attempt}",
            workers=[holder.address],
            allow_other_workers=True,
            pure=False,
        )
        return future, Job((number, number + 1), holder.address, attempt)

    def _send_to_any(self, arguments: tuple[Any, ...], kept: Any, turn: int) -> tuple[Kept, Any]:
        """Send arguments to a worker, and what it is to keep, unless it has that already."""
        for attempt in range(ATTEMPTS):
            addresses = self._find_checked()
            holder = self._kept.get(id(kept))
            try:
                if holder is None or holder.address not in addresses:
                    address = addresses[(turn + attempt) % len(addresses)]
                    holder = Kept(kept, address, self._scatter(kept, address))
                    if kept is not None:
                        self._kept[id(kept)] = holder
                return holder, self._scatter(arguments, holder.address)
            except UNREACHED:
                self._kept.pop(id(kept), None)
        return self._refuse(f"{ATTEMPTS} attempts to send arguments to a worker failed")

    def _scatter(self, message: Any, address: str) -> Any:
        self._elsewhere[0] += size_of(message)
        return None if message is None else self._lay(message, address)

    def _lay(self, message: Any, address: str) -> Any:
        """Send a message to a worker, as a whole: the parts of a tuple would be scattered one by one."""
        return self._client.scatter([message], workers=[address], hash=False)[0]
