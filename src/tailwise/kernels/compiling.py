"""How kernels are compiled: cached on disk, without the interpreter lock, division by zero as in numpy."""

from typing import Any

from numba import njit
from numba.core.ccallback import CFunc
from numba.core.sigutils import normalize_signature

from tailwise.kernels.bundles import hand_on_by_address
from tailwise.kernels.caching import is_anything_kept, make_cache
from tailwise.kernels.compile_ahead import compile_ahead, start_second, wait_for
from tailwise.kernels.compile_time import compile_seconds
from tailwise.kernels.quick_compiler import IS_TRIED, KernelCompiler, StepCompiler, widened
from tailwise.kernels.whole_compiling import signals_deferred

__all__ = [
    "bundle",
    "c_function",
    "compile_ahead",
    "compile_seconds",
    "is_anything_kept",
    "kernel",
    "part",
    "reordering_step",
    "start_second",
    "step",
]

_OPTIONS = {"nogil": True, "error_model": "numpy"}


# Steps are compiled into the kernels that call them, so they need no cache of their own, and no wrapper for calls from
# Python or C. A call of a step does not count references to arrays, which its caller holds anyway: with NamedTuples of
# arrays, counting took two thirds of a pass. So a step must not allocate.
_STEP_OPTIONS = {"_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, **_OPTIONS}
_STEP_COMPILER = {"pipeline_class": StepCompiler} if IS_TRIED else {}
_KERNEL_COMPILER = {"pipeline_class": KernelCompiler} if IS_TRIED else {}


def bundle(cls):
    """Let compiled functions hand instances of this NamedTuple on as one argument."""
    return hand_on_by_address(cls) if IS_TRIED else cls


def step(function, **options):
    """Compile into every kernel that calls it."""
    dispatcher = njit(**_STEP_COMPILER, **_STEP_OPTIONS, **options)(function)
    return widened(dispatcher) if IS_TRIED else dispatcher


def part(function):
    """Compile as a step that is always inlined."""
    return step(function, forceinline=True)


def reordering_step(function):
    """Compile as a step whose sums may be taken in another order, so that several are taken at a time."""
    return step(function, fastmath={"reassoc", "nsz"})


def kernel(function):
    """Compile on first call, and keep the machine code on disk."""
    dispatcher = njit(no_cfunc_wrapper=True, **_KERNEL_COMPILER, **_OPTIONS)(function)
    dispatcher._cache = make_cache(function)
    dispatcher._compilation_chain_init_hook = _look_for_nothing
    dispatcher.compile = _compiled_whole(function, dispatcher.compile)
    return dispatcher


def _compiled_whole(function, compile_it):
    """In place of the `compile` of a dispatcher, which Numba calls for every new signature."""

    def compile_whole(signature):
        wait_for(function)  # before Numba takes its locks, and where Ctrl-C ends the wait
        with signals_deferred():
            return compile_it(signature)

    return compile_whole


def _look_for_nothing():
    """In place of a search of all packages for extensions of Numba: kernels take arrays and numbers only."""


def c_function(signature, function):
    """Compile to a C function at once, or take it from disk: Numba's ``cfunc`` with the cache of kernels."""
    compiled: Any = CFunc(function, normalize_signature(signature), locals={}, options={"error_model": "numpy"})
    compiled._cache = make_cache(function)
    with signals_deferred():
        compiled.compile()
    return compiled
