"""Jobs of different size, shared between threads: whoever is free takes the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from tailwise.engines import Threads

__all__ = ["share_jobs"]

Job = TypeVar("Job")
Result = TypeVar("Result")
Room = TypeVar("Room")


def share_jobs(
    threads: Threads,
    jobs: Sequence[Job],
    make_room: Callable[[], Room],
    work: Callable[[Job, Room], Result],
    watch: Callable[[Iterable[int]], Iterable[int]] = iter,
) -> list[Result]:
    """Call ``work(job, room)`` for every job, the results in the order of the jobs.

    Each thread has a room of its own. `watch` is given the numbers of the jobs and gives them back one by one, as a
    progress bar does. After a failure, or Ctrl-C, no thread begins another job.
    """
    results: list[Result | None] = [None] * len(jobs)
    numbers = iter(watch(range(len(jobs))))
    lock = Lock()
    stopped: list[bool] = []

    def take_turns(part: int, first: int, last: int) -> None:
        room = make_room()
        try:
            while not stopped:
                with lock:
                    number = next(numbers, None)
                if number is None:
                    return
                results[number] = work(jobs[number], room)
        except BaseException:
            stopped.append(True)
            raise

    threads.share(range(threads.workers + 1), take_turns)
    return results  # type: ignore[return-value]
