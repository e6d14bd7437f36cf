"""A folder of training and test data: X.trn.npz, Y.trn.npz, X.tst.npz, Y.tst.npz and labels.txt."""

from __future__ import annotations

import os
from pathlib import Path

from tailwise.errors import FileError

__all__ = ["find_parts", "read_label_names"]

PARTS = ("X.trn.npz", "Y.trn.npz", "X.tst.npz", "Y.tst.npz", "labels.txt")


def find_parts(folder: str | os.PathLike[str], required: tuple[str, ...]) -> dict[str, Path]:
    """The files of the folder by name; those required must be there."""
    place = Path(folder)
    if not place.is_dir():
        msg = f"The data must be a folder that exists. Got {folder}. Check the spelling."
        raise FileError(msg)
    found = {name: place / name for name in PARTS if (place / name).is_file()}
    missing = [name for name in required if name not in found]
    if missing:
        msg = f"The folder {folder} must hold {', '.join(required)}. Missing: {', '.join(missing)}."
        raise FileError(msg)
    return found


def read_label_names(path: Path, n_labels: int) -> list[str]:
    """One name a line."""
    try:
        names = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{path} must be a readable text file in UTF-8. Reading it failed: {error}."
        raise FileError(msg) from error
    names = names[:-1] if names[-1] == "" else names
    if len(names) != n_labels:
        msg = f"{path} must hold one line for each of the {n_labels} labels of Y. Got {len(names)}."
        raise FileError(msg)
    return names
