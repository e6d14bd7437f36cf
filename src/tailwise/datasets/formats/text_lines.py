"""Files of texts: one per line, or a column of CSV, TSV or JSON lines, or the texts of an Annif corpus."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from typing import Any

from tailwise.datasets.formats.annif import starts_corpus
from tailwise.datasets.formats.csv_tables import decode_line, read_header
from tailwise.datasets.formats.disk import input_errors_of, opened_text, parse_json, without_packing
from tailwise.errors import FileError
from tailwise.inputs.texts import check_texts

__all__ = ["read_texts"]

COLUMN = "text"


def read_texts(path: str | os.PathLike[str], column: str = COLUMN) -> list[str]:
    """Read the texts of a file, in its order; `column` is that of tables and of JSON lines."""
    kind = os.path.splitext(without_packing(path))[1]
    if kind == ".jsonl":
        texts = list(_read_records(path, column))
    elif kind == ".csv" or (kind == ".tsv" and not _is_corpus(path)):
        texts = _read_column(path, column)
    else:
        texts = [line.rpartition("\t")[0] if kind == ".tsv" else line for line in _read_lines(path)]
        _refuse_blank_lines(path, texts)
    with input_errors_of(path):
        return check_texts(texts)


def _refuse_blank_lines(path: Any, texts: list[str]) -> None:
    number = next((number for number, text in enumerate(texts, 1) if not text.strip()), None)
    if number is not None:
        msg = (
            f"{path}, line {number}: expected a text, one line for each instance. Got none. "
            "Write 'untitled', or remove the instance from all files."
        )
        raise FileError(msg)


def _is_corpus(path: Any) -> bool:
    with opened_text(path) as file:
        return starts_corpus(file.readline())


def _read_lines(path: Any) -> Iterator[str]:
    with opened_text(path) as file:
        for line in file:
            yield decode_line(path, line).rstrip("\n")


def _read_records(path: Any, column: str) -> Iterator[Any]:
    for number, line in enumerate(_read_lines(path), 1):
        try:
            yield parse_json(line)[column]
        except (ValueError, KeyError, TypeError) as error:
            msg = f"{path}, line {number}: expected a JSON object with the key {column!r}. Got {line[:60]!r}. Fix it."
            raise FileError(msg) from error


def _read_column(path: Any, column: str) -> list[str]:
    header, mark = read_header(path)
    if column not in header:
        msg = f"{path} must have the column {column!r}. It has {', '.join(header)}. Rename it, or choose a column."
        raise FileError(msg)
    place = header.index(column)
    with opened_text(path) as file:
        rows = list(csv.reader((decode_line(path, line) for line in file), delimiter=mark))[1:]
    return [row[place] if place < len(row) else "" for row in rows if row]
