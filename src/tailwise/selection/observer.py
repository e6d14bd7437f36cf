"""Who watches a search: told of every pass, it may say stop. Progress bars, deadlines and callers are observers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tailwise.errors import InputError
from tailwise.kernels.compiling import compile_seconds
from tailwise.kernels.label_state import State
from tailwise.progress import track


class Pass(NamedTuple):
    """What an observer is told after each pass.

    Attributes
    ----------
    stage : str
        What the pass was for: "warm-up", "rows", "labels" or "proof".
    history : tuple of float
        Expected utility at the start and after each pass of this stage; the upper bounds, for a proof.
    moved : int
        Instances or labels that moved.
    state : State
        The totals at present; to be read, not written.
    """

    stage: str
    history: tuple[float, ...]
    moved: int
    state: State


class Observer:
    """Tells `on_pass` and a progress bar of every pass, and says when to stop: where the callback returns True, or
    after `max_seconds`, compilation not counted.
    """

    def __init__(
        self, on_pass: Callable[[Pass], Any] | None = None, max_seconds: float | None = None, *, progress: bool = False
    ) -> None:
        if on_pass is not None and not callable(on_pass):
            msg = f"on_pass must be a function of one argument, or None. Got {type(on_pass).__name__}."
            raise InputError(msg)
        check_max_seconds(max_seconds)
        self._on_pass, self._max_seconds, self._progress = on_pass, max_seconds, progress
        self._begin = time.perf_counter()
        self._compiled = 0.0 if max_seconds is None else compile_seconds()
        self._stops = False
        self._bar: Any = None
        self._stage = ""

    @property
    def seconds(self) -> float:
        """Time since the search began."""
        return time.perf_counter() - self._begin

    def goes_on(self) -> bool:
        """Whether there is time, and nobody said stop; asked between groups of instances."""
        self._stops = self._stops or not self.has_time()
        return not self._stops

    def has_time(self) -> bool:
        """Whether `max_seconds` are not over; also asked by threads that share the work of a pass."""
        if self._max_seconds is None:
            return True
        return self.seconds - (compile_seconds() - self._compiled) < self._max_seconds

    def told(self, stage: str, history: list[float], moved: int, state: State) -> None:
        """Take note of a pass."""
        if self._progress:
            self._show(stage, history[-1], moved)
        if self._on_pass is not None:
            answer = self._on_pass(Pass(stage, tuple(history), moved, state))
            self._stops |= isinstance(answer, (bool, np.bool_)) and bool(answer)

    def close(self) -> None:
        """Leave the progress bar as it is."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _show(self, stage: str, value: float, moved: int) -> None:
        if stage != self._stage:
            self.close()
            self._stage, self._bar = stage, track(title=stage, unit="passes", shown=True)
        self._bar.set_postfix(value=f"{value:.6g}", moved=moved, refresh=False)
        self._bar.update()


def check_max_seconds(max_seconds: Any) -> None:
    """Refuse what is no time limit."""
    is_number = isinstance(max_seconds, (int, float, np.number)) and not isinstance(max_seconds, bool)
    if max_seconds is not None and not (is_number and max_seconds > 0):
        msg = f"max_seconds must be a number above 0, or None for no limit. Got {max_seconds!r}."
        raise InputError(msg)
