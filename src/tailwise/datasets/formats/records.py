"""JSON records: an object per entry, with an instance, a label and its probability."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.disk import opened_text, parse_json, written_text
from tailwise.datasets.formats.ordered_rows import refuse_line
from tailwise.datasets.formats.table_entries import LongFile, find_columns
from tailwise.datasets.formats.table_rows import ROWS, list_rows
from tailwise.datasets.formats.text import EXCERPT, LARGEST
from tailwise.errors import FileError
from tailwise.inputs.label_names import is_text

__all__ = [
    "list_lines",
    "list_records",
    "load_json",
    "open_json_lines",
    "open_records",
    "write_records",
    "write_records_blocks",
]


def load_json(path: Any) -> list[Any]:
    """Read a file that holds an array."""
    with opened_text(path) as file:
        text = file.read()
    try:
        found = parse_json(text)
    except ValueError as error:
        msg = f"{path} must hold an array of JSON objects. Reading it failed: {error}. Write the file again."
        raise FileError(msg) from error
    if not isinstance(found, list):
        msg = f"{path} must hold an array of JSON objects. Got {text[:EXCERPT]!r}. For one object per line, use .jsonl."
        raise FileError(msg)
    return found


def list_lines(path: Any) -> Iterator[tuple[int, Any]]:
    """Yield the objects of JSON lines with their line numbers."""
    with opened_text(path) as file:
        for line, text in enumerate(file, 1):
            try:
                yield line, parse_json(text)
            except ValueError:
                refuse_line(path, line, "a JSON object", text[:EXCERPT].decode(errors="replace").rstrip("\n"))


def open_json_lines(path: Any, columns: Any = None) -> LongFile:
    """Open a file with a record per entry in each line."""
    return open_records(path, lambda: list_lines(path), columns)


def open_records(path: Any, records: Any, given: Any = None) -> LongFile:
    """Open records with a row per entry; each call of `records` yields them from the start, with their numbers."""
    first: Any = next(iter(records()), (1, {}))[1]
    if not isinstance(first, dict):
        refuse_line(path, 1, "an object", str(first)[:EXCERPT])
    columns, is_plain, messages = find_columns(path, list(first), given)

    def read_batches(as_text: frozenset[str]) -> Iterator[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        for number, record in records():
            rows.append(_check(path, number, record, columns))
            if len(rows) == ROWS:
                yield _columns_of(rows, columns, as_text)
                rows = []
        yield _columns_of(rows, columns, as_text)

    return LongFile(path, columns, is_plain, {}, read_batches, messages=messages)


def _check(path: Any, number: int, record: Any, columns: dict[str, str]) -> dict[str, Any]:
    if not isinstance(record, dict):
        refuse_line(path, number, "an object", str(record)[:EXCERPT])
    label = record.get(columns["label"])
    is_empty = label is None and record.get(columns.get("probability", "")) is None
    for part, column in columns.items():
        value: Any = record.get(column)
        if part in ("instance", "label"):
            is_right = type(value) is int or (type(value) is str and value != "" and is_text(value))
            if not (is_right or (is_empty and part == "label")):
                refuse_line(path, number, f"an id, text or an integer, in {column!r}", ascii(value)[:EXCERPT])
        elif not is_empty and not (type(value) in (int, float) and abs(value) <= LARGEST):
            refuse_line(path, number, f"a number in {column!r}", ascii(value)[:EXCERPT])
    return record


def _columns_of(rows: list[dict[str, Any]], columns: dict[str, str], as_text: frozenset[str]) -> dict[str, Any]:
    is_empty = np.array([row.get(columns["label"]) is None for row in rows], dtype=bool)
    parts: dict[str, Any] = {"is_empty": is_empty} if is_empty.any() else {}
    kept = [row for row, empty in zip(rows, is_empty, strict=True) if not empty]
    for part, column in columns.items():
        values: Any = [row[column] for row in (rows if part == "instance" else kept)]
        if part in ("probability", "rank"):
            values = np.array(values, dtype=np.float32 if part == "probability" else np.float64)
        parts[part] = [str(value) for value in values] if part in as_text else values
    return parts


def write_records(path: Any, contents: Contents) -> None:
    """Write a record per line."""
    write_records_blocks(path, [contents])


def write_records_blocks(path: Any, blocks: Iterable[Contents]) -> None:
    """Like `write_records`, block by block."""
    with written_text(path) as file:
        file.writelines(line + b"\n" for line in list_records(blocks))


def list_records(blocks: Iterable[Contents]) -> Iterator[bytes]:
    """Yield the entries as records, in the order of their instances, best first."""
    for rows in list_rows(blocks):
        for record in rows.records:
            entry = dict(zip(rows.names, record, strict=True))
            yield json.dumps(entry, ensure_ascii=False, default=str).encode()
