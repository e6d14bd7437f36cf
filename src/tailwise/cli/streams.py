"""Standard output and standard error as a command needs them: there, and able to show any text."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import TextIO

__all__ = ["drop_output", "usable_streams"]


@contextmanager
def usable_streams() -> Iterator[None]:
    """Within the block there is something to print to, also where a shell closed it (``>&-``).

    What is printed to a closed standard output fails like any output that cannot be written; what is said on a closed
    standard error is lost.
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
    """The interpreter flushes standard output once more at exit; let that go nowhere."""
    try:
        number = sys.stdout.fileno()
    except (OSError, ValueError, AttributeError):  # no file: a notebook, a test
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)


class _ClosedOutput(io.TextIOBase):
    """Takes the place of a standard output that is closed, to which Python would print without a word."""

    def write(self, text: str) -> int:
        raise OSError(errno.EBADF, "standard output is closed")


def _is_closed(stream: TextIO | None) -> bool:
    return stream is None or stream.closed


def _hold_numbers() -> None:
    """Keep the numbers of closed streams from files that are opened later: whoever prints would write into them."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the smallest free number, this one


def _show_everything(stream: TextIO) -> None:
    """What an encoding cannot show, like a Greek letter in ASCII or a file name that is no text, is shown as \\x...."""
    if isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
        stream.reconfigure(errors="backslashreplace")
