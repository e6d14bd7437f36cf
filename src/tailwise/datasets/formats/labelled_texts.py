"""Files that hold both texts and labels: Annif corpora, CSV, TSV and JSON lines with a row per document."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

from tailwise.datasets.formats.annif import list_corpus, starts_corpus
from tailwise.datasets.formats.disk import opened_text, parse_json, without_packing
from tailwise.datasets.formats.registry import FORMATS, HEAD
from tailwise.datasets.formats.text_lines import (
    COLUMN,
    check_texts_of,
    find_text_columns,
    is_corpus,
    list_column,
    list_objects,
    read_header_of,
    read_texts,
)
from tailwise.errors import FileError
from tailwise.inputs.tags import LABEL_COLUMNS, split_names, split_uris

__all__ = [
    "LabelledTexts",
    "find_label_column",
    "holds_texts",
    "is_matrix_suffix",
    "read_labelled_texts",
    "read_new_texts",
]

NUMBERS = re.compile(rb"[-+0-9.,:eE\s]*(#.*)?")
SHARED = frozenset({".txt", ".csv", ".tsv", ".jsonl"})  # suffixes of both texts and matrices


class LabelledTexts(NamedTuple):
    """Texts, and the names of the labels of each."""

    texts: list[str]
    labels: list[list[str]]


def read_labelled_texts(path: str | os.PathLike[str], text: str = COLUMN, labels: str | None = None) -> LabelledTexts:
    """Read texts and labels of a file; `text` and `labels` are columns of tables and keys of JSON lines.

    Several columns of texts are separated by commas. Labels are a list in JSON lines; in a table they are separated by
    ``;`` or ``|``, URIs also by blanks and commas.
    """
    kind = os.path.splitext(without_packing(path))[1]
    if kind == ".tsv" and is_corpus(path):
        pairs = list(list_corpus(path))
    elif kind == ".jsonl":
        pairs = list(_list_records(path, text, labels))
    elif kind in (".csv", ".tsv"):
        own = find_label_column(path, read_header_of(path), labels)
        pairs = [(words, split_names(field)) for words, field in list_column(path, text, own)]
    else:
        msg = f"{path} must hold texts and labels, as .csv, .tsv or .jsonl. Got {kind or 'no suffix'!r}. Rename it."
        raise FileError(msg)
    texts = check_texts_of(path, [words for words, _ in pairs], text)
    return LabelledTexts(texts, [names for _, names in pairs])


def read_new_texts(
    path: str | os.PathLike[str], text: str = COLUMN, labels: str | None = None
) -> tuple[list[str], list[list[str]] | None]:
    """Read texts that may have no labels yet, and their labels; None for a file without a single label."""
    if not _has_labels(path, text, labels):
        return read_texts(path, text), None
    texts, found = read_labelled_texts(path, text, labels)
    return texts, found if any(found) else None


def _has_labels(path: Any, text: str, labels: str | None) -> bool:
    """Whether a file has a column of labels, or a record with a key for them."""
    kind, usual = os.path.splitext(without_packing(path))[1], (labels,) if labels else LABEL_COLUMNS
    if kind == ".jsonl":
        return any(record.get(name) is not None for _, _, record in list_objects(path, text) for name in usual)
    return (kind == ".tsv" and is_corpus(path)) or not set(usual).isdisjoint(read_header_of(path))


def find_label_column(path: Any, names: list[str], given: str | None) -> str:
    """Return the column of labels: the one given, or one with a usual name."""
    found = next((name for name in ((given,) if given else LABEL_COLUMNS) if name in names), None)
    if found is None:
        wanted = repr(given) if given else ", ".join(LABEL_COLUMNS)
        msg = f"{path} must have a column of labels: {wanted}. It has {', '.join(names)}. Name it: --label-column NAME."
        raise FileError(msg)
    return found


def holds_texts(path: str | os.PathLike[str], column: str = COLUMN) -> bool:
    """Whether a file looks like texts rather than features, by its suffix or by its first lines."""
    kind = os.path.splitext(without_packing(path))[1]
    if os.path.isdir(path) or is_matrix_suffix(kind):
        return False
    with opened_text(path) as file:
        head = file.read(HEAD)
    lines = (head if len(head) < HEAD else head.rpartition(b"\n")[0] or head).split(b"\n")
    if kind == ".jsonl":
        try:
            first = parse_json(lines[0])
        except ValueError:
            return False
        return isinstance(first, dict) and bool(find_text_columns(column, first))
    if kind in (".csv", ".tsv"):
        return (kind == ".tsv" and starts_corpus(head)) or bool(find_text_columns(column, read_header_of(path)))
    return any(NUMBERS.fullmatch(line) is None for line in lines)  # a single title may be a number


def is_matrix_suffix(kind: str) -> bool:
    """Whether files with a suffix hold matrices only."""
    return kind not in SHARED and any(own.endswith(kind) for each in FORMATS for own in each.suffixes if kind)


def _list_records(path: Any, text: str, labels: str | None) -> Iterator[tuple[Any, list[str]]]:
    for number, words, record in list_objects(path, text):
        key = labels or next((name for name in LABEL_COLUMNS if name in record), LABEL_COLUMNS[0])
        found = record.get(key)
        if isinstance(found, list):
            names: list[Any] = [each.get("uri") if isinstance(each, dict) else each for each in found]
            if all(isinstance(each, str) and each for each in names):
                yield words, list(dict.fromkeys(uri for each in names for uri in split_uris(each)))
                continue
        _refuse_record(path, number, key, found)


def _refuse_record(path: Any, number: int, key: str, found: Any) -> NoReturn:
    msg = (
        f"{path}, line {number}: expected a list of labels, as text, in {key!r}. Got {found!r:.60}. "
        "Fix it, or name the key: --label-column NAME."
    )
    raise FileError(msg)
