"""Files of texts: one per line, or a column of CSV, TSV or JSON lines, or the texts of an Annif corpus."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from typing import Any

from tailwise.datasets.formats.annif import list_corpus, starts_corpus
from tailwise.datasets.formats.csv_tables import decode_line, read_header
from tailwise.datasets.formats.disk import input_errors_of, opened_text, parse_json, without_packing
from tailwise.errors import FileError
from tailwise.inputs.texts import check_texts

__all__ = ["COLUMN", "is_corpus", "list_column", "list_objects", "read_header_of", "read_ids", "read_texts"]

COLUMN = "text"
ID_COLUMNS = ("id", "doc_id", "document_id", "record_id")


def read_texts(path: str | os.PathLike[str], column: str = COLUMN) -> list[str]:
    """Read the texts of a file, in order; `column` is the column of a table or the key of JSON lines."""
    kind = os.path.splitext(without_packing(path))[1]
    if kind == ".jsonl":
        texts = [record[column] for _, record in list_objects(path, column)]
    elif kind == ".csv" or (kind == ".tsv" and not is_corpus(path)):
        texts = [text for text, _ in list_column(path, column)]
    else:
        texts = [text for text, _ in list_corpus(path)] if kind == ".tsv" else list(_read_lines(path))
        _refuse_blank_lines(path, texts)
    with input_errors_of(path):
        return check_texts(texts)


def read_ids(path: str | os.PathLike[str], column: str = COLUMN) -> list[str] | None:
    """Read the ids of the texts of a file, from a column or key named id, doc_id, document_id or record_id.

    None if there is no such column, or if ids are missing or repeated.
    """
    kind = os.path.splitext(without_packing(path))[1]
    ids: list[Any] = []
    if kind == ".jsonl":
        records = [record for _, record in list_objects(path, column)]
        own = next((name for name in ID_COLUMNS if records and name in records[0]), None)
        ids = [] if own is None else [record.get(own) for record in records]
    elif kind == ".csv" or (kind == ".tsv" and not is_corpus(path)):
        header = read_header_of(path)
        own = next((name for name in ID_COLUMNS if name in header), None)
        ids = [] if own is None else [found for _, found in list_column(path, column, own)]
    words = [str(each).strip() for each in ids if isinstance(each, (str, int)) and str(each).strip()]
    return words if words and len(set(words)) == len(ids) else None


def list_objects(path: Any, column: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of JSON lines that have a key, with their line numbers."""
    for number, line in enumerate(_read_lines(path), 1):
        try:
            record = parse_json(line)
            record[column]
        except (ValueError, KeyError, TypeError) as error:
            msg = f"{path}, line {number}: expected a JSON object with the key {column!r}. Got {line[:60]!r}. Fix it."
            raise FileError(msg) from error
        yield number, record


def list_column(path: Any, column: str, other: str | None = None) -> Iterator[tuple[str, str]]:
    """Yield the fields of one or two columns of a table; "" where a row is too short."""
    header, mark = read_header(path)
    if column not in header:
        msg = f"{path} must have the column {column!r}. It has {', '.join(header)}. Rename one, or choose another."
        raise FileError(msg)
    place, second = header.index(column), len(header) if other is None else header.index(other)
    with opened_text(path) as file:
        rows = csv.reader((decode_line(path, line) for line in file), delimiter=mark)
        for row in list(rows)[1:]:
            if row:
                yield row[place] if place < len(row) else "", row[second] if second < len(row) else ""


def read_header_of(path: Any) -> list[str]:
    """Return the names of the columns of a table."""
    return read_header(path)[0]


def _refuse_blank_lines(path: Any, texts: list[str]) -> None:
    number = next((number for number, text in enumerate(texts, 1) if not text.strip()), None)
    if number is not None:
        msg = (
            f"{path}, line {number}: expected a text, one line for each instance. Got none. "
            "Write 'untitled', or remove the instance from all files."
        )
        raise FileError(msg)


def is_corpus(path: Any) -> bool:
    """Whether the first line is that of an Annif corpus."""
    with opened_text(path) as file:
        return starts_corpus(file.readline())


def _read_lines(path: Any) -> Iterator[str]:
    with opened_text(path) as file:
        for line in file:
            yield decode_line(path, line).rstrip("\n")
