"""Checks of texts that users pass in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailwise.errors import InputError
from tailwise.inputs.table_columns import is_table, open_table

__all__ = ["are_texts", "check_texts", "text_rows"]

FIRST = 100  # values that tell whether a column holds texts


def are_texts(values: Any) -> bool:
    """Whether values look like a list of texts rather than a matrix."""
    if isinstance(values, (list, tuple)):
        return bool(values) and isinstance(values[0], str)
    if is_table(values) and len(getattr(values, "shape", ())) == 2:
        return _holds_texts(values)
    shape, kind = getattr(values, "shape", None), getattr(getattr(values, "dtype", None), "kind", None)
    if shape is None or len(shape) != 1 or shape[0] == 0:
        return False
    return kind in ("U", "T") or isinstance(next(iter(values)), str)


def check_texts(texts: Any, name: str = "texts") -> list[str]:
    """Return a list of texts, one for each row of a table; refuse a single text, other types, texts without a word."""
    rule = f"{name} must be a list of texts, one for each instance"
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
        msg = f"{rule}. Got {texts!r:.60}. Use [text] for a single one."
        raise InputError(msg)
    if is_table(texts) and len(getattr(texts, "shape", ())) == 2 and _holds_texts(texts):
        texts = _join_columns(texts)
    if len(getattr(texts, "shape", (0,))) != 1:
        msg = f"{rule}. Got an array of shape {texts.shape}. Pass one column."
        raise InputError(msg)
    found = list(texts)
    if not found:
        msg = f"{rule}. Got an empty list. Pass at least one text."
        raise InputError(msg)
    for row, text in enumerate(found):
        if not isinstance(text, str):
            msg = f"{rule}. Got {text!r:.60} of type {type(text).__name__} in row {row}. Convert it with str()."
            raise InputError(msg)
        if not text or text.isspace():
            msg = f"{rule}, with at least one word. Got an empty text in row {row}. Remove it, or write 'untitled'."
            raise InputError(msg)
    return [str(text) for text in found]


def _holds_texts(table: Any) -> bool:
    """Whether all columns of a table are texts, such as titles and abstracts."""
    frame = open_table(table, "texts")
    columns = list(frame.iter_columns())
    return bool(columns) and all(
        any(isinstance(each, str) for each in column.head(FIRST).to_list()) for column in columns
    )


def _join_columns(table: Any) -> list[str]:
    """One text for each row: its columns, a line for each that is not empty."""
    frame = open_table(table, "texts")
    rows = zip(*(column.to_list() for column in frame.iter_columns()), strict=True)
    return ["\n".join(text for text in row if isinstance(text, str) and text.strip()) for row in rows]


def text_rows(texts: Any) -> NDArray:
    """Return texts as an array that can be indexed by rows."""
    rows = np.empty(len(texts), dtype=object)
    rows[:] = texts
    return rows
