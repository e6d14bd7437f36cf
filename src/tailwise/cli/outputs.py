"""Where commands write: files and folders that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tailwise.errors import FileError

__all__ = ["check_new_file", "check_new_folder", "folder_written_beside"]

RECORD = "run.json"


def check_new_file(path: str, *, overwrite: bool) -> None:
    """Refuse a path that no file can be, or without `overwrite` should be, written to; for before long work."""
    from tailwise.datasets.writing import check_place

    check_place(path)
    if not overwrite and os.path.exists(path):
        msg = f"The output must not exist yet. Got {path}, which does. Use --overwrite to replace it."
        raise FileError(msg)


def check_new_folder(path: str, *, overwrite: bool) -> None:
    """Refuse a path that no folder can be written to; one that exists must be the output of an earlier run."""
    target = Path(path)
    if target.exists():
        if not overwrite:
            msg = f"The output must not exist yet. Got {path}, which does. Use --overwrite to replace it."
            raise FileError(msg)
        if not (target / RECORD).is_file():
            msg = (
                f"Only the folder of an earlier run, with {RECORD} in it, is replaced. Got {path}. Choose another one."
            )
            raise FileError(msg)
    parent = target.absolute().parent
    if not parent.is_dir():
        msg = f"The output must lie in a folder that exists. Got {path}, but {parent} is no folder. Create it first."
        raise FileError(msg)
    if not os.access(parent, os.W_OK | os.X_OK):
        msg = f"The output must lie in a folder that may be written. Got {path}: permission denied."
        raise FileError(msg)


@contextmanager
def folder_written_beside(path: str) -> Iterator[Path]:
    """A draft folder beside the target; moved into its place at the end, or removed after any failure."""
    target = Path(path).absolute()
    draft = target.with_name(f".tailwise-{secrets.token_hex(8)}.part")
    old = target.with_name(f".tailwise-{secrets.token_hex(8)}.old")
    try:
        draft.mkdir()
        yield draft
        if target.exists():
            os.replace(target, old)
        os.replace(draft, target)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        msg = f"{path} could not be written: {error.strerror or error}. Free the space or choose another folder."
        raise FileError(msg) from error
    finally:
        if old.exists() and not target.exists():  # the second move failed
            os.replace(old, target)
        for folder in (draft, old):
            shutil.rmtree(folder, ignore_errors=True)
