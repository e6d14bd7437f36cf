"""Contents from rows of labels and scores in the order of a file, which may be a ranking."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.disk import input_errors_of
from tailwise.errors import FileError
from tailwise.inputs.checks import check_numbering
from tailwise.inputs.ids import Ids
from tailwise.inputs.label_names import LabelNames, is_text
from tailwise.inputs.matrices import build_csr

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "ANY",
    "ListedRow",
    "check_numbers",
    "collect_rows",
    "is_ranking",
    "ordered_contents",
    "ranks_of_order",
    "refuse_empty",
    "refuse_line",
]

ANY = 2**31 - 1  # the largest number if the file sets no limit


def refuse_line(path: Any, line: int, expected: str, came: str) -> NoReturn:
    """Raise the error about a line of text."""
    msg = f"{path}, line {line}: expected {expected}. Got {came!r}. Fix the line, or write the file again."
    raise FileError(msg)


def refuse_empty(path: Any) -> NoReturn:
    """Raise the error about a file without instances."""
    msg = f"{path} must hold at least one instance. It is empty. Check how it was written."
    raise FileError(msg)


def check_numbers(path: Any, what: str, size: int, n_entries: int) -> None:
    """Refuse a file that numbers instances, labels or features with very large gaps."""
    with input_errors_of():
        check_numbering(path, what, size, n_entries)


def is_ranking(indptr: NDArray, labels: NDArray, values: NDArray) -> bool:
    """Whether the entries of each row are in order of decreasing value.

    Rows sorted by label, and rows of equal values, do not show such an order.
    """
    is_inner = np.ones(labels.size, dtype=bool)  # not the first entry of its row
    is_inner[indptr[:-1][indptr[:-1] < labels.size]] = False
    is_inner = is_inner[1:]
    before, after = values[:-1][is_inner], values[1:][is_inner]
    is_ascending = (labels[1:][is_inner] > labels[:-1][is_inner]).all()
    return bool(not is_ascending and (after < before).any() and (after <= before).all())


def ranks_of_order(indptr: NDArray, labels: NDArray) -> NDArray:
    """Return the rank of each entry, for entries in the order of a file, after sorting each row by label."""
    rows = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    places = np.arange(labels.size) - np.repeat(indptr[:-1], np.diff(indptr))
    return places[np.lexsort((labels, rows))].astype(np.int32)


def ordered_contents(
    counts: NDArray,
    labels: NDArray,
    values: NDArray,
    n_labels: int,
    path: Any,
    *,
    is_ranked: bool | None = True,
    first_line: int | None = None,
    label_names: LabelNames | None = None,
) -> Contents:
    """Build contents from rows in file order, which is a ranking; with `is_ranked` None, only if values decrease."""
    if values.dtype == np.float64:  # from text; models produce single precision, as the rest of the package expects
        values = values.astype(np.float32)
    indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    if is_ranked is None:
        is_ranked = is_ranking(indptr, labels, values)
    ranks = ranks_of_order(indptr, labels) if is_ranked else None
    matrix = build_csr(values, labels, indptr, (counts.size, n_labels))
    matrix.sort_indices()
    is_twice = np.diff(matrix.indices) == 0
    is_twice[indptr[1:-1][(indptr[1:-1] > 0) & (indptr[1:-1] < labels.size)] - 1] = False
    if is_twice.any():
        x = int(np.argmax(is_twice))
        row = int(np.searchsorted(indptr, x, side="right")) - 1
        name = matrix.indices[x] if label_names is None else repr(label_names.ids[matrix.indices[x]])
        where = f"Instance {row}" if first_line is None else f"Line {first_line + row}"
        msg = f"{path} must hold each label of an instance once. {where} holds label {name} twice. Merge the two."
        raise FileError(msg)
    return Contents(matrix, ranks=ranks, label_names=label_names)


# Rows that are read one by one in Python


class ListedRow(NamedTuple):
    """A row as listed in the file: labels are numbers or names; `name` is that of the instance, or None."""

    line: int
    labels: Sequence[Any]
    scores: Sequence[float]
    name: str | int | None = None


def collect_rows(path: Any, rows: Iterable[ListedRow], size: int | None = None) -> Iterator[Contents]:
    """Build contents of `size` rows each, or of all rows; ranked in the order of each row.

    The labels of a file must be all numbers or all names, which are numbered in order of appearance.
    """
    collected = _Collected(path)
    for row in rows:
        collected.append(row)
        if collected.n_rows == size:
            yield collected.take()
    if collected.n_rows:
        yield collected.take()
    elif size is None:
        refuse_empty(path)


class _Collected:
    """Rows as flat lists of numbers; label names keep their numbers from one block to the next."""

    def __init__(self, path: Any) -> None:
        self._path = path
        self._numbers: dict[str, int] = {}
        self._uses_names: bool | None = None
        self._width, self._n_taken, self._n_entries, self._first_line = 1, 0, 0, 1
        self._clear()

    def _clear(self) -> None:
        self._counts: list[int] = []
        self._labels: list[int] = []
        self._scores: list[float] = []
        self._names: list[str | int | None] = []

    @property
    def n_rows(self) -> int:
        return len(self._counts)

    def append(self, row: ListedRow) -> None:
        if not self._counts:
            self._first_line = row.line
        if self._uses_names is None and len(row.labels):
            self._uses_names = isinstance(row.labels[0], str)
        self._labels.extend(self._number(label, row.line) for label in row.labels)
        self._scores.extend(row.scores)
        self._counts.append(len(row.labels))
        self._names.append(row.name)

    def _number(self, label: Any, line: int) -> int:
        if self._uses_names:
            if not (isinstance(label, str) and is_text(label)):
                refuse_line(self._path, line, "a label name, as in the lines before", ascii(label))
            return self._numbers.setdefault(label, len(self._numbers))
        if type(label) is not int or not 0 <= label < ANY:
            refuse_line(self._path, line, "a label number of at least 0", str(label))
        return label

    def take(self) -> Contents:
        """Return the contents collected since the last call."""
        labels = np.array(self._labels, dtype=np.int32)
        self._n_entries += labels.size
        self._width = max(self._width, int(labels.max(initial=0)) + 1)
        if not self._uses_names:
            check_numbers(self._path, "label", self._width, self._n_entries)
        contents = ordered_contents(
            np.array(self._counts),
            labels,
            np.array(self._scores, dtype=np.float64),
            self._width,
            self._path,
            first_line=self._first_line,
            label_names=LabelNames(self._numbers, by_appearance=True) if self._uses_names else None,
        )
        contents = replace(contents, is_open=True, instance_names=self._name_instances())
        self._n_taken += self.n_rows
        self._clear()
        return contents

    def _name_instances(self) -> Ids | None:
        """Return instance names, text unless all are integers, with numbers for missing ones; None if all are."""
        if all(name is None for name in self._names):
            return None
        if all(type(name) is int for name in self._names):
            return Ids(self._names)
        return Ids([str(row if name is None else name) for row, name in enumerate(self._names, self._n_taken)])
