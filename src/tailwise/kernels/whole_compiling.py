"""Ctrl-C while a kernel is compiled takes effect once it is compiled.

Numba and LLVM hold locks that an interrupt between two steps of the interpreter leaves locked, so that other threads
wait for ever; and where they free objects, an interrupt is swallowed.
"""

import signal
import sys
import threading
from contextlib import ExitStack, contextmanager
from typing import Any

__all__ = ["signals_deferred"]

# Of the signals that may be handled by raising an exception.
DEFERRED = signal.SIGINT, signal.SIGTERM


@contextmanager
def signals_deferred():
    """Handle signals at the end. Only the main thread handles any, so nothing is to be done in others."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers: dict[int, Any] = {}
    came: list[int] = []
    try:
        with ExitStack() as stack:
            for number in DEFERRED:
                handler = signal.getsignal(number)
                if callable(handler):  # else the system ends the process, or ignores the signal
                    handlers[number] = handler
                    stack.callback(signal.signal, number, handler)
                    signal.signal(number, lambda number, _: came.append(number))
            yield
    finally:
        for arrived in dict.fromkeys(came):
            handlers[arrived](arrived, sys._getframe())
