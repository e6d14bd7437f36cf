"""JSON lines: `{"id": ..., "labels": [...], "scores": [...]}`, one instance per line, best label first.

`id` and `scores` are optional: instances are then numbered, and every score is 1. Labels are numbers or names. If
titles are known, they are written to an array `titles`, which is not read back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from tailwise.datasets.formats.annif import read_hits
from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.disk import opened_text, parse_json, written_text
from tailwise.datasets.formats.ordered_rows import ListedRow, collect_rows, refuse_line
from tailwise.datasets.formats.table_rows import plain_values
from tailwise.datasets.formats.text import EXCERPT, LARGEST
from tailwise.inputs.label_names import is_text

__all__ = ["read_instance", "read_jsonl", "read_jsonl_blocks", "starts_jsonl", "write_jsonl", "write_jsonl_blocks"]

ROWS = 10_000


def starts_jsonl(head: bytes) -> bool:
    """Whether the first line does not look like a record of a single entry."""
    try:
        record = parse_json(head.split(b"\n")[0])
    except ValueError:
        return True
    is_list = isinstance(record, dict) and any(isinstance(value, list) for value in record.values())
    return is_list or not (isinstance(record, dict) and len(record) > 1)


def read_jsonl(path: Any) -> Contents:
    """Read labels and scores, ranked in the order listed, and the ids of the instances if present."""
    return next(collect_rows(path, _list_rows(path)))


def read_jsonl_blocks(path: Any) -> Iterator[Contents]:
    """Like `read_jsonl`, in blocks."""
    return collect_rows(path, _list_rows(path), ROWS)


def write_jsonl(path: Any, contents: Contents) -> None:
    """Write labels best first: by rank, otherwise by score."""
    write_jsonl_blocks(path, [contents])


def write_jsonl_blocks(path: Any, blocks: Iterable[Contents]) -> None:
    """Like `write_jsonl`, block by block."""
    n_before = 0
    with written_text(path) as file:
        for block in blocks:
            file.writelines(_lines_of(block, n_before))
            n_before += block.matrix.shape[0]


def _lines_of(contents: Contents, n_before: int) -> Iterator[bytes]:
    matrix, order, names = contents.matrix, contents.best_first(), contents.label_names
    ids = contents.instance_names
    for i in range(matrix.shape[0]):
        where = order[matrix.indptr[i] : matrix.indptr[i + 1]]
        labels, scores = matrix.indices[where].tolist(), plain_values(contents.values[where])
        name = n_before + i if ids is None else ids[i]
        record: dict[str, Any] = {"id": name, "labels": labels, "scores": scores}
        if names is not None:
            record["labels"] = [names[j] for j in labels]
            if names.titles is not None:
                record["titles"] = [names.titles[j] for j in labels]
        yield json.dumps(record, ensure_ascii=False, default=str).encode() + b"\n"


def _list_rows(path: Any) -> Iterator[ListedRow]:
    with opened_text(path) as file:
        for line, text in enumerate(file, 1):
            yield _read_row(path, line, text)


def _read_row(path: Any, line: int, text: bytes) -> ListedRow:
    try:
        record = parse_json(text)
    except ValueError:
        record = None
    hits = read_hits(path, line, record) if isinstance(record, dict) and "labels" not in record else None
    return hits if hits is not None else read_instance(path, line, record, text)


def read_instance(path: Any, line: int, record: Any, text: bytes) -> ListedRow:
    """Check an object that holds the labels of an instance; `text` is shown if it does not."""
    labels = record.get("labels") if isinstance(record, dict) else None
    if not isinstance(labels, list):
        came = text[:EXCERPT].decode(errors="replace").rstrip("\n")
        refuse_line(path, line, 'an object {"id": ..., "labels": [...], "scores": [...]}', came)
    scores = record.get("scores", [1.0] * len(labels))
    is_right = isinstance(scores, list) and len(scores) == len(labels)
    if not is_right or not all(type(score) in (int, float) and abs(score) <= LARGEST for score in scores):
        expected = f"{len(labels)} scores, one per label, all numbers of at most {LARGEST:.4g}"
        refuse_line(path, line, expected, str(scores)[:EXCERPT])
    name = record.get("id")
    if not (name is None or type(name) is int or (type(name) is str and is_text(name))):
        refuse_line(path, line, "an id that is text or an integer", ascii(name)[:EXCERPT])
    return ListedRow(line, labels, scores, name)
