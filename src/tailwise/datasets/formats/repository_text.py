"""Text of the Extreme Classification Repository.

A file of features and labels begins with `n d m`, followed by one line `l1,l2 f:v f:v ...` per instance; the list of
labels may be empty. In the split form, features and labels have a file each, which begins with `n m`, followed by one
line `j:v j:v ...` per instance. Numbering starts at 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.disk import opened_text, written_text
from tailwise.datasets.formats.ordered_rows import ANY, ordered_contents, refuse_line
from tailwise.datasets.formats.text import (
    EXCERPT,
    TextRows,
    join_lines,
    label_words,
    labelled_contents,
    pair_words,
    parse_blocks,
)
from tailwise.errors import FileError
from tailwise.kernels.parsing import LineRules

__all__ = [
    "read_repository_blocks",
    "read_repository_text",
    "read_split_blocks",
    "read_split_text",
    "starts_repository_text",
    "starts_split_text",
    "write_repository_text",
    "write_split_text",
]


def starts_repository_text(head: bytes) -> bool:
    """Whether the first line is `n d m`."""
    return len(_integers(head.partition(b"\n")[0])) == 3


def starts_split_text(head: bytes) -> bool:
    """Whether the first line is `n m`."""
    return len(_integers(head.partition(b"\n")[0])) == 2


def read_repository_text(path: Any) -> Contents:
    """Read features and labels."""
    return labelled_contents(TextRows.joined(rows for _, rows in _blocks(path, 3)), *_header_of(path, 3)[1:])


def read_repository_blocks(path: Any) -> Iterator[Contents]:
    """Like `read_repository_text`, in blocks."""
    for (_, d, m), rows in _blocks(path, 3):
        yield labelled_contents(rows, d, m)


def read_split_text(path: Any) -> Contents:
    """Read a matrix, ranked by the order of the pairs if values decrease in that order."""
    rows = TextRows.joined(rows for _, rows in _blocks(path, 2))
    return _scored(rows, _header_of(path, 2)[1], path, 2)


def read_split_blocks(path: Any) -> Iterator[Contents]:
    """Like `read_split_text`, in blocks."""
    line = 2
    for (_, m), rows in _blocks(path, 2):
        yield _scored(rows, m, path, line)
        line += rows.pair_counts.size


def write_repository_text(path: Any, contents: Contents) -> None:
    """Write features and labels."""
    features, labels = contents.features, contents.matrix
    assert features is not None
    n, d = features.shape
    with written_text(path) as file:
        file.write(b"%d %d %d\n" % (n, d, labels.shape[1]))
        file.writelines(join_lines(n, label_words(labels), pair_words(features)))


def write_split_text(path: Any, contents: Contents) -> None:
    """Write a matrix, with ascending labels."""
    matrix = contents.matrix
    with written_text(path) as file:
        file.write(b"%d %d\n" % matrix.shape)
        file.writelines(join_lines(matrix.shape[0], pair_words(matrix)))


def _scored(rows: TextRows, n_labels: int, path: Any, first_line: int) -> Contents:
    parts = rows.pair_counts, rows.columns, rows.values
    return ordered_contents(*parts, n_labels, path, is_ranked=None, first_line=first_line)


def _header_of(path: Any, size: int) -> tuple[int, ...]:
    with opened_text(path) as file:
        return _read_header(file, path, size)


def _read_header(file: BinaryIO, path: Any, size: int) -> tuple[int, ...]:
    line = file.readline(10_000)
    numbers = _integers(line)
    came = line[:EXCERPT].decode(errors="replace").rstrip("\n")
    if len(numbers) != size:
        meaning = "instances, features and labels" if size == 3 else "instances and labels"
        refuse_line(path, 1, f"the numbers of {meaning}", came)
    if not all(0 < number <= ANY for number in numbers):
        refuse_line(path, 1, f"numbers from 1 to {ANY}", came)
    return numbers


def _integers(line: bytes) -> tuple[int, ...]:
    words = line.split()
    return tuple(int(word) for word in words) if all(word.isdigit() and len(word) < 20 for word in words) else ()


def _blocks(path: Any, size: int) -> Iterator[tuple[tuple[int, ...], TextRows]]:
    """Yield the header with each block of rows; check the number of rows, ignoring blank lines at the end."""
    with opened_text(path) as file:
        header = _read_header(file, path, size)
        rules = LineRules(has_labels=size == 3, skips_blank=False, label_limit=header[-1], column_limit=header[1])
        missing, surplus = header[0], 0
        for rows in parse_blocks(file, path, rules, first_line=2):
            kept = min(missing, rows.pair_counts.size)
            if (rows.label_counts[kept:] + rows.pair_counts[kept:]).any():
                surplus += rows.pair_counts.size - kept
            missing -= kept
            if kept:
                yield header, rows if kept == rows.pair_counts.size else rows.slice(0, kept)
    if missing or surplus:
        came = header[0] - missing + surplus
        msg = f"{path} must hold {header[0]:,} instances, as its first line states. Got {came:,} lines after it."
        raise FileError(msg)
