"""The interface between a search and what runs it, with defaults for all that an engine need not override; threads.

Two kinds of work are distributed: proposals of row passes, and pure tasks on shared arrays (`Engine.spread`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from itertools import pairwise
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any

from tailwise.errors import TailwiseError
from tailwise.inputs.checks import check_workers, count_cores
from tailwise.inputs.matrices import cut_evenly

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tailwise.kernels.label_state import State, Terms
    from tailwise.kernels.row_ascent import Moves
    from tailwise.kernels.rows import Rows

__all__ = ["MIN_SHARED_ENTRIES", "Engine", "Threads"]

# A group with fewer candidates is not worth waking other threads for.
MIN_SHARED_ENTRIES = 20_000


class Engine(ABC):
    """Computes proposals, and other tasks, from arrays that it only reads.

    Engines derive from it, and inherit what they do not override.
    The caller applies the proposals one by one, in the order of the instances, so the result does not depend on where
    they were computed.

    Attributes
    ----------
    workers : int
        Number of parts that run at the same time on this machine.
    messages : tuple of str
        Messages about a finished search.
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
        """A pass over these groups begins, with terms and nodes that `recipe` makes elsewhere."""
        return

    def propose(
        self, rows: Rows, terms: Terms, state: State, positions: NDArray, slots: NDArray, group: NDArray, moves: Moves
    ) -> None:
        """Write to `moves` which labels the instances of a group, in ascending order, would drop and add."""
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
        """Number of tasks to divide work into."""
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


class Threads(Engine):
    """A pool of threads, for use in a ``with`` statement.

    Kernels release the interpreter lock, so plain Python threads suffice. They sleep while they wait: on a busy
    machine, threads that spin at a barrier (OpenMP) took ten times as long as a single thread. They keep no
    process-wide state, so selections may run in several threads at once, and after a fork.

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
