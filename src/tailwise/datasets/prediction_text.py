"""Predictions as text: `label:score label:score ...`, best first, an instance a line; labels are numbers or names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tailwise.datasets.contents import Contents
from tailwise.datasets.matrices import build_csr
from tailwise.datasets.opening import opened
from tailwise.datasets.row_lists import RowLists
from tailwise.datasets.text_lines import ANY, TextRows, parse_blocks, refuse_line, written_text
from tailwise.datasets.text_values import ordered_contents
from tailwise.datasets.text_writing import join_lines, pair_words
from tailwise.errors import FileError, InputError
from tailwise.kernels.parsing import LineRules

__all__ = ["read_prediction_blocks", "read_prediction_text", "starts_prediction_text", "write_prediction_text"]

RULES = LineRules(has_labels=False, skips_blank=False, label_limit=ANY, column_limit=ANY)
ROWS = 10_000
HEAD = 1 << 16


def starts_prediction_text(head: bytes) -> bool:
    """Whether every line that is not blank begins with a pair."""
    words = [first[0] for line in head.split(b"\n") if (first := line.split(None, 1))]
    return bool(words) and all(b":" in word for word in words)


def read_prediction_text(path: Any) -> Contents:
    """A matrix of scores, ranked by the order within the lines."""
    if _uses_names(path):
        return _read_names(path)
    with opened(path) as file:
        parts = list(parse_blocks(file, path, RULES))
    if not parts:
        msg = f"{path} must hold at least one instance. It is empty. Check how it was written."
        raise FileError(msg)
    return _numbered(TextRows.joined(parts), 1, path, 1)


def read_prediction_blocks(path: Any) -> Iterator[Contents]:
    """The same in pieces, each as wide as the largest label so far."""
    if _uses_names(path):
        yield from _name_blocks(path)
        return
    n_labels, line = 1, 1
    with opened(path) as file:
        for rows in parse_blocks(file, path, RULES):
            contents = _numbered(rows, n_labels, path, line)
            n_labels, line = contents.matrix.shape[1], line + rows.pair_counts.size
            yield contents


def write_prediction_text(path: Any, contents: Contents) -> None:
    """Best first: by the ranking, else by score."""
    names = None if contents.label_names is None else contents.label_names.ids
    for name in names or ():
        if not name or name.split() != [name]:
            msg = f"Label names in prediction text must be words without spaces. Got {name!r}. Use .jsonl or .parquet."
            raise InputError(msg)
    matrix = contents.matrix
    listed = build_csr(contents.values, matrix.indices, matrix.indptr, matrix.shape)
    with written_text(path) as file:
        pairs = pair_words(listed, contents.best_first(), names)
        file.writelines(join_lines(matrix.shape[0], pairs))


def _numbered(rows: TextRows, n_labels: int, path: Any, first_line: int) -> Contents:
    n_labels = max(n_labels, int(rows.columns.max(initial=0)) + 1)
    parts = rows.pair_counts, rows.columns, rows.values
    contents = ordered_contents(*parts, n_labels, path, is_ranked=True, first_line=first_line)
    return replace(contents, is_open=True)


# Names


def _uses_names(path: Any) -> bool:
    """Whether some label at the beginning of the file is no number."""
    with opened(path) as file:
        head = file.read(HEAD)
    if len(head) == HEAD:
        head = head.rpartition(b"\n")[0]
    return any(not word.rpartition(b":")[0].isdigit() for word in head.split() if b":" in word)


def _read_names(path: Any) -> Contents:
    lists = RowLists(path)
    for line, words in _lines(path):
        _append(lists, path, line, words)
    return lists.contents()


def _name_blocks(path: Any) -> Iterator[Contents]:
    lists = RowLists(path)
    for line, words in _lines(path):
        _append(lists, path, line, words)
        if lists.n_rows == ROWS:
            yield lists.contents()
            lists.clear()
    if lists.n_rows:
        yield lists.contents()


def _lines(path: Any) -> Iterator[tuple[int, list[bytes]]]:
    with opened(path) as file:
        for line, text in enumerate(file, 1):
            yield line, text.split()


def _append(lists: RowLists, path: Any, line: int, words: list[bytes]) -> None:
    labels, scores = [], []
    for word in words:
        name, mark, number = word.rpartition(b":")
        try:
            score = float(number)
        except ValueError:
            score = np.nan
        if not mark or not name or not np.isfinite(score):
            refuse_line(path, line, "a pair label:score", word.decode(errors="replace"))
        labels.append(name.decode(errors="replace"))
        scores.append(score)
    lists.append(labels, scores, line)
