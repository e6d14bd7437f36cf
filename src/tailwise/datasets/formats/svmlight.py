"""svmlight text: `l1,l2 f:v f:v ...`, one instance per line, without a header; comments begin with #.

Features keep their numbers: if a file numbers them from 1, column 0 stays empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.disk import opened_text, written_text
from tailwise.datasets.formats.ordered_rows import ANY, check_numbers, refuse_empty
from tailwise.datasets.formats.text import (
    TextRows,
    join_lines,
    label_words,
    labelled_contents,
    pair_words,
    parse_blocks,
)
from tailwise.kernels.parsing import LineRules

__all__ = ["read_svmlight", "read_svmlight_blocks", "starts_svmlight", "write_svmlight"]

RULES = LineRules(has_labels=True, skips_blank=True, label_limit=ANY, column_limit=ANY)


def starts_svmlight(head: bytes) -> bool:
    """Whether some line begins with a word that is not a pair."""
    words = (line.split(None, 1) for line in head.split(b"\n"))
    return any(first and b":" not in first[0] and not first[0].startswith(b"#") for first in words)


def read_svmlight(path: Any) -> Contents:
    """Read features and labels; the largest numbers determine the sizes."""
    with opened_text(path) as file:
        parts = list(parse_blocks(file, path, RULES))
    if not sum(part.pair_counts.size for part in parts):
        refuse_empty(path)
    rows = TextRows.joined(parts)
    return labelled_contents(rows, *_Widths(path).grown(rows), is_open=True)


def read_svmlight_blocks(path: Any) -> Iterator[Contents]:
    """Like `read_svmlight`, in blocks, each as wide as the largest number so far."""
    widths = _Widths(path)
    with opened_text(path) as file:
        for rows in parse_blocks(file, path, RULES):
            if rows.pair_counts.size:
                yield labelled_contents(rows, *widths.grown(rows), is_open=True)


def write_svmlight(path: Any, contents: Contents) -> None:
    """Write features and labels; an empty instance gets a feature of value 0, because blank lines are skipped."""
    assert contents.features is not None
    n = contents.matrix.shape[0]
    features = (pairs or "0:0" for pairs in pair_words(contents.features))
    with written_text(path) as file:
        file.writelines(join_lines(n, label_words(contents.matrix), features))


class _Widths:
    """The numbers of features and labels so far."""

    def __init__(self, path: Any) -> None:
        self._path, self._widths, self._sizes = path, [1, 1], [0, 0]

    def grown(self, rows: TextRows) -> list[int]:
        for x, (what, numbers) in enumerate((("feature", rows.columns), ("label", rows.labels))):
            self._widths[x] = max(self._widths[x], int(numbers.max(initial=0)) + 1)
            self._sizes[x] += numbers.size
            check_numbers(self._path, what, self._widths[x], self._sizes[x])
        return self._widths
