"""Communication of commands: exit codes, robust output streams, and notice of compilation."""

from __future__ import annotations

import errno
import io
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import TextIO

BAD_INPUT, INTERNAL, INTERRUPTED, BROKEN_PIPE = 2, 70, 130, 141  # exit codes


@contextmanager
def usable_streams() -> Iterator[None]:
    """Provide streams to print to, even if a shell closed them (``>&-``).

    Printing to a closed standard output fails with an error; text for a closed standard error is lost.
    """
    with ExitStack() as stack:
        is_missing = [_is_closed(stream) for stream in (sys.stdin, sys.stdout, sys.stderr)]
        if any(is_missing):
            _hold_numbers()
        if is_missing[1]:
            stack.enter_context(redirect_stdout(_ClosedOutput()))
        if is_missing[2]:
            nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8", newline="\n"))
            stack.enter_context(redirect_stderr(nowhere))
        _show_everything(sys.stdout)
        _show_everything(sys.stderr)
        yield


def drop_output() -> None:
    """Redirect standard output to nowhere, because the interpreter flushes it again at exit."""
    try:
        number = sys.stdout.fileno()
    except (OSError, ValueError, AttributeError):  # not a file, as in a notebook or a test
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)


class _ClosedOutput(io.TextIOBase):
    """Replaces a closed standard output, to which Python would print without an error."""

    def write(self, text: str) -> int:
        raise OSError(errno.EBADF, "standard output is closed")


def _is_closed(stream: TextIO | None) -> bool:
    return stream is None or stream.closed


def _hold_numbers() -> None:
    """Occupy the descriptors of closed streams, so that printed text cannot end up in files opened later."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the smallest free descriptor, which is this one


def _show_everything(stream: TextIO) -> None:
    """Escape characters that the encoding lacks, like Greek letters in ASCII or undecodable file names, as \\x...."""
    if isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
        stream.reconfigure(errors="backslashreplace")


@contextmanager
def compilation_announced() -> Iterator[None]:
    """Print on standard error that kernels are being compiled, and how far it is, whenever that takes seconds."""
    log, handler = logging.getLogger("tailwise.compiling"), _Printer()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


class _Printer(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        with suppress(OSError):  # nobody can read standard error
            print(f"tailwise: {message[0].lower()}{message[1:]}", file=sys.stderr, flush=True)
