"""What a command tells the world: exit codes, streams that can show any text, progress bars, word of compilation."""

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
WORDS = "tailwise: compiling for the first use, which takes up to a minute"


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


class Bar:
    """A progress bar on standard error, made when there is something to show; for use in a ``with`` statement.

    Parameters
    ----------
    is_shown : bool
        Whether there is one at all.
    **options
        Of tqdm.
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
        """Show how much is done by now, of how much in all."""
        if not self._is_shown:
            return
        if self._bar is None:
            from tqdm import tqdm

            self._bar = tqdm(**{"total": total, **self._options})
        self._bar.update(done - self._bar.n)


def compilation_announced() -> AbstractContextManager[None]:
    """Within the block, say so on standard error when the first kernel is compiled: that takes long."""
    from numba.core import event  # most commands that need no compiler should not wait for its import

    class Announcer(event.Listener):
        """Speaks once; Numba calls it for what it compiles, not for what it finds in its cache."""

        has_spoken = False

        def on_start(self, event: event.Event) -> None:
            if not self.has_spoken:
                self.has_spoken = True
                print(WORDS, file=sys.stderr, flush=True)

        def on_end(self, event: event.Event) -> None:
            pass

    return event.install_listener("numba:compile", Announcer())
