"""A word on the terminal when kernels are compiled: the first use of a command waits for that with nothing to show."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager

from numba.core import event

__all__ = ["compilation_announced"]

WORDS = "tailwise: compiling for the first use, which takes up to a minute"


class _Announcer(event.Listener):
    """Speaks once; Numba calls it for what it compiles, not for what it finds in its cache."""

    def __init__(self) -> None:
        self._has_spoken = False

    def on_start(self, event: event.Event) -> None:
        if not self._has_spoken:
            self._has_spoken = True
            print(WORDS, file=sys.stderr, flush=True)

    def on_end(self, event: event.Event) -> None:
        pass


def compilation_announced() -> AbstractContextManager[None]:
    """Within the block, say so on standard error when the first kernel is compiled."""
    return event.install_listener("numba:compile", _Announcer())
