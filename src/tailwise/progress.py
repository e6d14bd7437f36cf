"""Progress of long tasks: a bar on a terminal, occasional lines in a log.

Lines go to the logger ``tailwise.progress`` if its level is INFO; commands set this level if they do not run on a
terminal.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

LOG = logging.getLogger("tailwise.progress")
PAUSE = 10.0  # seconds between lines
SHORT_PAUSE = 1.0  # at the level DEBUG, at which the last step is always reported


def track(
    things: Iterable[Any] | None = None,
    *,
    total: int | None = None,
    title: str,
    unit: str,
    shown: bool,
    leave: bool = True,
) -> Any:
    """Return an iterator over `things` that shows its progress, with the methods of a tqdm bar that we use.

    `unit` is a word in the plural.
    Without `things`, call ``update`` after each step. The result is also a context manager.
    """
    if shown and LOG.isEnabledFor(logging.INFO) and not _is_terminal():
        return Lines(things, total, title, unit)
    from tqdm import tqdm

    return tqdm(things, total=total, desc=title, unit=f" {unit}", leave=leave, disable=not shown)


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


class Lines:
    """Progress as lines of a log."""

    def __init__(self, things: Iterable[Any] | None, total: int | None, title: str, unit: str) -> None:
        self._things = things
        if total is None and hasattr(things, "__len__"):
            total = len(things)  # type: ignore[arg-type]
        self._total, self._title, self._unit = total, title, unit
        self._done, self._facts, self._is_told = 0, "", True
        self._start = self._told = time.monotonic()

    def __iter__(self) -> Iterator[Any]:
        for thing in self._things or ():
            yield thing
            self.update()
        self.close()

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def update(self, steps: int = 1) -> None:
        """Count steps, and log them if the last line was logged some time ago."""
        self._done += steps
        self._is_told = False
        ago = time.monotonic() - self._told
        if ago >= PAUSE:
            self._tell(logging.INFO)
        elif ago >= SHORT_PAUSE:
            self._tell(logging.DEBUG)

    def set_postfix(self, *, refresh: bool = True, **facts: Any) -> None:
        """Set what the next line adds, as names and values."""
        self._facts = ", ".join(f"{name} {value}" for name, value in facts.items())

    def set_postfix_str(self, text: str, refresh: bool = True) -> None:  # noqa: FBT001, FBT002 - as tqdm has it
        """Set what the next line adds."""
        self._facts = text

    def close(self) -> None:
        """Called at the end, like that of a bar."""
        if not self._is_told:
            self._tell(logging.DEBUG)

    def _tell(self, level: int) -> None:
        if LOG.isEnabledFor(level):
            self._is_told, self._told = True, time.monotonic()
            LOG.log(level, "%s", self._describe(self._told - self._start))

    def _describe(self, seconds: float) -> str:
        of_all = "" if self._total is None else f" of {self._total}"
        done = f"{self._title}: {self._done}{of_all} {self._unit}"
        return ", ".join(filter(None, (done, self._facts, f"{seconds:.0f} s")))
