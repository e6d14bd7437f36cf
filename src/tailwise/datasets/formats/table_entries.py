"""Files in long form, one row per entry: contents built from batches of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.disk import input_errors_of
from tailwise.datasets.formats.id_numbers import IdNumbers, NotAsAssumed
from tailwise.datasets.formats.ordered_rows import check_numbers, refuse_empty
from tailwise.errors import FileError
from tailwise.inputs.label_names import LabelNames
from tailwise.inputs.matrices import build_csr
from tailwise.inputs.table_columns import choose_columns, describe_columns, list_columns, suggest_columns
from tailwise.kernels.rows import find_disorder, sort_row_labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LongFile", "Unreadable", "find_columns", "joined", "read_long", "read_long_blocks"]


Batches = Callable[[frozenset[str]], Iterator[dict[str, Any]]]
Entries = list["NDArray"]  # columns of equal length: instances, labels, values and, if present, ranks


class Unreadable(Exception):
    """The fast reader could not read a file; the slower one can, or reports why not."""


class LongFile(NamedTuple):
    """A file with a row per entry.

    Attributes
    ----------
    path : path
        The file, for error messages.
    columns : dict
        The columns of the parts instance, label, probability and rank.
    is_plain : dict
        Whether integers in each are row or column numbers, unless they are huge; otherwise they are ids.
    notes : dict
        Sizes and names from the metadata of the file.
    batches : callable
        Yields the parts in blocks of rows; parts in the given set hold text, whatever it looks like. If there is a part
        "is_empty", it marks the instances without labels, for which the other parts have no rows.
    slower : callable, optional
        Used instead if ``batches`` raises Unreadable.
    messages : tuple of str
        Which columns were read.
    """

    path: Any
    columns: dict[str, Any]
    is_plain: dict[str, bool]
    notes: dict[str, Any]
    batches: Batches
    slower: Batches | None = None
    messages: tuple[str, ...] = ()


class FoundColumns(NamedTuple):
    """The columns of the parts, and what :class:`LongFile` says about them."""

    columns: dict[str, Any]
    is_plain: dict[str, bool]
    messages: tuple[str, ...]


def find_columns(path: Any, names: list[Any], columns: Any, hint: str = "") -> FoundColumns:
    """Map parts to the columns of a file, and decide whether integers are row and column numbers, or ids.

    The error about missing columns ends with the hint.
    """
    twice = next((name for number, name in enumerate(names) if name in names[:number]), None)
    if twice is not None:
        msg = f"{path} must have unique column names. Got {twice} twice. Drop or rename one of them."
        raise FileError(msg)
    with input_errors_of():
        found = choose_columns(columns, names, str(path))
    missing = [part for part in ("instance", "label") if part not in found]
    if missing:
        own = suggest_columns(names, found, ("instance", "label", "probability"))
        msg = (
            f"{path} must have the columns instance and label (and, optionally, probability and rank). "
            f"Missing: {', '.join(missing)}. It has {list_columns(names)}. Say which they are, for instance "
            f"{', '.join(f'{part}={own[part]!r}' for part in own)} (--columns {','.join(own.values())}; load: "
            f"columns={tuple(own.values())}).{hint}"
        )
        raise FileError(msg)
    named = () if columns is None else columns if isinstance(columns, Mapping) else tuple(found)[: len(columns)]
    is_plain = {part: part not in named and found[part] == part for part in ("instance", "label")}
    return FoundColumns(found, is_plain, describe_columns(found, named))


def read_long(file: LongFile) -> Contents:
    """Read the entries, in any order, as a matrix."""
    is_plain, as_text = dict(file.is_plain), frozenset[str]()
    while True:
        try:
            return _read_once(file._replace(is_plain=is_plain), as_text)
        except NotAsAssumed as wrong:  # known only after the last rows; happens at most twice for each part
            is_plain[wrong.part] = False
            as_text |= {wrong.part} if wrong.is_text else frozenset()
        except Unreadable:
            assert file.slower is not None
            file = file._replace(batches=file.slower)


def _read_once(file: LongFile, as_text: frozenset[str]) -> Contents:
    reader = EntryReader(file)
    batches = [reader.read(parts) for parts in file.batches(as_text)]
    reader.check_numbers()
    if reader.n_instances == 0:
        refuse_empty(file.path)
    entries = []
    for place in range(len(batches[0])):
        entries.append(np.concatenate([batch[place] for batch in batches]))
        for batch in batches:
            batch[place] = entries[-1][:0]  # is not needed any more
    return reader.contents(entries, 0, reader.n_instances)


def read_long_blocks(file: LongFile) -> Iterator[Contents]:
    """Like `read_long`, in blocks of whole instances; the entries of an instance must be adjacent in the file."""
    reader, first, waiting = EntryReader(file), 0, None
    try:
        for parts in file.batches(frozenset()):
            entries = reader.read(parts)
            reader.check_numbers()
            entries = (
                entries if waiting is None else [np.concatenate(pair) for pair in zip(waiting, entries, strict=True)]
            )
            if (cut := _find_last_instance(entries[0], file.path)) > 0:
                yield reader.contents([each[:cut] for each in entries], first, int(entries[0][cut]))
                first = int(entries[0][cut])
            waiting = [each[cut:] for each in entries]
    except NotAsAssumed as wrong:
        msg = (
            f"{file.path} must hold ids of one kind in the column {file.columns[wrong.part]} to be read in blocks. "
            f"{wrong}. Read it with load, or name the columns: columns=(...) (--columns)."
        )
        raise FileError(msg) from wrong
    except Unreadable as error:
        assert file.slower is not None
        for _ in file.slower(frozenset()):
            continue  # raises at the invalid row
        msg = f"{file.path} must have one entry per line to be read in blocks. {error}. Read it with load."
        raise FileError(msg) from error
    if waiting is not None and reader.n_instances:
        yield reader.contents(waiting, first, reader.n_instances)


class EntryReader:
    """Reads columns in batches; instance and label ids keep their numbers from one batch to the next."""

    def __init__(self, file: LongFile) -> None:
        notes = file.notes
        self._path, self._titles, self._shape = file.path, notes.get("titles"), notes.get("shape")
        self._messages = file.messages
        self._width = self._shape[1] if self._shape else 1
        self._instances, self._labels = (
            IdNumbers(file.path, part, notes.get(f"{part}s"), is_plain=file.is_plain[part]) for part in file.is_plain
        )
        self._label_names: LabelNames | None = None
        self._n_entries = 0
        self._may_repeat = "probability" not in file.columns and "rank" not in file.columns

    @property
    def n_instances(self) -> int:
        """The number of instances that the metadata states or that were read so far, whichever is larger."""
        return max(self._shape[0] if self._shape else 0, self._instances.n_seen)

    def read(self, columns: dict[str, Any]) -> Entries:
        """Convert columns, given by part: instance, label, probability and rank."""
        rows, labels = self._instances.number(columns["instance"]), self._labels.number(columns["label"])
        if "is_empty" in columns:
            rows = rows[~columns["is_empty"]]
        self._n_entries += rows.size
        values = self._read_values(columns.get("probability"), rows.size)
        ranks = [self._as_numbers(columns["rank"], "rank", "fiu")] if "rank" in columns else []
        return [rows, labels, values, *ranks]

    def check_numbers(self) -> None:
        """Refuse numberings with very large gaps, unless these may be ids."""
        for part, numbers in (("instance", self._instances), ("label", self._labels)):
            if not numbers.uses_names:
                numbers.check_gaps(self._n_entries, is_stated=self._shape is not None)
                check_numbers(self._path, part, numbers.n_seen, self._n_entries)

    def contents(self, entries: Entries, first: int, last: int) -> Contents:
        """Build contents from the entries, in any order, of the instances from first to last - 1."""
        rows, labels, values, *ranks = entries
        if ranks or not (rows[1:] >= rows[:-1]).all():
            order = np.lexsort((labels, rows))
            rows, labels, values, *ranks = (each[order] for each in entries)
        indptr = np.searchsorted(rows, np.arange(first, last + 1, dtype=rows.dtype))
        self._width = max(self._width, self._labels.n_seen)
        matrix = build_csr(values, labels, indptr, (last - first, self._width))
        repeated = ""
        if find_disorder(matrix.indptr, matrix.indices) >= 0:
            if not values.flags.writeable:  # of pyarrow
                matrix.data = values.copy()
            _sort_labels(matrix)
            repeated = self._count_once(matrix, first)
        return Contents(
            matrix,
            ranks=self._places(ranks[0], rows, indptr, first) if ranks else None,
            label_names=self._name_labels(),
            instance_names=self._instances.ids(first, last),
            is_open=self._shape is None,
            messages=self._messages,
            repeated=repeated,
        )

    def _name_labels(self) -> LabelNames | None:
        """Return the label names so far; rebuilt only if there are new ones."""
        if not self._labels.uses_names:
            return None
        if self._label_names is None or len(self._label_names) < self._labels.n_seen:
            names, is_open = self._labels.names or (), self._labels.is_open
            self._label_names = LabelNames(names, self._titles, by_appearance=is_open)
        return self._label_names

    def _read_values(self, column: Any, size: int) -> NDArray:
        if column is None:
            return np.ones(size, dtype=np.float32)
        values = self._as_numbers(column, "probability", "fiub")
        return values.astype(np.float32) if values.dtype == np.float16 else values

    def _as_numbers(self, column: Any, part: str, kinds: str) -> NDArray:
        values = column if isinstance(column, np.ndarray) else column.to_numpy()
        n_missing = 0 if isinstance(column, np.ndarray) else column.null_count
        if values.dtype.kind not in kinds or n_missing:
            came = f"{n_missing:,} missing values" if n_missing else values.dtype
            msg = f"{self._path} must hold a number in every row of the column {part}. Got {came}."
            raise FileError(msg)
        return values

    def _places(self, ranks: NDArray, rows: NDArray, indptr: NDArray, first: int) -> NDArray:
        """Convert ranks, which may be any numbers without ties, to 0, 1, 2, ... in each row."""
        by_rank = np.lexsort((ranks, rows))
        is_same = (np.diff(rows[by_rank]) == 0) & ~(np.diff(ranks[by_rank]) > 0)
        if is_same.any():
            came = self._instances.call(int(rows[by_rank][np.argmax(is_same)]))
            msg = f"{self._path} must rank the labels of an instance without ties. Instance {came} has a tie."
            raise FileError(msg)
        places = np.empty(rows.size, dtype=np.int32)
        places[by_rank] = np.arange(rows.size) - indptr[:-1][rows[by_rank] - first]
        return places

    def _count_once(self, matrix: Any, first: int) -> str:
        """Count repeated pairs once, and record the first one; refuse them if they have values or ranks."""
        x = find_disorder(matrix.indptr, matrix.indices)
        if x < 0:
            return ""
        row = int(np.searchsorted(matrix.indptr, x, side="right")) - 1
        instance, label = self._instances.call(row + first), self._labels.call(int(matrix.indices[x]))
        came = f"Instance {instance} holds label {label} twice."
        if not self._may_repeat:
            msg = f"{self._path} must hold each label of an instance once. {came} Remove or merge the duplicates first."
            raise FileError(msg)
        matrix.sum_duplicates()
        matrix.data[:] = 1
        return came


def _sort_labels(matrix: Any) -> None:
    """Sort the entries of each row by label, half of the entries on a thread of their own."""
    indptr, labels, values = matrix.indptr.astype(np.int64), matrix.indices, matrix.data
    middle = int(np.searchsorted(indptr, indptr[-1] // 2))
    with ThreadPoolExecutor(1) as other:
        half = other.submit(sort_row_labels, indptr, labels, values, 0, middle)
        sort_row_labels(indptr, labels, values, middle, indptr.size - 1)
        half.result()


def joined(path: Any, files: list[LongFile]) -> LongFile:
    """Read several files with the same columns as one, in their order."""
    for file in files:
        if file.columns != files[0].columns:
            msg = (
                f"The files of {path} must have the same columns. {files[0].path} has "
                f"{', '.join(files[0].columns.values())}, {file.path} {', '.join(file.columns.values())}."
            )
            raise FileError(msg)

    def read_batches(as_text: frozenset[str]) -> Iterator[dict[str, Any]]:
        return (parts for file in files for parts in file.batches(as_text))

    def read_slowly(as_text: frozenset[str]) -> Iterator[dict[str, Any]]:
        return (parts for file in files for parts in (file.slower or file.batches)(as_text))

    notes = files[0].notes if len(files) == 1 else {}
    first = files[0]
    return LongFile(path, first.columns, first.is_plain, notes, read_batches, read_slowly, first.messages)


def _find_last_instance(rows: NDArray, path: Any) -> int:
    """Return where the last instance begins; further entries of it may follow in the next batch."""
    if (np.diff(rows) < 0).any():
        msg = f"{path} must be sorted by instance to be read in blocks. It is not. Sort it, or read it with load."
        raise FileError(msg)
    return int(np.searchsorted(rows, rows[-1])) if rows.size else 0
