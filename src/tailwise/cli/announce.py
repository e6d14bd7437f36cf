"""Communication of commands: exit codes, robust output streams, progress bars, and notice of compilation."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO

__all__ = [
    "BAD_INPUT",
    "BROKEN_PIPE",
    "INTERNAL",
    "INTERRUPTED",
    "Bar",
    "compilation_announced",
    "drop_output",
    "usable_streams",
]

BAD_INPUT, INTERNAL, INTERRUPTED, BROKEN_PIPE = 2, 70, 130, 141  # exit codes
NOTICE = "tailwise: compiling for the first use, which takes up to a minute"


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


class Bar:
    """A progress bar on standard error, created on the first update; for use in a ``with`` statement.

    Parameters
    ----------
    is_shown : bool
        Whether to show it.
    **options
        Options of tqdm.
    """

    def __init__(self, *, is_shown: bool, **options: Any) -> None:
        self._is_shown, self._options = is_shown, options
        self._bar: Any = None

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *failure: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def update(self, done: int, total: int | None = None) -> None:
        """Show how much of the total is done."""
        if not self._is_shown:
            return
        if self._bar is None:
            from tqdm import tqdm

            self._bar = tqdm(**{"total": total, **self._options})
        self._bar.update(done - self._bar.n)


def compilation_announced() -> AbstractContextManager[None]:
    """Print a notice on standard error when the first kernel is compiled, which takes long."""
    from numba.core import event  # imported here, because commands without compilation should start fast

    class Announcer(event.Listener):
        """Prints once; Numba notifies it of compilations, not of kernels in its cache."""

        is_done = False

        def on_start(self, event: event.Event) -> None:
            if not self.is_done:
                self.is_done = True
                print(NOTICE, file=sys.stderr, flush=True)

        def on_end(self, event: event.Event) -> None:
            pass

    return event.install_listener("numba:compile", Announcer())
