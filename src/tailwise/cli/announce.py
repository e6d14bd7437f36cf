"""Communication of commands: robust output streams, and messages as text or JSON."""

from __future__ import annotations

import errno
import io
import json
import logging
import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import Any, TextIO

CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@contextmanager
def usable_streams() -> Iterator[None]:
    """Provide streams to print to, even if a shell closed them (``>&-``).

    Printing to a closed standard output fails with an error; text for a closed standard error is lost.
    """
    with ExitStack() as stack:
        is_missing = [_is_closed(stream) for stream in (sys.stdin, sys.stdout, sys.stderr)]
        if any(is_missing):
            _occupy_descriptors()
        if is_missing[1]:
            stack.enter_context(redirect_stdout(_ClosedOutput()))
        if is_missing[2]:
            nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8", newline="\n"))
            stack.enter_context(redirect_stderr(nowhere))
        _show_everything(sys.stdout)
        _show_everything(sys.stderr)
        yield


def describe_written(path: str) -> str:
    """Say which file was written, and how large it is; in KB if small."""
    size = os.path.getsize(path)
    text = f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(1, round(size / 1e3))} KB"
    return f"{text} written to {path}"


def drop_output() -> None:
    """Discard further standard output, because the interpreter flushes it again at exit."""
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


def _occupy_descriptors() -> None:
    """Occupy the descriptors of closed streams, so that printed text cannot end up in files opened later."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the smallest free descriptor, which is this one


def _show_everything(stream: TextIO) -> None:
    """Escape characters that the encoding lacks as \\x..: undecodable bytes, and Greek letters in ASCII, say."""
    if isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
        stream.reconfigure(errors="backslashreplace")


@contextmanager
def messages_shown(level: int, *, as_json: bool = False) -> Iterator[None]:
    """Print the package's messages of at least this level to standard error: compilation, progress, search stages."""
    log, handler = logging.getLogger("tailwise"), _Printer(as_json=as_json)
    before, warned = log.level, warnings.showwarning
    log.addHandler(handler)
    log.setLevel(level)
    warnings.showwarning = handler.show_warning  # type: ignore[assignment]
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)
        warnings.showwarning = warned


def tell(words: str, level: int = logging.INFO, *, as_json: bool = False) -> None:
    """Print a message to standard error, as a line of text or of JSON; if that fails, the exit code must suffice."""
    if as_json:
        from datetime import datetime, timezone

        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        words = json.dumps({"time": now, "level": logging.getLevelName(level).lower(), "message": words})
    else:
        words = "tailwise: " + without_controls(words).replace("\n", "\n  ")
    with suppress(OSError):
        print(words, file=sys.stderr, flush=True)


def without_controls(text: str) -> str:
    """Escape control characters except line ends; names in a file could otherwise control the terminal."""
    return CONTROLS.sub(lambda found: repr(found[0])[1:-1], text)


class _Printer(logging.Handler):
    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        tell(f"{message[0].lower()}{message[1:]}", record.levelno, as_json=self._as_json)

    def show_warning(self, message: Warning | str, *where: Any) -> None:
        """Print a warning without its source location, which is of no use to users of the command."""
        words = str(message) if self._as_json else f"warning: {message}"
        tell(words, logging.WARNING, as_json=self._as_json)
