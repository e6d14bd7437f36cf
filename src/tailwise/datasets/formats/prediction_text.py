"""Prediction text: `label:score label:score ...`, one instance per line, best first; labels are numbers or names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.disk import opened_text, written_text
from tailwise.datasets.formats.ordered_rows import (
    ANY,
    ListedRow,
    check_numbers,
    collect_rows,
    ordered_contents,
    refuse_empty,
    refuse_line,
)
from tailwise.datasets.formats.text import COMMAS, LARGEST, SPACES, TextRows, join_lines, pair_words, parse_blocks
from tailwise.errors import InputError
from tailwise.inputs.matrices import build_csr
from tailwise.kernels.parsing import LineRules

__all__ = [
    "check_names",
    "read_prediction_blocks",
    "read_prediction_text",
    "starts_prediction_text",
    "write_prediction_text",
]

RULES = LineRules(has_labels=False, skips_blank=False, label_limit=ANY, column_limit=ANY)
ROWS = 10_000


def starts_prediction_text(head: bytes) -> bool:
    """Whether every non-blank line begins with a pair, the first one with a numeric score; or all lines are blank."""
    words = [first[0] for line in head.split(b"\n") if (first := line.split(None, 1))]
    if not words:
        return head != b""
    return _as_number(words[0].rstrip(b",").rpartition(b":")[2]) is not None and all(b":" in word for word in words)


def read_prediction_text(path: Any) -> Contents:
    """Read a matrix of scores, ranked by the order within the lines."""
    if _uses_names(path):
        return next(collect_rows(path, _list_rows(path)))
    with opened_text(path) as file:
        parts = list(parse_blocks(file, path, RULES))
    if not parts:
        refuse_empty(path)
    rows = TextRows.joined(parts)
    return _numbered(rows, 1, path, 1, rows.columns.size)


def read_prediction_blocks(path: Any) -> Iterator[Contents]:
    """Like `read_prediction_text`, in blocks, each as wide as the largest label so far."""
    if _uses_names(path):
        yield from collect_rows(path, _list_rows(path), ROWS)
        return
    n_labels, line, n_entries = 1, 1, 0
    with opened_text(path) as file:
        for rows in parse_blocks(file, path, RULES):
            n_entries += rows.columns.size
            contents = _numbered(rows, n_labels, path, line, n_entries)
            n_labels, line = contents.matrix.shape[1], line + rows.pair_counts.size
            yield contents


def write_prediction_text(path: Any, contents: Contents) -> None:
    """Write labels best first: by rank, otherwise by score."""
    names = None if contents.label_names is None else contents.label_names.texts
    check_names(names or ())
    matrix = contents.matrix
    listed = build_csr(contents.values, matrix.indices, matrix.indptr, matrix.shape)
    with written_text(path) as file:
        pairs = pair_words(listed, contents.best_first(), names)
        file.writelines(join_lines(matrix.shape[0], pairs))


def check_names(names: Sequence[str]) -> None:
    """Refuse names that could not be read back."""
    for name in names:
        if not name or name.split() != [name]:
            msg = f"Label names in prediction text must be words without spaces. Got {name!r}. Use .jsonl or .parquet."
            raise InputError(msg)
        if COMMAS.search(name.encode()):
            rule = "must not contain a number between a colon and a comma"
            msg = f"Label names in prediction text {rule}. Got {name!r}. Use .jsonl or .parquet."
            raise InputError(msg)
        if _as_number(name.encode()) is not None:
            msg = f"Label names in prediction text must not be numbers. Got {name!r}. Use .jsonl or .parquet."
            raise InputError(msg)


def _numbered(rows: TextRows, n_labels: int, path: Any, first_line: int, n_entries: int) -> Contents:
    n_labels = max(n_labels, int(rows.columns.max(initial=0)) + 1)
    check_numbers(path, "label", n_labels, n_entries)
    parts = rows.pair_counts, rows.columns, rows.values
    contents = ordered_contents(*parts, n_labels, path, first_line=first_line)
    return replace(contents, is_open=True)


# Names


def _uses_names(path: Any) -> bool:
    """Whether the labels of the file are names, judged by the first one."""
    with opened_text(path) as file:
        first = next((words[0] for line in file if (words := line.split(None, 1))), b"0:0")
    return _as_number(first.rpartition(b":")[0]) is None


def _list_rows(path: Any) -> Iterator[ListedRow]:
    with opened_text(path) as file:
        for line, text in enumerate(file, 1):
            pairs = [_read_pair(path, line, word) for word in text.split()]
            yield ListedRow(line, [name for name, _ in pairs], [score for _, score in pairs])


def _read_pair(path: Any, line: int, word: bytes) -> tuple[str, float]:
    if COMMAS.search(word):
        refuse_line(path, line, SPACES, word.decode(errors="replace"))
    name, score = _as_text(word.rpartition(b":")[0]), _as_number(word.rpartition(b":")[2])
    if not name or score is None or not abs(score) <= LARGEST:
        refuse_line(path, line, "a pair label:score", word.decode(errors="replace"))
    return name, score


def _as_text(name: bytes) -> str | None:
    try:
        return name.decode()
    except UnicodeDecodeError:
        return None


def _as_number(word: bytes) -> float | None:
    try:
        return None if b"_" in word else float(word)  # Python also accepts underscores
    except ValueError:
        return None
