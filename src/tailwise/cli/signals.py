"""Ctrl-C and SIGTERM end a command in the same way: soon, and after the clean-up of a KeyboardInterrupt."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import NoReturn

from tailwise.cli.exit_codes import CODES, INTERRUPTED

PATIENCE = 0.8  # seconds that a command has to end by itself
PAUSE = 0.05  # seconds until a signal that arrived during an import is sent again


class Signals:
    """Handles Ctrl-C and SIGTERM, and remembers which one arrived."""

    def __init__(self) -> None:
        self.number: int | None = None
        self.keeps_partial = False  # whether a command writes something after the first signal, however long it takes
        self._sent_again = 0

    def code_for(self, code: int) -> int:
        """Return the exit code of a command that ended with `code`: the same, unless SIGTERM interrupted it."""
        return CODES[self.number] if code == INTERRUPTED and self.number is not None else code

    def note(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal between two steps of the interpreter; not during imports, where libraries may swallow it."""
        self.number = number
        if _is_importing(frame):
            self._sent_again += 1
            threading.Timer(PAUSE, signal.raise_signal, [number]).start()
            return
        raise KeyboardInterrupt

    def watch(self, receiver: int) -> None:
        """End the process if it goes on after a signal: in compiled code, waiting for a thread, or cleaning up."""
        n_came = 0
        while came := os.read(receiver, 1):
            n_came += came[0] in CODES
            if n_came <= self._sent_again + self.keeps_partial:
                continue
            if not _ends_within(receiver, PATIENCE):
                _end_at_once(CODES[came[0]])


def _ends_within(receiver: int, seconds: float) -> bool:
    """Whether the other end of a pipe is closed in this time, whatever else comes."""
    deadline = time.monotonic() + seconds
    while select.select([receiver], [], [], max(0.0, deadline - time.monotonic()))[0]:
        if not os.read(receiver, 1):
            return True
    return False


def _end_at_once(code: int) -> NoReturn:
    from tailwise.cli.streams import remove_temporary_folders
    from tailwise.datasets.formats.drafts import remove_open_drafts

    remove_open_drafts()
    remove_temporary_folders()
    os.write(2, b"tailwise: interrupted\n")
    os._exit(code)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


@contextmanager
def signals_caught() -> Iterator[Signals]:
    """Raise KeyboardInterrupt for SIGTERM as for Ctrl-C, in the main thread only; ignored signals stay ignored."""
    signals = Signals()
    if threading.current_thread() is not threading.main_thread():
        yield signals
        return
    before = {number: signal.getsignal(number) for number in CODES}
    for number in (number for number, handler in before.items() if handler != signal.SIG_IGN):
        signal.signal(number, signals.note)
    try:
        with nullcontext() if os.name == "nt" else _watched(signals):
            yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _watched(signals: Signals) -> Iterator[None]:
    """Watch for signals in a thread; not on Windows, which has no pipe that a signal could be written to."""
    receiver, sender = os.pipe()
    os.set_blocking(sender, False)
    wakeup = signal.set_wakeup_fd(sender, warn_on_full_buffer=False)
    watcher = threading.Thread(target=signals.watch, args=(receiver,), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(wakeup)
        os.close(sender)  # which ends the watcher
        watcher.join()
        os.close(receiver)
