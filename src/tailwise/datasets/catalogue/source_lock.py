"""The lock file of a data set: where it came from, and the checksums that it had then."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tailwise.datasets.formats.json_text import parse_json
from tailwise.datasets.formats.opening import opened
from tailwise.datasets.formats.writing import check_name, written_beside
from tailwise.errors import FileError

__all__ = ["LOCK", "check_digest", "digest_of", "read_lock", "verify_folder", "write_lock"]

LOCK = "tailwise-lock.json"
PIECE = 1 << 20


def digest_of(path: str | os.PathLike[str], kind: str = "sha256") -> str:
    """The checksum of a file, in hexadecimal."""
    check_name(path)
    digest = hashlib.new(kind, usedforsecurity=False)
    try:
        with open(path, "rb") as file:
            while piece := file.read(PIECE):
                digest.update(piece)
    except OSError as error:
        msg = f"{path} must be a file that may be read. Reading it failed: {error.strerror}. Check its permissions."
        raise FileError(msg) from error
    return digest.hexdigest()


def check_digest(path: str | os.PathLike[str], expected: str, whose: str, remedy: str, kind: str = "sha256") -> None:
    """Refuse a file with another checksum than expected."""
    came = digest_of(path, kind)
    if came != expected.lower():
        rule = f"{path} must have the {kind} {expected.lower()}, {whose}"
        msg = f"{rule}. Got {came}. It is damaged or has changed: {remedy}."
        raise FileError(msg)


def read_lock(folder: str | os.PathLike[str]) -> dict[str, Any] | None:
    """What a folder's lock file says; None where there is none."""
    path = Path(folder, LOCK)
    if not path.exists():
        return None
    with opened(path) as file:
        text = file.read()
    try:
        lock = parse_json(text)
    except ValueError:
        lock = None
    if not _is_lock(lock):
        msg = (
            f"{path} must be a lock file that tailwise wrote. It is damaged. "
            "Delete it to use the data unchecked, or get them again, into another folder."
        )
        raise FileError(msg)
    return lock


def _is_lock(lock: Any) -> bool:
    if not isinstance(lock, dict) or not isinstance(lock.get("files"), dict):
        return False
    return all(isinstance(each, str) for each in (lock.get("name"), lock.get("sha256", ""), *lock["files"].values()))


def write_lock(folder: Path, files: Iterable[str], **facts: Any) -> None:
    """Record facts about a data set and the checksum of each of its files; a lock file among them is replaced."""
    lock = {**facts, "files": {name: digest_of(folder / name) for name in sorted(files) if name != LOCK}}
    with written_beside(folder / LOCK) as file:
        file.write(json.dumps(lock, indent=2).encode() + b"\n")


def verify_folder(folder: str | os.PathLike[str], lock: dict[str, Any]) -> int:
    """Compare every file with its recorded checksum; gives how many there are."""
    for name, expected in lock["files"].items():
        check_name(name)
        path = Path(folder, name)
        if not os.path.isfile(path):  # unlike Path.is_file, also for names that no file can have
            msg = f"{folder} must hold the file {name} that its lock file lists. It is missing. Get the data again."
            raise FileError(msg)
        check_digest(path, expected, "recorded when it was unpacked", "get the data again")
    return len(lock["files"])
