"""Writing a file, or a folder, so that it is there whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tailwise.errors import FileError

__all__ = ["check_place", "folder_written_beside", "written_beside"]


def check_place(path: str | os.PathLike[str]) -> None:
    """Refuse a path where no file can be written: a missing or closed folder, or something that is no file."""
    target = _real(path)
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
    target = _real(path)
    draft = target.with_name(f".tailwise-{secrets.token_hex(8)}.part")
    try:
        with open(draft, "xb") as file:
            yield file
        os.replace(draft, target)
    except OSError as error:
        msg = f"{path} could not be written: {error.strerror or error}. Free the space or choose another folder."
        raise FileError(msg) from error
    finally:
        draft.unlink(missing_ok=True)  # gone already where the move took place


@contextmanager
def folder_written_beside(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A draft folder beside the target; it takes the target's place at the end, or is removed after any failure."""
    target = _real(path)
    draft = target.with_name(f".tailwise-{secrets.token_hex(8)}.part")
    old = draft.with_suffix(".old")
    try:
        draft.mkdir()
        yield draft
        if target.exists():
            os.replace(target, old)
        os.replace(draft, target)
    except FileError:
        raise
    except OSError as error:
        msg = f"{path} could not be written: {error.strerror or error}. Free the space or choose another folder."
        raise FileError(msg) from error
    finally:
        if old.exists() and not target.exists():  # the second move failed
            os.replace(old, target)
        for leftover in (draft, old):
            shutil.rmtree(leftover, ignore_errors=True)


def _real(path: str | os.PathLike[str]) -> Path:
    """The file or folder behind a link, so that replacing it leaves the link in place."""
    return Path(os.path.realpath(path))
