"""Machine code on disk: one file for each kernel and signature, found again by everything that went into it.

A file's name holds hashes of the sources of all kernels, the signature, the processor, and the versions of Numba and
Python. So no file is ever out of date: a folder may be copied to another machine or into an image, with other times,
at another path, or read-only, and what fits is loaded from there.

The cache only saves time. Whatever is wrong with a file, the function is compiled again and the file written again;
where nothing can be written, functions are compiled in every process. The same holds for a version of Numba whose
internals, which this file uses, are different.
"""

import hashlib
import logging
import pickle
import sys
from functools import cache
from pathlib import Path

import llvmlite
import numba
import numpy as np
from llvmlite.binding import add_symbol
from numba.core import compiler, config
from numba.core.runtime import _nrt_python as runtime
from numba.core.serialize import dumps

from tailwise.kernels.code_folders import SOURCES, list_folders, read_files, write_file
from tailwise.kernels.processors import describe_processor, list_processors

__all__ = ["is_anything_kept", "make_cache"]

_LOG = logging.getLogger("tailwise.kernels")
_DIGEST_SIZE = hashlib.sha256().digest_size
# Settings of Numba, by environment variables or in Python, that change the code it makes.
_SETTINGS = (
    "BOUNDSCHECK",
    "DEBUGINFO_DEFAULT",
    "ENABLE_PROFILING",
    "EXTEND_VARIABLE_LIFETIMES",
    "LLVM_REFPRUNE_FLAGS",
    "LLVM_REFPRUNE_PASS",
    "LOOP_VECTORIZE",
    "OPT",
    "SLP_VECTORIZE",
    "USING_SVML",
)


def make_cache(function):
    """The cache of one function, for ``dispatcher._cache`` of Numba."""
    return KernelCache(function)


class KernelCache:
    """The machine code of one function, for every signature. Has the methods that Numba calls on a cache.

    The code is kept without what it would need to be linked into other functions: only Python calls kernels.
    """

    def __init__(self, function):
        self._function = function
        self._name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        # Values in a closure are part of the code, but of no source.
        self._is_kept = function.__closure__ is None

    @property
    def cache_path(self):
        return str(list_folders()[-1])

    def load_overload(self, signature, target_context):
        """The function that was compiled for this signature, or None."""
        if not self._is_kept:
            return None
        try:
            for processor in list_processors(target_context.codegen()):
                content = _read(self._file_name(signature, processor))
                if content is not None:
                    own_signature, *parts = pickle.loads(content)
                    return _rebuild(target_context, *parts) if own_signature == signature else None
        except Exception:  # what another version of Numba or Python left may break in more ways than a list can name
            _LOG.debug("%s cannot be loaded", self._name, exc_info=True)
        return None

    def save_overload(self, signature, result):
        """Keep what was compiled for this signature, wherever possible."""
        if not self._is_kept:
            return
        try:
            content = dumps((signature, *_reduce(result)))
            name = self._file_name(signature, describe_processor(result.codegen))
            write_file(hash_version(), name, _checksum(name, content) + content)
        except Exception:  # a version of Numba with other internals, or code that it cannot save
            _LOG.debug("%s cannot be kept", self._name, exc_info=True)

    def _file_name(self, signature, processor):
        is_ours = self._function.__module__.startswith(f"{__package__}.")
        source = b"" if is_ours else Path(self._function.__code__.co_filename).read_bytes()
        settings = [str(getattr(config, name, None)) for name in _SETTINGS]
        parts = (str(signature), processor, settings, hashlib.sha256(source).hexdigest())
        return f"{self._name}-{hashlib.sha256(repr(parts).encode()).hexdigest()[:24]}.nbc"

    def enable(self):
        """Called by Numba; this cache is always on."""

    def disable(self):
        """Called by Numba; this cache is always on."""

    def flush(self):
        """Called by Numba when a function is to be compiled again; files are never out of date."""


@cache
def hash_version():
    """The name of the folder for these sources and these versions of Numba and Python."""
    digest = hashlib.sha256()
    paths = sorted(SOURCES.glob("*.py"))
    if not paths:
        msg = "the sources cannot be read, so it is unknown whether machine code was compiled from them"
        raise FileNotFoundError(msg)
    for path in paths:
        digest.update(f"{path.name}\n".encode() + path.read_bytes())
    digest.update(repr((llvmlite.__version__, np.__version__.split(".")[0], getattr(sys, "abiflags", ""))).encode())
    return f"{sys.implementation.cache_tag}-numba-{numba.__version__}-{digest.hexdigest()[:24]}"


def is_anything_kept():
    """Whether any kernel of these sources and versions was compiled before; True if this cannot be found out."""
    try:
        return any((folder / hash_version()).is_dir() for folder in list_folders())
    except OSError:
        return True


def _read(name):
    """The content of the first file of this name that is complete, or None."""
    for content in read_files(hash_version(), name):
        if content[:_DIGEST_SIZE] == _checksum(name, content[_DIGEST_SIZE:]):
            return content[_DIGEST_SIZE:]
    return None


def _checksum(name, content):
    """Machine code is run as it is found: a wrong bit, or the code of another function, may end the process."""
    return hashlib.sha256(f"{name}\n".encode() + content).digest()


def _reduce(result):
    """What is needed of a compiled function to run it in another process."""
    library, described = result.library, result.fndesc
    if result.objectmode or result.lifted or library.has_dynamic_globals:
        msg = "objects of this process are part of the code"
        raise ValueError(msg)
    described.typemap = described.calltypes = None  # of no use after compilation
    code = library.name, library._get_compiled_object(), _list_symbols(library._final_module)
    # Functions without constants have environments that nobody reads, most of them Numba's own.
    environments = result.environment, [other for other in result._find_referenced_environments() if other.consts]
    return code, described, result.signature, result.reload_init, environments


def _list_symbols(module):
    values = (*module.functions, *module.global_variables)
    return [value.name for value in values if not value.is_declaration]


def _rebuild(target_context, code, described, signature, reload_init, environments):
    """Make a compiled function of what `_reduce` returned."""
    _name_runtime()
    for function in reload_init:
        function()
    environment, referenced = environments
    library = _load_library(target_context.codegen(), *code)
    entry_point = target_context.get_executable(library, described, environment)
    for other in referenced:
        library.codegen.set_env(other.env_name, other)
    return compiler.compile_result(
        target_context=target_context,
        typing_context=target_context.typing_context,
        library=library,
        environment=environment,
        entry_point=entry_point,
        fndesc=described,
        signature=signature,
        objectmode=False,
        lifted=(),
        reload_init=reload_init,
        referenced_envs=referenced,
    )


@cache
def _name_runtime():
    """Tell LLVM where the functions are that hold the memory of arrays.

    Numba's own `rtsys.initialize` also compiles some in every process, which machine code on disk has inside; and its
    `refresh` imports all that it can compile. Both happen as usual when something is compiled.
    """
    if config.NRT_STATS:
        runtime.memsys_enable_stats()
    for name, address in runtime.c_helpers.items():
        add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


def _load_library(codegen, name, object_code, symbols):
    """Load machine code, without the bitcode that Numba would keep and parse to link it into other functions."""
    library = codegen.create_library(name)
    library.enable_object_caching()
    library._set_compiled_object(object_code)
    library._finalize_final_module()
    codegen._engine._defined_symbols.update(symbols)
    return library
