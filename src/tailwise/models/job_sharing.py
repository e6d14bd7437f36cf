"""Jobs of different sizes shared between threads: an idle thread takes the next job."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import TypeVar

from tailwise.engines import Threads

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
    """Call ``work(job, room)`` for every job, and return the results in the order of the jobs.

    `make_room` allocates working memory for each thread. `watch` wraps the iteration over job numbers, as a progress
    bar does. After a failure or Ctrl-C, no thread begins another job.
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
