"""Rows of numbers as lines of text, in slices, so that a large matrix needs little memory besides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["join_lines", "label_words", "pair_words"]

ROWS = 10_000


def join_lines(n: int, *fields: Iterator[str]) -> Iterator[bytes]:
    """One line for each row from the fields of each row, in pieces of many lines."""
    lines = []
    for i, words in enumerate(zip(*fields, strict=True)):
        lines.append(" ".join(words))
        if len(lines) == ROWS or i == n - 1:
            yield ("\n".join(lines) + "\n").encode()
            lines.clear()


def label_words(matrix: sp.csr_array) -> Iterator[str]:
    """For each row its labels, separated by commas."""
    for i in range(matrix.shape[0]):
        yield ",".join(map(str, matrix.indices[matrix.indptr[i] : matrix.indptr[i + 1]].tolist()))


def pair_words(matrix: sp.csr_array, order: NDArray | None = None, names: Sequence[str] | None = None) -> Iterator[str]:
    """For each row its pairs column:value; in another order, or with names for numbers, where given.

    Numbers are as short as their type allows without becoming other numbers.
    """
    for start in range(0, matrix.shape[0], ROWS):
        indptr = matrix.indptr[start : start + ROWS + 1]
        where = slice(indptr[0], indptr[-1]) if order is None else order[indptr[0] : indptr[-1]]
        columns = matrix.indices[where].tolist()
        values = _as_text(matrix.data[where])
        words = columns if names is None else [names[j] for j in columns]
        pairs = [f"{word}:{value}" for word, value in zip(words, values, strict=True)]
        offsets = (indptr - indptr[0]).tolist()
        for a, b in pairwise(offsets):
            yield " ".join(pairs[a:b])


def _as_text(values: NDArray) -> list[str]:
    if values.dtype.kind != "f":
        return [str(int(value)) for value in values.tolist()]
    return [text.removesuffix(".0") for text in values.astype(np.str_).tolist()]
