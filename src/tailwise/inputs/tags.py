"""Labels by name: a list of names for each instance."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from tailwise.errors import InputError
from tailwise.inputs.label_names import LabelNames, bare_uri

__all__ = ["LABEL_COLUMNS", "are_tags", "list_tags", "place_tags", "split_names", "split_uris"]

LABEL_COLUMNS = ("labels", "subjects", "subject_uris", "tags")  # usual names of columns of several labels
MARKS = re.compile(r"[;|\n]")  # between labels in a field of a table
BETWEEN_URIS = re.compile(r",?\s+|,(?=<|\w+://)")

ROW_TYPES = (list, tuple, set, frozenset)


def are_tags(labels: Any) -> bool:
    """Whether labels are names, one list for each instance or a single name; a matrix is not."""
    if sp.issparse(labels) or isinstance(labels, (str, bytes, dict)) or len(getattr(labels, "shape", (0,))) != 1:
        return False
    if getattr(getattr(labels, "dtype", None), "kind", "O") not in "OUT":
        return False
    rows = list(labels) if hasattr(labels, "__iter__") else []
    firsts = [next(iter(row), None) if isinstance(row, ROW_TYPES) else row for row in rows]
    return any(isinstance(each, str) for each in firsts)


def list_tags(labels: Any, name: str = "Y") -> list[list[str]]:
    """Return the names of each instance, each once, in their order; a text of several URIs is several names."""
    rows = []
    for number, row in enumerate(labels):
        names = list(row) if isinstance(row, ROW_TYPES) else [row]
        for each in names:
            if not isinstance(each, str) or not each:
                _refuse_tag(name, number, each)
        names = [uri for each in names for uri in split_uris(each)]
        rows.append(sorted(set(names)) if isinstance(row, (set, frozenset)) else list(dict.fromkeys(names)))
    return rows


def split_uris(text: str) -> list[str]:
    """Split URIs that are separated by blanks or commas, each bare or in brackets; any other text is one name."""
    parts = BETWEEN_URIS.split(text.strip().rstrip(","))
    if not parts or not all("://" in part or (part.startswith("<") and part.endswith(">")) for part in parts):
        return [text]
    return [bare_uri(part) for part in parts]


def split_names(field: str) -> list[str]:
    """Split a field of labels, each once: at marks, and URIs as :func:`split_uris` does."""
    names = [name.strip() for name in MARKS.split(field)]
    return list(dict.fromkeys(each for name in names if name for each in split_uris(name)))


def _refuse_tag(name: str, row: int, came: Any) -> NoReturn:
    rule = f"{name} must hold a list of names for each instance"
    msg = f"{rule}. Got {came!r:.60} in row {row}. Use text, and [] for an instance without labels."
    raise InputError(msg)


def place_tags(
    rows: Sequence[Sequence[str]], names: LabelNames | None = None, name: str = "Y"
) -> tuple[sp.csr_array, LabelNames]:
    """Return a 0/1 matrix and the names of its columns: those given, or all that occur, in alphabetical order."""
    if names is None:
        names = LabelNames(sorted({each for row in rows for each in row}))
    flat = [each for row in rows for each in row]
    columns = names.positions_of(flat) if flat else np.empty(0, np.int64)
    sizes = [len(row) for row in rows]
    if (columns < 0).any():
        x = int(np.argmax(columns < 0))
        row = int(np.searchsorted(np.cumsum(sizes), x, side="right"))
        msg = (
            f"{name} must hold labels that training knows. Got {flat[x]!r} in row {row}, which no training instance "
            "has. Remove it, or pass the names of all labels: label_names=[...], or labels.txt in a folder."
        )
        raise InputError(msg)
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    matrix = sp.csr_array((np.ones(columns.size), columns, indptr), shape=(len(rows), len(names)))
    matrix.sort_indices()
    return matrix, names
