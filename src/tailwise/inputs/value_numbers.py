"""Numbers for the texts or integers in columns of pyarrow, in the order in which they appear."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.kernels.text_numbers import TextTable, number_texts, place_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["ValueNumbers", "text_buffers"]

LEAST = 1024  # values, and bytes, of the first table


class ValueNumbers:
    """Numbers the values of several columns in turn; equal values get the same number.

    pyarrow's own encoding builds a hash table for each column, and takes several times as long.

    Parameters
    ----------
    kind : {"text", "int64", "uint64"}
        What the columns hold. Integers are compared by their eight bytes.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._table = _make_table(LEAST, LEAST)

    def __len__(self) -> int:
        return int(self._table.size[0])

    def add(self, values: Sequence[Any]) -> None:
        """Number Python values."""
        import pyarrow

        self.number(pyarrow.array(values, pyarrow.large_string() if self.kind == "text" else self.kind))

    def number(self, column: Any) -> NDArray:
        """Return the number, int32, of each value of a pyarrow array without missing values."""
        offsets, data = text_buffers(column) if self.kind == "text" else self._integer_buffers(column)
        numbers, first = np.empty(len(column), dtype=np.int32), 0
        while (first := number_texts(offsets, data, first, self._table, numbers)) < numbers.size:
            self._grow(int(offsets[first + 1] - offsets[first]))
        return numbers

    def values(self, first: int, last: int) -> list[Any]:
        """The values with the numbers from first to last - 1."""
        import pyarrow

        ends, store = self._table.ends[first : last + 1], self._table.store
        if self.kind != "text":
            return store[ends[0] : ends[-1]].view(self.kind).tolist()
        buffers = [None, pyarrow.py_buffer(np.ascontiguousarray(ends)), pyarrow.py_buffer(store)]
        return pyarrow.Array.from_buffers(pyarrow.large_string(), ends.size - 1, buffers).to_pylist()

    def _integer_buffers(self, column: Any) -> tuple[NDArray, NDArray]:
        integers = np.ascontiguousarray(column.cast(self.kind).to_numpy(zero_copy_only=False))
        return _read_only(np.arange(0, 8 * integers.size + 1, 8)), _read_only(integers.view(np.uint8))

    def _grow(self, n_bytes: int) -> None:
        """Make room for twice as many values, and for a value of some bytes."""
        old, size = self._table, len(self)
        used = int(old.ends[size])
        capacity = (old.ends.size - 1) * (2 if size + 1 == old.ends.size else 1)
        room = old.store.size if used + n_bytes <= old.store.size else 2 * (used + n_bytes)
        table = _make_table(capacity, room)
        table.ends[: size + 1], table.store[:used], table.size[0] = old.ends[: size + 1], old.store[:used], size
        place_texts(table)
        self._table = table


def text_buffers(texts: Any) -> tuple[NDArray, NDArray]:
    """Where each text of an array of pyarrow begins and ends, and their bytes, without a copy if possible."""
    import pyarrow

    texts = texts.cast(pyarrow.large_string())
    _, ends, text = texts.buffers()
    if not len(texts) or ends is None:
        return _read_only(np.zeros(1, np.int64)), _read_only(np.zeros(0, np.uint8))
    offsets = np.frombuffer(ends, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return _read_only(offsets), _read_only(np.frombuffer(text or b"", dtype=np.uint8))


def _make_table(capacity: int, n_bytes: int) -> TextTable:
    """Return an empty table for a number of values, a power of 2, with a total number of bytes."""
    slots, ends = np.zeros(2 * capacity, np.uint64), np.zeros(capacity + 1, np.int64)
    return TextTable(slots, ends, np.empty(n_bytes, np.uint8), np.zeros(1, np.int64))


def _read_only(array: NDArray) -> NDArray:
    """Make arrays read-only, so that compiled code sees one type, whoever owns the memory."""
    array = array.view()
    array.flags.writeable = False
    return array
