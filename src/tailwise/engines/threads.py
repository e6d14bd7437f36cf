"""Threads that share the work of a kernel, each on its own part of the rows or labels.

Kernels release the interpreter lock, so plain Python threads suffice. They sleep while they wait; on a busy machine,
threads that spin at a barrier (OpenMP) took ten times as long as a single thread. They keep no process-wide state, so
selections may run in several threads at once, and after a fork.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

import numpy as np

from tailwise.engines.engine import Engine
from tailwise.errors import InputError, TailwiseError
from tailwise.inputs.checks import is_integer

__all__ = [
    "MIN_SHARED_ENTRIES",
    "Threads",
    "check_workers",
    "count_cores",
    "own_copy",
]

# A group with fewer candidates is not worth waking other threads for.
MIN_SHARED_ENTRIES = 20_000

# Where Linux says how many cores a container may use.
CONTROL_GROUPS = Path("/sys/fs/cgroup")

# Beyond this number per core, threads only wait for each other; a few are always allowed, for experiments.
MOST_PER_CORE, ALWAYS_ALLOWED = 4, 8


class Threads(Engine):
    """A pool of threads, for use in a ``with`` statement.

    Parameters
    ----------
    workers : int or None
        Number of threads, including the calling one; None for one per core. Results do not depend on it.
    needs_one : bool
        Whether to use one thread only, because the work is too small to share or cannot be shared.
    name : str
        Name of the parameter or option in error messages.

    Examples
    --------
    >>> from tailwise.engines import Threads
    >>> parts = []
    >>> with Threads(2) as threads:
    ...     threads.split(10, lambda first, last: parts.append((first, last)))
    >>> sorted(parts)
    [(0, 5), (5, 10)]
    """

    def __init__(
        self,
        workers: int | None,
        *,
        needs_one: bool = False,
        name: str = "workers",
    ) -> None:
        check_workers(workers, name)
        wanted = count_cores() if workers is None else int(workers)
        self.workers = 1 if needs_one else wanted
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._threads: list[Thread] = []

    def __enter__(self) -> Threads:
        self._jobs = SimpleQueue()
        self._threads = [Thread(target=self._work, name="tailwise", daemon=True) for _ in range(self.workers - 1)]
        try:
            for thread in self._threads:
                thread.start()
        except BaseException as failure:  # also Ctrl-C: threads already started would wait for work forever
            self._stop()
            if not isinstance(failure, RuntimeError):
                raise
            msg = (
                f"The system could not start {self.workers - 1} threads: {failure}. "
                "Use fewer workers, or close other programs."
            )
            raise TailwiseError(msg) from failure
        return self

    def __exit__(self, *error: Any) -> None:
        self._stop()

    def shares(self, n_entries: int) -> bool:
        """Whether a group with this number of candidates is worth waking other threads for."""
        return self.workers > 1 and n_entries >= MIN_SHARED_ENTRIES

    def share(self, edges: Sequence[int], task: Callable[[int, int, int], object]) -> None:
        """Call ``task(part, edges[part], edges[part + 1])`` for each part, one per thread, and wait for all of them."""
        job = Job(edges, task)
        for _ in self._threads:
            self._jobs.put(job)
        job.run()

    def _stop(self) -> None:
        """End all threads; Ctrl-C takes effect after that."""
        interrupt: KeyboardInterrupt | None = None
        while any(thread.is_alive() for thread in self._threads):
            try:
                for _ in self._threads:  # again after an interrupt, for more than are needed do no harm
                    self._jobs.put(None)
                for thread in self._threads:
                    if thread.ident is not None:  # it was started
                        thread.join()
            except KeyboardInterrupt as error:
                interrupt = error
        self._threads = []  # so that nothing is left for them to do
        if interrupt is not None:
            raise interrupt

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.help()
            del job  # frees its arrays while this thread waits


class Job:
    """A call of ``task(part, edges[part], edges[part + 1])`` for each part.

    The thread that created the job also works on it, and is the only one that Ctrl-C can interrupt, possibly within a
    part. It always waits until other threads have finished the parts that they have begun. There is no lock that an
    interrupt could leave locked: lists are appended to and popped from in one step.
    """

    def __init__(self, edges: Sequence[int], task: Callable[[int, int, int], object]) -> None:
        self._task = task
        self._parts = [(part, first, last) for part, (first, last) in enumerate(pairwise(edges))][::-1]
        self._helping: list[bool] = []  # one entry for each helper that may hold a part
        self._failures: list[BaseException] = []
        self._news: SimpleQueue[None] = SimpleQueue()  # wakes the thread that waits

    def help(self) -> None:
        """Take parts in a helper thread; an exception is kept for the thread that created the job."""
        self._helping.append(True)  # before a part is taken, so that nobody stops waiting in between
        try:
            while (part := self._take()) is not None:
                self._task(*part)
        except BaseException as error:
            self._failures.append(error)
        finally:
            self._helping.pop()
            self._news.put(None)

    def run(self) -> None:
        """Take parts in the thread that created the job, wait for the others, and raise what any part raised."""
        try:
            while (part := self._take()) is not None:
                self._task(*part)
        finally:
            self._wait()
        if self._failures:
            raise self._failures[0]

    def _take(self) -> tuple[int, int, int] | None:
        try:
            return self._parts.pop()
        except IndexError:
            return None

    def _wait(self) -> None:
        """Drop the parts not yet begun and wait for the running ones; Ctrl-C takes effect after that."""
        interrupt: KeyboardInterrupt | None = None
        while True:
            try:
                self._parts.clear()
                while self._helping:
                    with suppress(Empty):
                        self._news.get(timeout=1.0)
                break
            except KeyboardInterrupt as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt


def check_workers(workers: Any, name: str = "workers") -> None:
    """Refuse an invalid number of threads, or more than this machine can use; `name` may be a parameter or option."""
    if workers is None:
        return
    is_option = name.startswith("-")
    if not is_integer(workers) or workers < 1:
        nothing = "omitted" if is_option else "None"
        msg = f"{name} must be an integer of at least 1, or {nothing} for all cores. Got {workers!r}."
        raise InputError(msg)
    if workers > ALWAYS_ALLOWED and workers > (most := MOST_PER_CORE * count_cores()):
        msg = (
            f"{name} must be at most {max(most, ALWAYS_ALLOWED)} on this machine, which has {count_cores()} cores. "
            f"Got {workers}. {'Omit it' if is_option else f'Use {name}=None'} for one thread per core."
        )
        raise InputError(msg)


def count_cores() -> int:
    """Return the number of cores that this process may use; affinity or a container may limit it."""
    affinity = getattr(os, "sched_getaffinity", None)  # of Linux
    cores = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    return max(1, min([cores, *map(math.ceil, _list_shares())]))


def _list_shares() -> Iterator[float]:
    """The cores, not always a whole number, that control groups allow: version 2 in one file, version 1 in two."""
    for files in (["cpu.max"], ["cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"]):
        try:
            quota, period = " ".join((CONTROL_GROUPS / file).read_text(encoding="ascii") for file in files).split()
        except (OSError, ValueError):  # another system, or no control groups of this version
            continue
        if quota not in ("max", "-1"):
            yield int(quota) / int(period)


def own_copy(message: Any) -> Any:
    """A copy that may be written to: arrays from a message may not."""
    if isinstance(message, tuple):
        return type(message)(*map(own_copy, message)) if hasattr(message, "_fields") else tuple(map(own_copy, message))
    return np.array(message) if isinstance(message, np.ndarray) else message
