"""JSON lines: `{"id": ..., "labels": [...], "scores": [...]}`, an instance a line, best label first.

`id` and `scores` may be missing: instances are then numbered, and every score is 1. Labels are numbers or names. Where
titles are known, an array `titles` says what people call the labels; it is not read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.json_text import parse_json
from tailwise.datasets.formats.opening import opened_text
from tailwise.datasets.formats.row_lists import RowLists
from tailwise.datasets.formats.text_lines import LARGEST, refuse_line, written_text
from tailwise.inputs.label_names import is_text

__all__ = ["read_jsonl", "read_jsonl_blocks", "write_jsonl"]

ROWS = 10_000
EXCERPT = 40


def read_jsonl(path: Any) -> Contents:
    """Labels and scores, ranked by their order, with the ids of the instances where there are any."""
    lists, ids = RowLists(path), []
    with opened_text(path) as file:
        for line, text in enumerate(file, 1):
            ids.append(_append(lists, path, line, text))
    return replace(lists.contents(), instance_names=_names_of(ids, 0))


def read_jsonl_blocks(path: Any) -> Iterator[Contents]:
    """The same in pieces."""
    lists, ids, first = RowLists(path), [], 0
    with opened_text(path) as file:
        for line, text in enumerate(file, 1):
            ids.append(_append(lists, path, line, text))
            if lists.n_rows == ROWS:
                yield replace(lists.contents(), instance_names=_names_of(ids, first))
                lists.clear()
                ids, first = [], line
    if ids:
        yield replace(lists.contents(), instance_names=_names_of(ids, first))


def write_jsonl(path: Any, contents: Contents) -> None:
    """Best first: by the ranking, else by score."""
    matrix, order, names = contents.matrix, contents.best_first(), contents.label_names
    ids = contents.instance_names
    with written_text(path) as file:
        for i in range(matrix.shape[0]):
            where = order[matrix.indptr[i] : matrix.indptr[i + 1]]
            labels, scores = matrix.indices[where].tolist(), _plain(contents.values[where])
            name = i if ids is None or ids[i] == str(i) else ids[i]
            record: dict[str, Any] = {"id": name, "labels": labels, "scores": scores}
            if names is not None:
                record["labels"] = [names.ids[j] for j in labels]
                if names.titles is not None:
                    record["titles"] = [names.titles[j] for j in labels]
            file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")


def _plain(values: Any) -> list[Any]:
    """Numbers as Python's own, as short as their type allows."""
    if values.dtype == np.float32:
        return [float(text) for text in values.astype(np.str_)]
    return values.astype(np.int8).tolist() if values.dtype == np.bool_ else values.tolist()


def _append(lists: RowLists, path: Any, line: int, text: bytes) -> Any:
    """Add the row of a line; gives its id, or None."""
    try:
        record = parse_json(text)
    except ValueError:
        record = None
    labels = record.get("labels") if isinstance(record, dict) else None
    if not isinstance(labels, list):
        came = text[:EXCERPT].decode(errors="replace").rstrip("\n")
        refuse_line(path, line, 'an object {"id": ..., "labels": [...], "scores": [...]}', came)
    scores = record.get("scores", [1.0] * len(labels))
    is_right = isinstance(scores, list) and len(scores) == len(labels)
    if not is_right or not all(type(score) in (int, float) and abs(score) <= LARGEST for score in scores):
        expected = f"{len(labels)} scores, as many as labels, all numbers of at most {LARGEST:.4g}"
        refuse_line(path, line, expected, str(scores)[:EXCERPT])
    lists.append(labels, scores, line)
    name = record.get("id")
    if not (name is None or type(name) is int or (type(name) is str and is_text(name))):
        refuse_line(path, line, "an id that is text or a whole number", ascii(name)[:EXCERPT])
    return name


def _names_of(ids: list[Any], first: int) -> tuple[str, ...] | None:
    """The ids as text, the number of its row for one that is missing; None where all are missing."""
    if all(each is None for each in ids):
        return None
    return tuple(str(row if each is None else each) for row, each in enumerate(ids, first))
