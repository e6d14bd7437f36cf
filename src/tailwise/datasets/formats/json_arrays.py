"""JSON: an array of records, one per entry, or of objects that hold the labels of an instance each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tailwise.datasets.formats.annif import read_hits
from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.disk import written_text
from tailwise.datasets.formats.jsonl import read_instance
from tailwise.datasets.formats.ordered_rows import ListedRow, collect_rows, refuse_empty
from tailwise.datasets.formats.records import list_records, load_json, open_records
from tailwise.datasets.formats.table_entries import read_long

__all__ = ["read_json", "write_json"]


def read_json(path: Any, columns: Any = None) -> Contents:
    """Read the entries as a matrix."""
    records = load_json(path)
    if not records:
        refuse_empty(path)
    first = records[0]
    if columns is None and isinstance(first, dict) and any(isinstance(value, list) for value in first.values()):
        return next(collect_rows(path, _list_rows(path, records)))
    return read_long(open_records(path, lambda: enumerate(records, 1), columns))


def _list_rows(path: Any, records: list[Any]) -> Iterator[ListedRow]:
    for number, record in enumerate(records, 1):
        hits = read_hits(path, number, record) if isinstance(record, dict) and "labels" not in record else None
        yield hits if hits is not None else read_instance(path, number, record, json.dumps(record).encode())


def write_json(path: Any, contents: Contents) -> None:
    """Write an array of records, one line each."""
    with written_text(path) as file:
        file.write(b"[\n")
        for number, line in enumerate(list_records([contents])):
            file.write((b",\n" if number else b"") + line)
        file.write(b"\n]\n")
