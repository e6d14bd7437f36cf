"""Writing a file so that it is there whole or not at all, and never in place of one that nobody wanted replaced."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import BinaryIO

from tailwise.datasets.formats.drafts import drafted
from tailwise.errors import FileError, InputError, TailwiseError

__all__ = [
    "check_name",
    "check_place",
    "errors_told_of",
    "file_errors_of",
    "keep_beside",
    "place_new",
    "real",
    "written_beside",
]

NO_LINKS = {errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK, errno.EINVAL}


def check_name(path: str | os.PathLike[str]) -> None:
    """Refuse what names no file on any system; a number would be taken for an open file, which would be closed."""
    if not isinstance(path, (str, os.PathLike)):
        msg = f"path must be a str or a PathLike, the name of a file. Got {path!r:.80}."
        raise InputError(msg)
    if "\0" in os.fsdecode(path):
        msg = f"path must not contain the NUL character. Got {os.fsdecode(path)!r}. Remove it."
        raise FileError(msg)


def check_place(path: str | os.PathLike[str]) -> None:
    """Refuse a path where no file can be written: a missing or closed folder, or something that is no file."""
    target = real(path)
    if os.path.exists(target) and not os.path.isfile(target):
        came = "a directory" if target.is_dir() else "no regular file"
        msg = f"path must name a file. Got {path}, which is {came}. Give the name of a file."
        raise FileError(msg)
    if not os.path.isdir(target.parent):
        msg = f"path must lie in a folder that exists. Got {path}, but {target.parent} is no folder. Create it first."
        raise FileError(msg)
    if not os.access(target.parent, os.W_OK | os.X_OK):
        msg = f"path must lie in a folder that may be written. Got {path}: permission denied. Choose another folder."
        raise FileError(msg)


@contextmanager
def written_beside(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a draft in the target's folder; move it into place at the end, or remove it after any failure."""
    check_place(path)
    target = real(path)
    with file_errors_of(path), drafted(target.parent) as draft:
        with open(draft / "file", "xb") as file:
            yield file
        os.replace(draft / "file", target)


@contextmanager
def file_errors_of(path: str | os.PathLike[str]) -> Iterator[None]:
    """What the system refuses while something is written becomes a FileError."""
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        msg = f"{path} could not be written: {error.strerror or error}. Free the space or choose another folder."
        raise FileError(msg) from error


@contextmanager
def errors_told_of(path: str | os.PathLike[str], draft: Path) -> Iterator[None]:
    """Errors about a draft speak of the path that the user gave."""
    try:
        yield
    except TailwiseError as error:
        told = str(error).replace(str(draft), os.fspath(path))
        if told == str(error):
            raise
        raise type(error)(told) from error


def place_new(draft: Path, target: Path) -> None:
    """Move a file or folder to a name that is free; FileExistsError where something has it already."""
    if os.name == "nt" or draft.is_dir():
        if target.exists():  # an empty folder would be replaced
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
        os.rename(draft, target)
        return
    try:
        os.link(draft, target)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        with open(target, "xb"):  # the next best: the name is taken, if only by an empty file for a moment
            pass
        try:
            os.replace(draft, target)
        except OSError:
            target.unlink()
            raise
    else:
        draft.unlink()


def keep_beside(draft: Path, target: Path) -> Path:
    """Move a result whose place was taken to a free name beside it; gives that name."""
    for number in count(1):
        kept = target.with_name(f"kept-{target.name}" if number == 1 else f"kept-{number}-{target.name}")
        try:
            place_new(draft, kept)
        except FileExistsError:
            continue
        return kept
    raise AssertionError


def real(path: str | os.PathLike[str]) -> Path:
    """The file or folder behind a link, so that replacing it leaves the link in place."""
    check_name(path)
    return Path(os.path.realpath(path))
