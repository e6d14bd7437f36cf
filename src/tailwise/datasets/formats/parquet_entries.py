"""Conversion of Parquet columns in long form to arrays of numbers, and of these to contents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.ordered_rows import ANY, check_numbers
from tailwise.errors import FileError
from tailwise.inputs.ids import Ids
from tailwise.inputs.label_names import LabelNames
from tailwise.inputs.matrices import build_csr

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Entries", "EntryReader", "join_entries", "slice_entries"]


Entries = list["NDArray"]  # columns of equal length: instances, labels, values and, if present, ranks


def join_entries(entries: Entries, more: Entries) -> Entries:
    """Concatenate entries."""
    return [np.concatenate(pair) for pair in zip(entries, more, strict=True)]


def slice_entries(entries: Entries, first: int, last: int | None = None) -> Entries:
    """Return the entries from first to last - 1, or to the end."""
    return [each[first:last] for each in entries]


class EntryReader:
    """Reads columns in batches; instance and label names keep their numbers from one batch to the next.

    Parameters
    ----------
    path : path
        The file, for error messages.
    notes : dict
        Sizes and names from the metadata of the file.
    """

    def __init__(self, path: Any, notes: dict[str, Any]) -> None:
        self._path, self._titles, self._shape = path, notes.get("titles"), notes.get("shape")
        self._width = self._shape[1] if self._shape else 1
        self._instances = _Numbering(path, "instance", notes.get("instances"))
        self._labels = _Numbering(path, "label", notes.get("labels"))
        self._label_names: LabelNames | None = None
        self._n_entries = 0

    @property
    def n_instances(self) -> int:
        """The number of instances that the metadata states or that were read so far, whichever is larger."""
        return max(self._shape[0] if self._shape else 0, self._instances.n_seen)

    def read(self, columns: dict[str, Any]) -> Entries:
        """Convert columns, given by part: instance, label, probability and rank."""
        rows = self._instances.number(columns["instance"])
        labels = self._labels.number(columns["label"])
        self._n_entries += rows.size
        self._check_numbering()
        values = self._read_values(columns.get("probability"), rows.size)
        ranks = [self._as_numbers(columns["rank"], "rank", "fiu")] if "rank" in columns else []
        return [rows, labels, values, *ranks]

    def _check_numbering(self) -> None:
        """Refuse numberings with very large gaps; named instances and labels have no gaps."""
        if not self._instances.uses_names:
            check_numbers(self._path, "instance", self.n_instances, self._n_entries)
        if not self._labels.uses_names:
            check_numbers(self._path, "label", self._labels.n_seen, self._n_entries)

    def contents(self, entries: Entries, first: int, last: int) -> Contents:
        """Build contents from the entries, in any order, of the instances from first to last - 1."""
        order = np.lexsort((entries[1], entries[0]))
        rows, labels, values, *ranks = (each[order] for each in entries)
        rows = rows - first
        self._refuse_twice(rows, labels, first)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=last - first))])
        instance_names = self._instances.names
        self._width = max(self._width, self._labels.n_seen)
        matrix = build_csr(values, labels.astype(np.int32), indptr, (last - first, self._width))
        return Contents(
            matrix,
            ranks=self._places(ranks[0], rows, indptr, first) if ranks else None,
            label_names=self._name_labels(),
            instance_names=None if instance_names is None else Ids(instance_names[first:last]),
            is_open=self._shape is None,
        )

    def _name_labels(self) -> LabelNames | None:
        """Return the label names so far; rebuilt only if there are new ones."""
        if not self._labels.uses_names:
            return None
        if self._label_names is None or len(self._label_names) < self._labels.n_seen:
            self._label_names = LabelNames(self._labels.names or (), self._titles)
        return self._label_names

    def _read_values(self, column: Any, size: int) -> NDArray:
        if column is None:
            return np.ones(size)
        values = self._as_numbers(column, "probability", "fiub")
        return values.astype(np.float32) if values.dtype == np.float16 else values

    def _as_numbers(self, column: Any, part: str, kinds: str) -> NDArray:
        values = column.to_numpy()
        if values.dtype.kind not in kinds or column.null_count:
            came = f"{column.null_count:,} missing values" if column.null_count else column.type
            msg = f"{self._path} must hold a number in every row of the column {part}. Got {came}."
            raise FileError(msg)
        return values

    def _places(self, ranks: NDArray, rows: NDArray, indptr: NDArray, first: int) -> NDArray:
        """Convert ranks, which may be any numbers without ties, to 0, 1, 2, ... in each row."""
        by_rank = np.lexsort((ranks, rows))
        is_same = (np.diff(rows[by_rank]) == 0) & ~(np.diff(ranks[by_rank]) > 0)
        if is_same.any():
            came = self._instances.call(int(rows[by_rank][np.argmax(is_same)]) + first)
            msg = f"{self._path} must rank the labels of an instance without ties. Instance {came} has a tie."
            raise FileError(msg)
        places = np.empty(rows.size, dtype=np.int32)
        places[by_rank] = np.arange(rows.size) - indptr[:-1][rows[by_rank]]
        return places

    def _refuse_twice(self, rows: NDArray, labels: NDArray, first: int) -> None:
        is_twice = (np.diff(rows) == 0) & (np.diff(labels) == 0)
        if is_twice.any():
            x = int(np.argmax(is_twice))
            row, label = self._instances.call(int(rows[x]) + first), self._labels.call(int(labels[x]))
            msg = f"{self._path} must hold each label of an instance once. Instance {row} holds label {label} twice."
            raise FileError(msg)


class _Numbering:
    """Numbers for the values of a column: integers are kept, names are numbered in order of appearance."""

    def __init__(self, path: Any, part: str, known: list[Any] | None) -> None:
        self._path, self._part, self._is_closed = path, part, known is not None
        self._numbers: dict[Any, int] = {name: number for number, name in enumerate(known or ())}
        self.uses_names = False
        self._most = 0

    @property
    def names(self) -> tuple[Any, ...] | None:
        return tuple(self._numbers) if self.uses_names else None

    @property
    def n_seen(self) -> int:
        return len(self._numbers) if self.uses_names else self._most

    def call(self, number: int) -> str:
        """Return the value in the file for a number, for error messages."""
        return str(number) if self.names is None else repr(self.names[number])

    def number(self, column: Any) -> NDArray:
        import pyarrow
        from pyarrow import types

        if column.null_count:
            rule = f"{self._path} must have a value in every row of the column {self._part}"
            msg = f"{rule}. Got {column.null_count:,} missing values."
            raise FileError(msg)
        if types.is_dictionary(column.type) and not _is_text(column.type.value_type):
            column = column.cast(column.type.value_type)
        if types.is_integer(column.type):
            return self._number_integers(column.to_numpy())
        if not types.is_dictionary(column.type) and not _is_text(column.type):
            msg = f"{self._path} must hold integers or text in the column {self._part}. Got {column.type}."
            raise FileError(msg)
        self.uses_names = True
        chunks = [
            each if isinstance(each, pyarrow.DictionaryArray) else each.dictionary_encode() for each in column.chunks
        ]
        return np.concatenate([np.zeros(0, dtype=np.int64), *map(self._number_names, chunks)])

    def _number_integers(self, numbers: NDArray) -> NDArray:
        """Numbers are kept, unless the metadata lists them as names."""
        if not self._is_closed or not all(type(name) is int for name in self._numbers):
            return self._check_numbers(numbers)
        self.uses_names = True
        positions = Ids(list(self._numbers)).positions_of(numbers.astype(np.int64))
        if (positions < 0).any():
            self._refuse_strange(int(numbers[int(np.argmax(positions < 0))]))
        return positions

    def _refuse_strange(self, name: Any) -> NoReturn:
        msg = f"{self._path} must only use {self._part}s listed in its metadata. Got {name!r}. Write it again."
        raise FileError(msg)

    def _check_numbers(self, numbers: NDArray) -> NDArray:
        if numbers.size and (numbers.min() < 0 or numbers.max() >= ANY):
            came = numbers.min() if numbers.min() < 0 else numbers.max()
            msg = f"{self._path} must hold numbers from 0 to {ANY - 1} in the column {self._part}. Got {came}."
            raise FileError(msg)
        self._most = max(self._most, int(numbers.max(initial=-1)) + 1)
        return numbers.astype(np.int64)

    def _number_names(self, chunk: Any) -> NDArray:
        texts = chunk.dictionary.to_pylist()
        if (
            self._is_closed
            and (strange := next((text for text in texts if text not in self._numbers), None)) is not None
        ):
            self._refuse_strange(strange)
        codes = np.asarray(chunk.indices)
        if not self._is_closed:
            lines = np.sort(np.unique(codes, return_index=True)[1])  # first occurrences of names
            for code in codes[lines].tolist():
                self._numbers.setdefault(texts[code], len(self._numbers))
        return np.array([self._numbers.get(text, -1) for text in texts], dtype=np.int64)[codes]


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return types.is_string(kind) or types.is_large_string(kind)
