"""Where commands may write: looked at before long work."""

from __future__ import annotations

import os
from pathlib import Path

from tailwise.errors import FileError

__all__ = ["check_new_file", "check_new_folder"]

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
