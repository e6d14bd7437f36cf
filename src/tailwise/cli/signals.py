"""Ctrl-C and SIGTERM end a command in the same way: soon, and after the clean-up of a KeyboardInterrupt."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType

from tailwise.cli.exit_codes import CODES, INTERRUPTED

PATIENCE = 0.6  # seconds within which the interpreter must handle a signal
PAUSE = 0.05  # seconds until a signal that arrived during an import is sent again


class Signals:
    """Handles Ctrl-C and SIGTERM, and remembers which one arrived."""

    def __init__(self) -> None:
        self.number: int | None = None
        self.may_end_at_once = True  # whether nothing is lost if the process ends in the middle of compiled code
        self._noted = threading.Event()

    def code_for(self, code: int) -> int:
        """Return the exit code of a command that ended with `code`: the same, unless SIGTERM interrupted it."""
        return CODES[self.number] if code == INTERRUPTED and self.number is not None else code

    def note(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal between two steps of the interpreter; not during imports, where libraries may swallow it."""
        self.number = number
        if _is_importing(frame):
            threading.Timer(PAUSE, signal.raise_signal, [number]).start()
            return
        self._noted.set()
        raise KeyboardInterrupt

    def watch(self, receiver: int) -> None:
        """End the process on a signal that the interpreter does not handle because it is in compiled code."""
        while came := os.read(receiver, 1):
            if came[0] in CODES and not self._noted.wait(PATIENCE) and self.may_end_at_once:
                from tailwise.cli.streams import remove_temporary_folders
                from tailwise.datasets.formats.drafts import remove_open_drafts

                remove_open_drafts()
                remove_temporary_folders()
                os.write(2, b"tailwise: interrupted\n")
                os._exit(CODES[came[0]])


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
