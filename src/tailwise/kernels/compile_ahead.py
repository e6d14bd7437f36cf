"""Kernels that are needed later are compiled by a second process, while this one compiles those needed first.

Python can compile on one core only, since compilers of a process wait for each other. The second process keeps what it
compiles on disk, as always, and this one finds it there.
"""

import importlib
import pickle
import subprocess
import sys
import time
from typing import Any

from numba import typeof

from tailwise.kernels.code_folders import find_writable
from tailwise.kernels.compile_time import count_waiting

__all__ = ["compile_ahead", "compile_asked", "wait_for"]

_PROGRAM = "from tailwise.kernels.compile_ahead import compile_asked; compile_asked()"


class _Second:
    """The second process, and the kernels that it has still to compile."""

    process: Any = None
    names: frozenset[str] = frozenset()


def compile_ahead(*calls):
    """Start compiling each pair of a kernel and its arguments elsewhere, if what is compiled can be kept."""
    if _Second.names or find_writable() is None or not sys.executable:
        return
    asked = [(call.__module__, call.__name__, tuple(map(typeof, arguments))) for call, arguments in calls]
    try:
        # A session of its own: Ctrl-C is for this process, and what is compiled will be needed again.
        process: Any = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        pickle.dump(asked, process.stdin)
        process.stdin.close()
    except OSError:  # no process, or it ended at once: this one compiles everything itself
        return
    _Second.process, _Second.names = process, frozenset(_name_of(module, name) for module, name, _ in asked)


def compile_asked():
    """What the second process does: compile as asked for on standard input, and tell of each kernel that is done."""
    for module, name, kinds in pickle.load(sys.stdin.buffer):
        getattr(importlib.import_module(module), name).compile(kinds)
        print(_name_of(module, name), flush=True)


def wait_for(name):
    """Wait for a kernel if the second process compiles it, until that is done, or has failed."""
    if name not in _Second.names:
        return
    begin = time.perf_counter()
    while name in _Second.names:
        line = _Second.process.stdout.readline().decode().strip()
        _Second.names = _Second.names - {line} if line else frozenset()
    if not _Second.names:
        _Second.process.stdout.close()
        _Second.process.wait()
    count_waiting(time.perf_counter() - begin)


def _name_of(module, name):
    return f"{module.rpartition('.')[2]}.{name}"
