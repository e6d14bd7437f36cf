"""The lock file of a data set: where it came from, and the checksums that it had then."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tailwise.datasets.opening import opened
from tailwise.datasets.writing import written_beside
from tailwise.errors import FileError

__all__ = ["LOCK", "check_digest", "digest_of", "read_lock", "verify_folder", "write_lock"]

LOCK = "tailwise-lock.json"
PIECE = 1 << 20


def digest_of(path: str | os.PathLike[str], kind: str = "sha256") -> str:
    """The checksum of a file, in hexadecimal."""
    digest = hashlib.new(kind, usedforsecurity=False)
    with open(path, "rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()


def check_digest(path: str | os.PathLike[str], expected: str, whose: str, kind: str = "sha256") -> None:
    """Refuse a file with another checksum than expected."""
    came = digest_of(path, kind)
    if came != expected.lower():
        msg = (
            f"{path} must have the {kind} {expected.lower()}, {whose}. Got {came}. "
            "It is damaged or has changed: download it again, or give --sha256 if you trust it."
        )
        raise FileError(msg)


def read_lock(folder: str | os.PathLike[str]) -> dict[str, Any] | None:
    """What a folder's lock file says; None where there is none."""
    path = Path(folder, LOCK)
    if not path.exists():
        return None
    with opened(path) as file:
        try:
            lock = json.load(file)
            assert isinstance(lock["files"], dict)
        except (ValueError, KeyError, TypeError, AssertionError) as error:
            msg = f"{path} must be a lock file that tailwise wrote. It is damaged. Delete it, or get the data again."
            raise FileError(msg) from error
    return lock


def write_lock(folder: Path, files: Iterable[str], **facts: Any) -> None:
    """Record facts about a data set and the checksum of each of its files."""
    lock = {**facts, "files": {name: digest_of(folder / name) for name in sorted(files)}}
    with written_beside(folder / LOCK) as file:
        file.write(json.dumps(lock, indent=2).encode() + b"\n")


def verify_folder(folder: str | os.PathLike[str], lock: dict[str, Any]) -> int:
    """Compare every file with its recorded checksum; gives how many there are."""
    for name, expected in lock["files"].items():
        path = Path(folder, name)
        if not path.is_file():
            msg = f"{folder} must hold the file {name} that its lock file lists. It is missing. Get the data again."
            raise FileError(msg)
        check_digest(path, expected, "recorded when it was unpacked")
    return len(lock["files"])
