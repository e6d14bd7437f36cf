"""The candidates by label: made from those by instance, some labels at a time, so that a file can take them in turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.inputs.matrices import cut_pointers
from tailwise.inputs.scratch import is_mapped, make_scratch
from tailwise.kernels.rows import Columns, Rows, scatter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.engines import Engine

__all__ = ["extend_columns", "list_column_parts", "make_columns", "position_type"]

ENTRIES_AT_ONCE = 1 << 25  # of mapped candidates: 10 bytes each


def make_columns(rows: Rows, sizes: NDArray, engine: Engine) -> Columns:
    """The candidates by label, `sizes` of each; in memory, or in temporary files where the candidates are mapped."""
    indptr, like = _add_up(sizes), rows.labels
    dtypes = np.int32, position_type(rows), rows.values.dtype
    columns = Columns(indptr, *(make_scratch(like.size, dtype, like) for dtype in dtypes))
    at_once = ENTRIES_AT_ONCE if is_mapped(like) else like.size
    for first, last in cut_pointers(indptr, at_once):
        _scatter(rows, indptr[:-1].copy(), columns, first, last, engine)
    return _read_only(columns)


def list_column_parts(rows: Rows, sizes: NDArray, engine: Engine) -> Iterator[Columns]:
    """The same, some labels at a time, each part in memory; the pointers of a part are those of all labels."""
    indptr = _add_up(sizes)
    for first, last in cut_pointers(indptr, ENTRIES_AT_ONCE):
        size = int(indptr[last] - indptr[first])
        dtypes = np.int32, position_type(rows), rows.values.dtype
        columns = Columns(indptr, *(np.empty(size, dtype) for dtype in dtypes))
        _scatter(rows, indptr[:-1] - indptr[first], columns, first, last, engine)
        yield columns


def position_type(rows: Rows) -> Any:
    """The smallest type of integers that tells the places of a row apart."""
    longest = np.diff(rows.indptr).max(initial=0)
    return np.uint16 if longest <= np.iinfo(np.uint16).max else np.int32


def extend_columns(columns: Columns, n_labels: int) -> Columns:
    """The same columns, with further labels that have no candidates."""
    more = np.full(n_labels + 1 - columns.indptr.size, columns.indptr[-1])
    return _read_only(columns._replace(indptr=np.concatenate([columns.indptr, more]))) if more.size else columns


def _add_up(sizes: NDArray) -> NDArray:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])


def _scatter(rows: Rows, ends: NDArray, columns: Columns, first: int, last: int, engine: Engine) -> None:
    """Put the candidates of labels first to last into the columns, a share of them on each thread."""
    low, high = columns.indptr[first], columns.indptr[last]
    wanted = low + (high - low) * np.arange(1, engine.workers) / engine.workers
    inner = np.clip(np.searchsorted(columns.indptr, wanted), first, last).tolist()
    engine.share([first, *inner, last], lambda _, low, high: scatter(rows, ends, columns, low, high))


def _read_only(columns: Columns) -> Columns:
    """As those of a store are, so that kernels are compiled once."""
    for array in columns:
        array.flags.writeable = False
    return columns
