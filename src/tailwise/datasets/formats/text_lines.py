"""Files of texts: one per line, or columns of CSV, TSV or JSON lines, or the texts of an Annif corpus.

Several columns, such as "title,abstract", make one text, a line for each that is not empty.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from typing import Any

from tailwise.datasets.formats.annif import list_corpus, starts_corpus
from tailwise.datasets.formats.csv_tables import decode_line, list_fields, read_header
from tailwise.datasets.formats.disk import input_errors_of, opened_text, parse_json, without_packing
from tailwise.errors import FileError
from tailwise.inputs.tags import LABEL_COLUMNS
from tailwise.inputs.texts import check_texts

__all__ = [
    "COLUMN",
    "check_texts_of",
    "find_text_columns",
    "is_corpus",
    "list_column",
    "list_objects",
    "read_header_of",
    "read_ids",
    "read_names",
    "read_texts",
]

COLUMN = "text"
OF_NUMBERS = re.compile(r"\S*:[-+.\deE]+|\d+[\s,]+\d[\s,\d]*")  # label:score, or several numbers
ID_COLUMNS = ("id", "doc_id", "document_id", "record_id")


def read_texts(path: str | os.PathLike[str], column: str = COLUMN) -> list[str]:
    """Read the texts of a file, in its order; `column` is that of tables and of JSON lines, or several."""
    kind = os.path.splitext(without_packing(path))[1]
    if kind == ".jsonl":
        texts = [text for _, text, _ in list_objects(path, column)]
    elif kind == ".csv" or (kind == ".tsv" and not is_corpus(path)):
        texts = [text for text, _ in list_column(path, column)]
    else:
        texts = [text for text, _ in list_corpus(path)] if kind == ".tsv" else list(_read_lines(path))
    return check_texts_of(path, texts, column)


def check_texts_of(path: str | os.PathLike[str], texts: list[Any], column: str) -> list[str]:
    """Check the texts of a file; one without a word is named by its id, its row below the header, or its line."""
    row = next((row for row, text in enumerate(texts) if isinstance(text, str) and not text.strip()), None)
    if row is not None:
        msg = (
            f"{path}, {_call_row(path, row, column)}: expected a text, one for each instance. Got none. "
            "Write 'untitled', or remove the instance from all files."
        )
        raise FileError(msg)
    with input_errors_of(path):
        return check_texts(texts)


def _call_row(path: Any, row: int, column: str) -> str:
    ids = read_ids(path, column)
    if ids is not None:
        return f"id {ids[row]}"
    kind = os.path.splitext(without_packing(path))[1]
    is_below_header = kind == ".csv" or (kind == ".tsv" and not is_corpus(path))
    return f"row {row + 1} below the header" if is_below_header else f"line {row + 1}"


def read_names(path: str | os.PathLike[str]) -> list[str]:
    """Read a .txt file of names, one per line; empty for any other file, such as one of labels with scores."""
    if not without_packing(path).endswith(".txt"):
        return []
    names = [line.strip() for line in _read_lines(path) if line.strip()]
    return [] if any(OF_NUMBERS.fullmatch(part) for name in names for part in (name, *name.split())) else names


def read_ids(path: str | os.PathLike[str], column: str = COLUMN) -> list[str] | None:
    """Read the ids of the texts of a file, from a column or key named id, doc_id, document_id or record_id.

    None if there is no such column, or if ids are missing or repeated.
    """
    kind = os.path.splitext(without_packing(path))[1]
    ids: list[Any] = []
    if kind == ".jsonl":
        records = [record for _, _, record in list_objects(path, column)]
        own = next((name for name in ID_COLUMNS if records and name in records[0]), None)
        ids = [] if own is None else [record.get(own) for record in records]
    elif kind == ".csv" or (kind == ".tsv" and not is_corpus(path)):
        header = read_header_of(path)
        own = next((name for name in ID_COLUMNS if name in header), None)
        ids = [] if own is None else [found for _, found in list_column(path, column, own)]
    words = [str(each).strip() for each in ids if isinstance(each, (str, int)) and str(each).strip()]
    return words if words and len(set(words)) == len(ids) else None


def find_text_columns(column: str, names: Collection[str]) -> list[str]:
    """The columns of texts: one, or several separated by commas, of which those that are there; none may be there."""
    return [name for name in ([column] if column in names else map(str.strip, column.split(","))) if name in names]


def list_objects(path: Any, column: str) -> Iterator[tuple[int, Any, dict[str, Any]]]:
    """Yield the objects of JSON lines that have a text, with their line numbers and their texts."""
    for number, line in enumerate(_read_lines(path), 1):
        try:
            record = parse_json(line)
            names = find_text_columns(column, record)
        except (ValueError, TypeError):
            names = []
        if not names or not isinstance(record, dict):
            msg = f"{path}, line {number}: expected a JSON object with the key {column!r}. Got {line[:60]!r}. Fix it."
            raise FileError(msg)
        yield number, _join_texts([record[name] for name in names]), record


def list_column(path: Any, column: str, other: str | None = None) -> Iterator[tuple[str, str]]:
    """Yield the texts of a table, and the fields of another column; "" where a row is too short."""
    header, mark = read_header(path)
    places = [header.index(name) for name in find_text_columns(column, header)]
    wanted = 1 if column in header else column.count(",") + 1
    if len(places) < wanted:
        own = _guess_text_column(column, header)
        msg = f"{path} must have the column {column!r}. It has {', '.join(header)}. Choose one: text_column={own!r}."
        raise FileError(msg)
    second = len(header) if other is None else header.index(other)
    with opened_text(path) as file:
        rows = list_fields(path, (decode_line(path, line) for line in file), mark)
        for row in list(rows)[1:]:
            if row:
                texts = [row[place] if place < len(row) else "" for place in places]
                yield _join_texts(texts), row[second] if second < len(row) else ""


def _guess_text_column(given: str, names: list[str]) -> str:
    """The column that was probably meant: one of those given, or the first that holds neither ids nor labels."""
    known = (*find_text_columns(given, names), *(name for name in names if name not in (*ID_COLUMNS, *LABEL_COLUMNS)))
    return next(iter(known), "NAME")


def _join_texts(texts: list[Any]) -> Any:
    """One text of several, each on a line of its own; a single value stays as it is, to be checked."""
    if len(texts) == 1:
        return texts[0]
    return "\n".join(text for text in texts if isinstance(text, str) and text.strip())


def read_header_of(path: Any) -> list[str]:
    """Return the names of the columns of a table."""
    return read_header(path)[0]


def is_corpus(path: Any) -> bool:
    """Whether the first line is that of an Annif corpus."""
    with opened_text(path) as file:
        return starts_corpus(file.readline())


def _read_lines(path: Any) -> Iterator[str]:
    with opened_text(path) as file:
        for line in file:
            yield decode_line(path, line).rstrip("\n")
