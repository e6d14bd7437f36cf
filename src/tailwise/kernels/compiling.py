"""How kernels are compiled: cached on disk, without the interpreter lock, division by zero as in numpy."""

import time
from typing import Any

from numba import njit
from numba.core import event
from numba.core.ccallback import CFunc
from numba.core.sigutils import normalize_signature

from tailwise.kernels.caching import make_cache

__all__ = ["c_function", "compile_seconds", "kernel", "part", "reordering_step", "step"]

_OPTIONS = {"nogil": True, "error_model": "numpy"}


# Parts and steps are compiled into the kernels that call them, so they need no cache of their own. A part is inlined
# before type inference. A step is a call that does not count references to arrays, which its caller holds anyway: with
# NamedTuples of arrays, counting took two thirds of a pass. So a step must not allocate.
part = njit(inline="always", **_OPTIONS)
# Only kernels call steps, so they need no door for Python or C, which took a third of the compilation.
_STEP_OPTIONS = {"_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, **_OPTIONS}
step = njit(**_STEP_OPTIONS)
# A step whose sums may be taken in another order, so that they are taken several at a time.
reordering_step = njit(fastmath={"reassoc", "nsz"}, **_STEP_OPTIONS)


def kernel(function):
    """Compile on first call, and keep the machine code on disk."""
    dispatcher = njit(**_OPTIONS)(function)
    dispatcher._cache = make_cache(function)
    return dispatcher


def c_function(signature, function):
    """Compile to a C function at once, or take it from disk: Numba's ``cfunc`` with the cache of kernels."""
    compiled: Any = CFunc(function, normalize_signature(signature), locals={}, options={"error_model": "numpy"})
    compiled._cache = make_cache(function)
    compiled.compile()
    return compiled


class _Stopwatch(event.Listener):
    """Adds up the time that compilations take; those within another one are part of it."""

    def __init__(self):
        self.seconds, self._depth, self._start = 0.0, 0, 0.0

    def on_start(self, event):
        if self._depth == 0:
            self._start = time.perf_counter()
        self._depth += 1

    def on_end(self, event):
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._start


_stopwatch = _Stopwatch()
event.register("numba:compile", _stopwatch)


def compile_seconds():
    """Seconds that this process has spent compiling so far."""
    return _stopwatch.seconds
