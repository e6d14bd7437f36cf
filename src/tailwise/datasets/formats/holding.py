"""Locks between processes: whoever writes holds one, and the system lets go of it when the process ends, however."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tailwise.errors import FileError

__all__ = ["LOCK_FILE", "Held", "held"]

LOCK_FILE = ".tailwise.lock"


class Held(FileError):
    """Another process holds the lock."""


@contextmanager
def held(lock_file: Path, refusal: str) -> Iterator[None]:
    """Hold a lock file, and remove it at the end; `refusal` says in words that another process holds it."""
    from filelock import FileLock, Timeout

    lock = FileLock(lock_file, timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise Held(refusal) from error
    try:
        yield
    finally:
        if os.name != "nt":  # Windows removes no open file, and filelock does it there
            lock_file.unlink(missing_ok=True)
        lock.release()
