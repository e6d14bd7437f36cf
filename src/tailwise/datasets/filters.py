"""Filter files: pairs of instance and label that are left out of an evaluation.

The Extreme Classification Repository has them for data sets whose instances are labels, too: no document is a
recommendation for itself.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.datasets.opening import opened, without_gz
from tailwise.datasets.text_lines import refuse_line
from tailwise.errors import FileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["load_filter"]


def load_filter(path: str | os.PathLike[str]) -> NDArray:
    """Read pairs: text of `instance label`, one pair a line, or any file of a matrix, whose entries are the pairs.

    Returns
    -------
    ndarray of int64, shape (pairs, 2)
        Instances and labels, numbered from 0.
    """
    if without_gz(path).endswith((".txt", ".csv", ".tsv")):
        return _read_text(path)
    from tailwise.datasets.files import load

    matrix = load(path)
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return np.column_stack([rows, matrix.indices])[matrix.data != 0].astype(np.int64)


def _read_text(path: Any) -> NDArray:
    with opened(path) as file:
        lines = file.read().replace(b",", b" ").split(b"\n")
    pairs = []
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words:
            continue
        if len(words) != 2 or not (words[0].isdigit() and words[1].isdigit()):
            came = line[:40].decode(errors="replace")
            refuse_line(path, number, "two numbers, of an instance and of a label", came)
        pairs.append((int(words[0]), int(words[1])))
    try:
        return np.array(pairs, dtype=np.int64).reshape(-1, 2)
    except OverflowError as error:
        msg = f"{path} must hold numbers of instances and labels. Got one of more than 63 bits. Check the file."
        raise FileError(msg) from error
