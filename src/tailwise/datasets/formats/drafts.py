"""Drafts: folders next to a target for files being written, each locked by the process that writes it.

The system releases a lock whenever its process ends, so drafts of killed processes can be found and removed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tailwise.errors import FileError

__all__ = ["LOCK_FILE", "Held", "drafted", "drafted_for", "held", "is_draft", "remove_leftovers", "remove_open_drafts"]

LOCK_FILE = ".tailwise.lock"
PATTERN = ".tailwise-*.part"
CONTENT = "content"
ATTEMPTS = 10
SECONDS_TO_LOCK = 60.0  # a draft that has not been locked after this time is abandoned
# How often the removal of a draft that is being written to is tried.
ATTEMPTS = 5

_open_drafts: set[Path] = set()  # drafts held by this process


class Held(FileError):
    """Another process holds the lock."""


@contextmanager
def held(lock_file: Path, refusal: str) -> Iterator[None]:
    """Hold a lock file and remove it at the end; `refusal` is the error message if another process holds it."""
    from filelock import FileLock, Timeout

    lock = FileLock(lock_file, timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise Held(refusal) from error
    try:
        yield
    finally:
        if os.name != "nt":  # Windows cannot remove an open file; filelock removes it there
            lock_file.unlink(missing_ok=True)
        lock.release()


@contextmanager
def drafted(parent: Path) -> Iterator[Path]:
    """Yield an empty folder in a new draft; at the end, remove the draft with everything that was not moved away."""
    remove_leftovers(parent)
    with ExitStack() as stack:
        for attempt in range(ATTEMPTS):
            try:
                content = stack.enter_context(_opened(parent / f".tailwise-{secrets.token_hex(8)}.part"))
                break
            except (Held, FileNotFoundError):  # another process mistook it for a leftover before it was locked
                if attempt == ATTEMPTS - 1:
                    raise
        yield content


@contextmanager
def drafted_for(target: Path, refusal: str) -> Iterator[Path]:
    """Like `drafted`, for one process at a time; `refusal` is the error message if another one writes to the target."""
    remove_leftovers(target.parent)
    word = hashlib.sha256(target.name.encode(errors="surrogateescape")).hexdigest()[:16]
    with _opened(target.with_name(f".tailwise-{word}.part"), refusal) as content:
        yield content


def is_draft(path: Path) -> bool:
    """Whether a name is that of a draft or a lock."""
    return path.name == LOCK_FILE or path.match(PATTERN)


def remove_leftovers(parent: Path) -> None:
    """Remove the drafts in a folder that no running process holds."""
    for draft in parent.glob(PATTERN):
        with suppress(OSError):  # held by another process, already gone, or owned by another user
            if draft.is_symlink():  # a link: never created by us, and could point anywhere
                continue
            if (draft / LOCK_FILE).exists() or time.time() - draft.stat().st_mtime > SECONDS_TO_LOCK:
                with _opened(draft):
                    pass


def remove_open_drafts() -> None:
    """Remove the drafts that this process holds, because it is about to end."""
    for draft in tuple(_open_drafts):
        for _ in range(ATTEMPTS):  # another thread may still be writing to it
            shutil.rmtree(draft, ignore_errors=True)
            if not draft.exists():
                break


@contextmanager
def _opened(draft: Path, refusal: str = "The draft must not be in use.") -> Iterator[Path]:
    """Hold a draft, and empty it at the beginning and at the end."""
    content = draft / CONTENT
    draft.mkdir(exist_ok=True)
    if draft.is_symlink():
        raise FileExistsError(errno.EEXIST, "a link has the name of a draft", str(draft))
    try:
        with held(draft / LOCK_FILE, refusal):
            try:
                shutil.rmtree(content, ignore_errors=True)
                content.mkdir()
                _open_drafts.add(draft)
                yield content
            finally:
                _open_drafts.discard(draft)
                shutil.rmtree(content, ignore_errors=True)
    finally:
        with suppress(OSError):  # another process holds it and has its lock file in it
            draft.rmdir()
