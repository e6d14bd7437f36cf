"""How long this process has been compiling, and a message when it takes long."""

import logging
import time

from numba.core import event

from tailwise.kernels.code_folders import find_writable

__all__ = ["Stopwatch", "compile_seconds", "count_waiting"]

_LOG = logging.getLogger("tailwise.compiling")
# Seconds before the first message, and between messages.
PATIENCE, PAUSE = 2.0, 5.0
# Kernels that a first call compiles, so that one can guess how far it is.
USUAL_KERNELS = "15 to 30"


class Stopwatch(event.Listener):
    """Adds up the time that compilations take; those within another one are part of it."""

    def __init__(self):
        self.seconds, self.kernels = 0.0, 0
        self._depth, self._start, self._told = 0, 0.0, None

    def on_start(self, event):
        """A kernel, or a function that it calls, is about to be compiled."""
        if self._depth == 0:
            self._start = time.perf_counter()
        self._depth += 1
        seconds = self.seconds + time.perf_counter() - self._start
        if seconds >= (PATIENCE if self._told is None else self._told + PAUSE):
            self._told = seconds
            self._tell()

    def on_end(self, event):
        """It has been compiled."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._start
            self.kernels += 1

    def _tell(self):
        once = "This happens once."
        if find_writable() is None:
            once = "This happens in every process, because no folder for it can be written; see NUMBA_CACHE_DIR."
        progress = f": {self.kernels} of usually {USUAL_KERNELS} functions" if self.kernels else ""
        _LOG.info("Compiling for the first use, %.0f s so far%s. %s", self._told, progress, once)


_stopwatch = Stopwatch()
event.register("numba:compile", _stopwatch)


def count_waiting(seconds):
    """Count the time that this process waited for another one to compile."""
    _stopwatch.seconds += seconds


def compile_seconds():
    """Seconds that this process has spent compiling so far."""
    return _stopwatch.seconds
