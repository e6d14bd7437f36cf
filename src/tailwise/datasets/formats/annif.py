"""Files of Annif: corpora of short texts, suggestions, and folders with a file of subjects for each document.

A corpus has one line per document, with its text and its subjects: `text<TAB><uri> <uri>`. Suggestions have one line
per subject, `<uri><TAB>title<TAB>score`, with the notation, if any, before the score. In a folder, the subjects of a
document are in a file next to its text: `.key` with a title per line, or `.tsv` with `<uri><TAB>title`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.disk import opened_text, without_packing
from tailwise.datasets.formats.ordered_rows import ListedRow, collect_rows, refuse_line
from tailwise.datasets.formats.text import EXCERPT
from tailwise.errors import FileError
from tailwise.inputs.label_names import LabelNames

__all__ = [
    "ONE_DOCUMENT",
    "list_corpus",
    "read_corpus",
    "read_corpus_blocks",
    "read_documents",
    "read_hits",
    "read_suggestions",
    "starts_corpus",
    "starts_suggestions",
]

ROWS = 10_000
ONE_DOCUMENT = (".annif", ".key")  # files with the subjects of one document
SUBJECTS = re.compile(r"\s*(<[^<>\s]+>\s*)*")
URI = re.compile(r"<([^<>\s]+)>")


def starts_corpus(head: bytes) -> bool:
    """Whether the first line is a text, a tab and subjects in angle brackets."""
    line = head.split(b"\n")[0].decode(errors="replace")
    text, tab, subjects = line.rpartition("\t")
    return bool(tab) and not text.startswith("<") and "<" in subjects and SUBJECTS.fullmatch(subjects) is not None


def starts_suggestions(head: bytes) -> bool:
    """Whether the first line begins with a subject in angle brackets and a tab."""
    return re.match(rb"<[^<>\s]+>\t", head) is not None


def read_corpus(path: Any) -> Contents:
    """Read the subjects of each document, which are true labels; documents are numbered."""
    return _unranked(next(collect_rows(path, _list_documents(path))))


def read_corpus_blocks(path: Any) -> Iterator[Contents]:
    """Like `read_corpus`, in blocks."""
    return (_unranked(block) for block in collect_rows(path, _list_documents(path), ROWS))


def _unranked(contents: Contents) -> Contents:
    return replace(contents, ranks=None)


def _list_documents(path: Any) -> Iterator[ListedRow]:
    for line, (_, uris) in enumerate(list_corpus(path), 1):
        yield ListedRow(line, uris, [1.0] * len(uris))


def list_corpus(path: Any) -> Iterator[tuple[str, list[str]]]:
    """Yield the text and the subjects of each document, a document per line."""
    with opened_text(path) as file:
        for line, raw in enumerate(file, 1):
            text, _, subjects = _decode(path, line, raw).rpartition("\t")
            if b"\t" not in raw or not SUBJECTS.fullmatch(subjects):
                refuse_line(path, line, "a text, a tab, and subjects such as <uri> <uri>", subjects[:EXCERPT])
            yield text, list(dict.fromkeys(URI.findall(subjects)))


def _decode(path: Any, line: int, raw: bytes) -> str:
    try:
        return raw.decode().rstrip("\n")
    except UnicodeDecodeError as error:
        msg = f"{path}, line {line}: expected UTF-8 text. Invalid UTF-8 at byte {error.start + 1}. Convert the file."
        raise FileError(msg) from error


# A file for each document


def read_suggestions(path: Any) -> Contents:
    """Read the suggestions for one document, which is named after the file."""
    return read_documents(path, [path])


def read_documents(path: Any, files: Sequence[Any]) -> Contents:
    """Read a file for each document; documents are named after their files, without the suffix."""
    titles: dict[str, str] = {}
    rows = (_read_document(file, number, titles) for number, file in enumerate(files, 1))
    contents = next(collect_rows(path, rows))
    names = contents.label_names
    if names is not None and any(titles.values()):
        contents = replace(contents, label_names=LabelNames(names.ids, [titles.get(name, "") for name in names.ids]))
    return contents if any(without_packing(file).endswith(".annif") for file in files) else _unranked(contents)


def _read_document(path: Any, number: int, titles: dict[str, str]) -> ListedRow:
    scores: dict[str, float] = {}
    with opened_text(path) as file:
        for line, raw in enumerate(file, 1):
            fields = _decode(path, line, raw).split("\t")
            if fields != [""]:
                label, title, score = _read_subject(path, line, fields)
                scores.setdefault(label, score)
                titles.setdefault(label, title)
    return ListedRow(number, list(scores), list(scores.values()), _stem(path))


def _read_subject(path: Any, line: int, fields: list[str]) -> tuple[str, str, float]:
    """Return the subject of a line, its title and its score, or 1 if it has none."""
    uri = URI.fullmatch(fields[0].strip())
    if uri is None:
        if len(fields) > 1 or "<" in fields[0]:
            refuse_line(path, line, "a subject <uri>, or a title alone", "\t".join(fields)[:EXCERPT])
        return fields[0].strip(), "", 1.0
    title, score = fields[1] if len(fields) > 1 else "", 1.0
    if without_packing(path).endswith(".annif") or len(fields) > 2:
        try:
            score = float(fields[-1])
        except ValueError:
            refuse_line(path, line, "a score at the end", fields[-1][:EXCERPT])
    return uri[1], title, score


def _stem(path: Any) -> str:
    return os.path.splitext(os.path.basename(os.fspath(path).removesuffix(".gz").removesuffix(".zst")))[0]


# JSON lines


def read_hits(path: Any, line: int, record: dict[str, Any]) -> ListedRow | None:
    """Read an object of Annif's JSON lines: suggestions, or a document with its subjects; None if it is neither."""
    name = record.get("document_id", record.get("id"))
    for key in ("results", "suggestions", "subjects"):
        hits = record.get(key)
        if isinstance(hits, list) and all(isinstance(hit, dict) and isinstance(hit.get("uri"), str) for hit in hits):
            scores = [hit.get("score", 1.0) for hit in hits]
            if not all(type(score) in (int, float) for score in scores):
                refuse_line(path, line, "a number as the score of each subject", str(scores)[:EXCERPT])
            return ListedRow(line, [hit["uri"] for hit in hits], scores, name)
    return None
