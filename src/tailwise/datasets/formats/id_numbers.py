"""Numbers for the values in a column of a file: row and column numbers are kept, ids are numbered as they appear."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tailwise.datasets.formats.ordered_rows import ANY
from tailwise.errors import FileError
from tailwise.inputs.id_tables import FREE_NUMBERS, NUMBERS_PER_ROW
from tailwise.inputs.ids import Ids
from tailwise.inputs.value_numbers import ValueNumbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["IdNumbers", "NotAsAssumed"]


class NotAsAssumed(Exception):
    """A column turned out to differ from its first rows: integers are ids, or text."""

    def __init__(self, part: str, came: Any, *, is_text: bool = False) -> None:
        super().__init__(f"Got {came!r}")
        self.part, self.is_text = part, is_text


class IdNumbers:
    """The instances or the labels of a file.

    Parameters
    ----------
    path, part : path, str
        The file, and whether the column holds instances or labels, for error messages.
    known : list or None
        All ids, if the metadata of the file lists them.
    is_plain : bool
        Whether integers are row or column numbers, unless they are huge; otherwise they are ids.
    """

    def __init__(self, path: Any, part: str, known: list[Any] | None, *, is_plain: bool) -> None:
        self._path, self._part, self._is_closed, self._is_plain = path, part, known is not None, is_plain
        self._numbers: dict[Any, int] = {name: number for number, name in enumerate(known or ())}
        self.uses_names = self._has_text = False
        self._values: ValueNumbers | None = None  # the same by their bytes, for columns of pyarrow
        self._most = 0

    @property
    def names(self) -> tuple[Any, ...] | None:
        if not self.uses_names:
            return None
        return tuple(self._numbers if self._values is None else self._values.values(0, len(self._values)))

    @property
    def is_open(self) -> bool:
        """Whether the column alone says which ids there are, in the order in which they appear."""
        return not self._is_closed

    @property
    def n_seen(self) -> int:
        if not self.uses_names:
            return self._most
        return len(self._numbers if self._values is None else self._values)

    def ids(self, first: int, last: int) -> Ids | None:
        """The ids of the instances from first to last - 1."""
        if not self.uses_names:
            return None
        listed = list(self._numbers)[first:last] if self._values is None else self._values.values(first, last)
        return Ids(listed, by_appearance=self.is_open)

    def call(self, number: int) -> str:
        """Return the value in the file for a number, for error messages."""
        return str(number) if self.names is None else repr(self.names[number])

    def number(self, column: Any) -> NDArray:
        """Return the numbers, int32, of a column: a list of text or integers, or a pyarrow column."""
        if isinstance(column, (list, np.ndarray)):
            return self._number_list(column)
        from pyarrow import types

        kind = column.type.value_type if types.is_dictionary(column.type) else column.type
        if column.null_count:
            msg = (
                f"{self._path} must have a value in every row of the column {self._part}. Got {column.null_count:,} "
                "missing values. Drop these rows, or give them ids."
            )
            raise FileError(msg)
        if not (types.is_integer(kind) or types.is_string(kind) or types.is_large_string(kind)):
            msg = f"{self._path} must hold integers or text in the column {self._part}. Got {column.type}."
            raise FileError(msg)
        if types.is_integer(kind) and self._keeps_numbers:
            return self._check_numbers((column.cast(kind) if kind != column.type else column).to_numpy())
        if not len(column) and not self._is_closed:
            return np.zeros(0, dtype=np.int32)
        self._expect_names(is_text=not types.is_integer(kind))
        return self._number_values(column.chunks if hasattr(column, "chunks") else [column], _common_kind(kind))

    @property
    def _keeps_numbers(self) -> bool:
        """Whether integers are row or column numbers."""
        lists_integers = self._is_closed and all(type(name) is int for name in self._numbers)
        return self._is_plain and not lists_integers and not self.uses_names

    def _number_list(self, values: Any) -> NDArray:
        values = values.tolist() if isinstance(values, np.ndarray) else values
        are_integers = all(type(value) is int for value in values)
        if values and are_integers and self._keeps_numbers:
            if max(map(abs, values)) >= ANY:
                raise NotAsAssumed(self._part, max(values, key=abs))
            return self._check_numbers(np.array(values, dtype=np.int64))
        if values:
            self._expect_names(is_text=not are_integers)
        numbers: dict[Any, int] = {}
        codes = np.fromiter((numbers.setdefault(value, len(numbers)) for value in values), np.int64, len(values))
        return self._number_codes(codes, list(numbers))

    def _expect_names(self, *, is_text: bool) -> None:
        """Treat all values as text from now on: names came after numbers, or text after integers."""
        if self._most or (self.uses_names and is_text != self._has_text):
            raise NotAsAssumed(self._part, "text and integers", is_text=True)
        self.uses_names, self._has_text = True, is_text

    def check_gaps(self, n_entries: int, *, is_stated: bool) -> None:
        """Treat numbers as ids if most rows or columns would be empty and the file does not state their number."""
        if self._is_plain and not is_stated and self._most > max(FREE_NUMBERS, NUMBERS_PER_ROW * n_entries):
            raise NotAsAssumed(self._part, self._most - 1)

    def _check_numbers(self, numbers: NDArray) -> NDArray:
        if numbers.size and (numbers.min() < 0 or numbers.max() >= ANY):
            raise NotAsAssumed(self._part, int(numbers.min() if numbers.min() < 0 else numbers.max()))
        self._most = max(self._most, int(numbers.max(initial=-1)) + 1)
        return numbers.astype(np.int32)

    def _number_values(self, chunks: list[Any], kind: str) -> NDArray:
        """Number pyarrow columns, with one hash table for all of them."""
        if self._values is None:
            self._values = ValueNumbers(kind)
            self._values.add([name for name in self._numbers if isinstance(name, str) == (kind == "text")])
        n_known = len(self._values)
        numbers = [self._number_chunk(self._values, chunk) for chunk in chunks]
        if self._is_closed and len(self._values) > n_known:
            self._refuse_strange(self._values.values(n_known, n_known + 1)[0])
        return np.concatenate(numbers) if numbers else np.zeros(0, dtype=np.int32)

    def _number_chunk(self, values: ValueNumbers, chunk: Any) -> NDArray:
        if not hasattr(chunk, "dictionary"):
            return values.number(chunk)
        import pyarrow as arrow

        codes = np.asarray(chunk.indices)
        is_used = np.bincount(codes, minlength=len(chunk.dictionary)) > 0
        places = np.full(is_used.size, -1, dtype=np.int32)
        # A categorical column may list values that no row has.
        used = chunk.dictionary if is_used.all() else chunk.dictionary.filter(arrow.array(is_used))
        places[is_used] = values.number(used)
        return places[codes]

    def _number_codes(self, codes: NDArray, names: list[Any]) -> NDArray:
        """Convert codes of names to numbers; new names are numbered in the order in which they occur in the column."""
        if self._is_closed:
            strange = next((name for name in names if name not in self._numbers), None)
            if strange is not None:
                self._refuse_strange(strange)
        elif any(name not in self._numbers for name in names):
            lines = np.sort(np.unique(codes, return_index=True)[1])  # first occurrences of names
            for code in codes[lines].tolist():
                self._numbers.setdefault(names[code], len(self._numbers))
        return np.array([self._numbers.get(name, -1) for name in names], dtype=np.int32)[codes]

    def _refuse_strange(self, name: Any) -> NoReturn:
        msg = f"{self._path} must only use {self._part}s listed in its metadata. Got {name!r}. Write it again."
        raise FileError(msg)


def _common_kind(kind: Any) -> str:
    """Return the type that can hold all ids of a column."""
    import pyarrow as arrow

    if not arrow.types.is_integer(kind):
        return "text"
    return "uint64" if kind == arrow.uint64() else "int64"
