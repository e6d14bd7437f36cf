"""Kernels that are needed later are compiled by a second process, while this one compiles those needed first.

Python can compile on one core only, since compilers of a process wait for each other. The second process keeps what it
compiles on disk, as always, and this one finds it there. What the second has not begun when it is needed, this one
compiles itself, so that neither waits while there is work.
"""

import importlib
import pickle
import subprocess
import sys
import threading
import time
from typing import Any

from numba import njit, typeof

from tailwise.kernels.code_folders import find_writable
from tailwise.kernels.compile_time import count_waiting

__all__ = ["compile_ahead", "compile_asked", "start_second", "wait_for"]

PAUSE = 0.01  # seconds between two looks at what the second process does
_PROGRAM = "from tailwise.kernels.compile_ahead import compile_asked; compile_asked()"


class _Second:
    """What the second process is doing: a thread reads what it tells, until it ends."""

    waiting: Any = None  # the process, until it is asked to compile
    begun = ""  # the kernel that it compiles
    thread: Any = None

    @classmethod
    def follow(cls, process):
        for line in process.stdout:
            cls.begun = line.decode().strip()
        process.stdout.close()
        process.wait()
        cls.begun = ""

    @classmethod
    def is_busy(cls):
        return cls.thread is not None and cls.thread.is_alive()


def start_second():
    """Start a second process, if what it compiles can be kept, so that it is ready when it is asked to compile."""
    if _Second.waiting is not None or _Second.is_busy() or find_writable() is None or not sys.executable:
        return
    try:
        # A session of its own: Ctrl-C is for this process, and what is compiled will be needed again.
        _Second.waiting = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:  # no process: this one compiles everything itself
        return


def compile_ahead(*calls):
    """Have each pair of a kernel and its arguments compiled elsewhere; without any, the second process ends."""
    if calls:
        start_second()
    process, _Second.waiting = _Second.waiting, None
    if process is None:
        return
    asked = [(call.__module__, call.__name__, tuple(map(typeof, arguments))) for call, arguments in calls]
    try:
        pickle.dump(asked, process.stdin)
        process.stdin.close()
    except OSError:  # it ended at once
        asked = []
    _Second.begun = _name_of(*asked[0][:2]) if asked else ""
    _Second.thread = threading.Thread(target=_Second.follow, args=(process,), daemon=True)
    _Second.thread.start()


def compile_asked():
    """What the second process does: compile as asked for on standard input, and tell which kernel is begun."""
    njit("int64(int64)")(lambda number: number)  # has Numba import all that compiling needs, while nobody has asked yet
    try:
        asked = pickle.load(sys.stdin.buffer)
    except EOFError:  # nobody will ask: the first process ended, or failed before it came to that
        return
    for module, name, kinds in asked:
        print(_name_of(module, name), flush=True)
        getattr(importlib.import_module(module), name).compile(kinds)


def wait_for(function):
    """Wait for a kernel while the second process compiles it, until that is done, or has failed."""
    name = _name_of(function.__module__, function.__name__)
    if name != _Second.begun:
        return
    begin = time.perf_counter()
    while name == _Second.begun and _Second.is_busy():  # without a lock, which Ctrl-C could leave locked
        time.sleep(PAUSE)
    count_waiting(time.perf_counter() - begin)


def _name_of(module, name):
    return f"{module.rpartition('.')[2]}.{name}"
