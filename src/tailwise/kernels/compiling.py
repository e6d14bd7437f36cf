"""How kernels are compiled: cached on disk, without the interpreter lock, division by zero as in numpy."""

import hashlib
import pickle
from pathlib import Path

from numba import njit

__all__ = ["kernel", "part", "reordering_step", "step"]

_OPTIONS = {"nogil": True, "error_model": "numpy"}


def _hash_sources():
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


_SOURCES = _hash_sources()

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
    """Compile on first call, and keep the machine code on disk until any source file of the kernels changes.

    Numba itself looks only at the file of the kernel, and would run old code after a change of the parts it calls.
    """
    dispatcher = njit(cache=True, **_OPTIONS)(function)
    file = dispatcher._cache._cache_file
    file._source_stamp, file._load_index = _SOURCES, _forgiving(file._load_index)
    return dispatcher


def _forgiving(load_index):
    """What another version left on disk may name classes that are no more: then nothing is there."""

    def load():
        try:
            return load_index()
        except (AttributeError, ImportError, EOFError, pickle.UnpicklingError):
            return {}

    return load
