"""Filter files: pairs of instance and label that are excluded from an evaluation.

The Extreme Classification Repository provides them for data sets in which instances are also labels, because a
document should not be recommended for itself.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tailwise.datasets.formats.disk import opened_text, without_packing
from tailwise.datasets.formats.ordered_rows import refuse_line
from tailwise.datasets.formats.read_write import load_contents
from tailwise.errors import FileError

MOST_DIGITS = 18  # of a number that fits in 63 bits


def load_filter(path: str | os.PathLike[str]) -> NDArray:
    """Read pairs from text with one pair `instance label` per line, or from the entries of a matrix in any format.

    Returns
    -------
    ndarray of int64, shape (pairs, 2)
        Instances and labels, numbered from 0.
    """
    if is_text_filter(path):
        return _read_text(path)
    contents = load_contents(path)
    if contents.label_names is not None:
        msg = f"{path} must number its labels. It names them. Pass its path to evaluate, which matches the names."
        raise FileError(msg)
    return pairs_of(contents.matrix)


def is_text_filter(path: str | os.PathLike[str]) -> bool:
    """Whether a file holds pairs as text rather than as a matrix."""
    return without_packing(path).endswith((".txt", ".csv", ".tsv"))


def pairs_of(matrix: sp.csr_array) -> NDArray:
    """Return the instances and labels of the nonzero entries of a matrix."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return np.column_stack([rows, matrix.indices])[matrix.data != 0].astype(np.int64)


def _read_text(path: Any) -> NDArray:
    with opened_text(path) as file:
        lines = file.read().replace(b",", b" ").split(b"\n")
    pairs = []
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words:
            continue
        if len(words) != 2 or not all(word.isdigit() and len(word) <= MOST_DIGITS for word in words):
            came = line[:40].decode(errors="replace")
            refuse_line(path, number, "the numbers of an instance and a label", came)
        pairs.append((int(words[0]), int(words[1])))
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)
