"""Work split into parts, which several threads take one after another until none is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from threading import Condition

__all__ = ["Job"]


class Job:
    """A call of ``task(part, edges[part], edges[part + 1])`` for each part.

    The thread that created the job also works on it, and is the only one that Ctrl-C can interrupt, possibly within a
    part. It always waits until other threads have finished the parts that they have begun.
    """

    def __init__(self, edges: Sequence[int], task: Callable[[int, int, int], object]) -> None:
        self._task = task
        self._parts = [(part, first, last) for part, (first, last) in enumerate(pairwise(edges))][::-1]
        self._n_running = 0  # parts that helpers have begun
        self._failure: BaseException | None = None
        self._changed = Condition()

    def help(self) -> None:
        """Take parts in a helper thread; an exception is kept for the thread that created the job."""
        while True:
            with self._changed:
                if not self._parts:
                    return
                part = self._parts.pop()
                self._n_running += 1
            failure = None
            try:
                self._task(*part)
            except BaseException as error:
                failure = error
            with self._changed:
                self._n_running -= 1
                self._failure = self._failure or failure
                self._changed.notify_all()

    def run(self) -> None:
        """Take parts in the thread that created the job, wait for the others, and raise what any part raised."""
        try:
            while (part := self._take()) is not None:
                self._task(*part)
        finally:
            self._wait()
        if self._failure is not None:
            raise self._failure

    def _take(self) -> tuple[int, int, int] | None:
        with self._changed:
            return self._parts.pop() if self._parts else None

    def _wait(self) -> None:
        """Drop the parts not yet begun and wait for the running ones; Ctrl-C takes effect after that."""
        interrupt: KeyboardInterrupt | None = None
        while True:
            try:
                with self._changed:
                    self._parts.clear()
                    while self._n_running:
                        self._changed.wait()
                break
            except KeyboardInterrupt as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt
