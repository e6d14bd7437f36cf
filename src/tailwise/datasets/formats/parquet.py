"""Parquet in long form: the columns instance, label, probability and rank (1 for the best), one row per entry.

`instance` and `label` are numbers or names. `probability` (or `score`) is optional and defaults to 1; without `rank`
there is no ranking. Sizes and names that the entries do not determine are stored in the metadata of the file.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.disk import is_compressed, opened, parse_json, written_beside
from tailwise.datasets.formats.ordered_rows import ANY
from tailwise.datasets.formats.table_entries import LongFile, find_columns
from tailwise.errors import FileError, InputError, MachineError, MissingExtraError
from tailwise.inputs.ids import Ids
from tailwise.inputs.label_names import is_text, plain_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["open_parquet", "write_parquet"]

NOTES = b"tailwise"
BATCH = 1 << 20  # entries read at a time
MOST_ROWS = 1 << 22  # rows of a row group that is read as a whole
N_READERS = 2
MOST_PER_CODE, LARGEST_DICTIONARY = 4, 1 << 20  # bytes


def open_parquet(path: Any, columns: Any = None) -> LongFile:
    """Open a file with a row per entry."""
    with opened(path) as file:
        table = _open_table(file, path)
        schema, notes = table.schema_arrow, _read_notes(table, path)
    found, is_plain, messages = find_columns(path, schema.names, columns)
    texts = [found[part] for part in ("instance", "label") if _is_text(schema, found[part])]
    encoded = [column for column in texts if _is_encoded(table.metadata, column)]

    def read_batches(as_text: frozenset[str]) -> Iterator[dict[str, Any]]:
        for parts in _read_batches(path, found, {"read_dictionary": encoded}):
            yield {part: _as_text(column) if part in as_text else column for part, column in parts.items()}

    return LongFile(path, found, is_plain, notes, read_batches, messages=messages)


def _as_text(column: Any) -> Any:
    """Convert integers to text if other files of the same set hold text."""
    arrow, _ = _import_pyarrow()
    return column.cast(arrow.string()) if arrow.types.is_integer(column.type) else column


def _is_text(schema: Any, column: str) -> bool:
    return str(schema.field(column).type) in ("string", "large_string")


def _is_encoded(metadata: Any, column: str) -> bool:
    """Whether a column seems to be stored as a dictionary and codes throughout; reading it as one is much faster.

    Writers give up on a dictionary that grows beyond about a megabyte, and continue with plain text. Building a
    dictionary for this text again would be slower than reading it as it is.
    """
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    parts = [group.column(place) for group in groups for place in range(metadata.num_columns)]
    found = [part for part in parts if part.path_in_schema == column]
    n_values, size = sum(part.num_values for part in found), sum(part.total_uncompressed_size for part in found)
    return size <= MOST_PER_CODE * n_values + LARGEST_DICTIONARY * len(found)


def write_parquet(path: Any, contents: Contents) -> None:
    """Write entries in the order of their instances, best first."""
    arrow, parquet = _import_pyarrow()
    instances = _names_to_write(contents.instance_names)
    matrix, order, names = contents.matrix, contents.best_first(), contents.label_names
    counts = np.diff(matrix.indptr)
    rows, labels = np.repeat(np.arange(counts.size), counts), matrix.indices[order]
    columns = {
        "instance": arrow.array(rows) if instances is None else _named(rows, instances),
        "label": arrow.array(labels) if names is None else _named(labels, _plain(names)),
        "probability": arrow.array(contents.values[order]),
    }
    if contents.ranks is not None or contents.ranking is not None:
        columns["rank"] = arrow.array((np.arange(labels.size) - np.repeat(matrix.indptr[:-1], counts) + 1).astype("i4"))
    if names is not None and names.titles is not None:
        columns["title"] = _named(labels, names.titles)
    notes: dict[str, Any] = {"shape": matrix.shape, "instances": instances}
    notes.update(labels=None if names is None else _plain(names), titles=None if names is None else names.titles)
    table = arrow.table(columns).replace_schema_metadata({NOTES: json.dumps(notes).encode()})
    with written_beside(path) as file:
        parquet.write_table(table, file, write_page_checksum=True)


def _import_pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        msg = "Parquet files need pyarrow, which is not installed. Install it with: pip install 'tailwise[parquet]'"
        raise MissingExtraError(msg) from error
    return pyarrow, pyarrow.parquet


def _named(numbers: NDArray, names: Any) -> Any:
    """Build a dictionary-encoded column of text, or a column of integers."""
    arrow, _ = _import_pyarrow()
    if isinstance(names[0], int):
        return arrow.array(names, arrow.uint64() if max(names) >= 2**63 else arrow.int64()).take(arrow.array(numbers))
    used, codes = np.unique(numbers, return_inverse=True)
    texts = arrow.array([names[number] for number in used], type=arrow.string())
    return arrow.DictionaryArray.from_arrays(arrow.array(codes.astype(np.int32)), texts)


@contextmanager
def _reading(path: Any) -> Iterator[None]:
    """Convert failures while reading a Parquet file to FileErrors."""
    arrow, _ = _import_pyarrow()
    try:
        yield
    except FileError:
        raise
    except MemoryError as error:
        msg = f"{path} must fit in memory. It does not: {error}. Close other programs, or read it in parts."
        raise MachineError(msg) from error
    except (arrow.ArrowException, OSError, ValueError, TypeError, KeyError, NotImplementedError) as error:
        text = str(error).split("\n")[0].rstrip(".")
        msg = f"{path} must be a complete and valid Parquet file. Reading it failed: {text}. Copy it again."
        raise FileError(msg) from error


def _open_table(file: Any, path: Any, **options: Any) -> Any:
    _, parquet = _import_pyarrow()
    with _reading(path):
        table = parquet.ParquetFile(file, page_checksum_verification=True, **options)
        table.schema_arrow  # noqa: B018 - read from the file on first access
        return table


def _read_batches(path: Any, columns: dict[str, str], options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the parts of some rows at a time: row groups on threads of their own, or parts of large row groups."""
    with opened(path) as file:
        table = _open_table(file, path, **options)
        yield _parts(table.schema_arrow.empty_table(), columns)
        groups = [table.metadata.row_group(number).num_rows for number in range(table.num_row_groups)]
        if not len(groups) > 1 or max(groups) > MOST_ROWS or is_compressed(path):
            yield from _read_in_order(table, path, columns)
            return
    with ThreadPoolExecutor(N_READERS) as pool, ExitStack() as files:
        readers: SimpleQueue[Any] = SimpleQueue()
        for _ in range(N_READERS):
            readers.put(_open_table(files.enter_context(opened(path)), path, **options))
        waiting = deque[Future[dict[str, Any]]]()
        for numbers in _join_groups(groups):
            waiting.append(pool.submit(_read_groups, readers, numbers, path, columns))
            if len(waiting) > N_READERS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _join_groups(sizes: list[int]) -> Iterator[list[int]]:
    """Group adjacent row groups that together have about BATCH rows."""
    numbers: list[int] = []
    for number, size in enumerate(sizes):
        if numbers and sum(sizes[each] for each in numbers) + size > BATCH:
            yield numbers
            numbers = []
        numbers.append(number)
    yield numbers


def _read_groups(readers: SimpleQueue[Any], numbers: list[int], path: Any, columns: dict[str, str]) -> dict[str, Any]:
    table = readers.get()
    try:
        with _reading(path):
            found = table.read_row_groups(numbers, columns=list(columns.values()), use_threads=False)
            return _parts(found, columns)
    finally:
        readers.put(table)


def _read_in_order(table: Any, path: Any, columns: dict[str, str]) -> Iterator[dict[str, Any]]:
    arrow, _ = _import_pyarrow()
    with _reading(path):
        batches = table.iter_batches(batch_size=BATCH, columns=list(columns.values()))
    while True:
        with _reading(path):
            batch = next(batches, None)
            parts = None if batch is None else _parts(arrow.Table.from_batches([batch]), columns)
        if parts is None:
            return
        yield parts


def _read_notes(file: Any, path: Any) -> dict[str, Any]:
    """Return the metadata that tailwise writes; empty for files of other programs."""
    metadata = file.schema_arrow.metadata or {}
    if NOTES not in metadata:
        return {}
    try:
        notes = parse_json(metadata[NOTES])
    except ValueError:
        notes = None
    if not _are_notes(notes):
        msg = f"{path} must have valid tailwise metadata. It is damaged. Write the file again, or drop its metadata."
        raise FileError(msg)
    return notes


def _are_notes(notes: Any) -> bool:
    """Whether notes hold a shape of two positive integers, and matching numbers of names, if any."""
    if not (isinstance(notes, dict) and {"shape", "instances", "labels", "titles"} <= notes.keys()):
        return False
    shape = notes["shape"]
    if not (isinstance(shape, list) and len(shape) == 2 and all(type(n) is int and 0 < n <= ANY for n in shape)):
        return False
    if notes["titles"] is not None and not _are_texts(notes["titles"]):
        return False
    names = ((notes["instances"], shape[0]), (notes["labels"], shape[1]), (notes["titles"], shape[1]))
    return all(each is None or _are_names(each, size) for each, size in names)


def _are_names(names: Any, size: int) -> bool:
    if not (isinstance(names, list) and len(names) == size):
        return False
    return _are_integers(names) or _are_texts(names)


def _are_integers(names: list[Any]) -> bool:
    if set(map(type, names)) != {int}:
        return not names
    least, most = min(names), max(names)
    return (least >= -(2**63) and most < 2**63) or (least >= 0 and most < 2**64)


def _are_texts(names: Any) -> bool:
    return all(isinstance(name, str) and is_text(name) for name in names)


def _parts(table: Any, columns: dict[str, str]) -> dict[str, Any]:
    """Return the columns by part, validated: a damaged file may hold invalid text or dictionary indices."""
    table.validate(full=True)
    return {part: table[name] for part, name in columns.items()}


def _names_to_write(names: Ids | None) -> list[Any] | None:
    """Return the instance names, which must be unique."""
    if names is None:
        return None
    plain = _plain(names)
    if len(rows := {name: row for row, name in enumerate(plain)}) < len(plain):
        twice = next(name for row, name in enumerate(plain) if rows[name] != row)
        msg = f"instance_names must be unique in a Parquet file. Got {twice!r} twice. Rename it, or use .jsonl."
        raise InputError(msg)
    return plain


def _plain(names: Ids) -> list[Any]:
    """Return ids as 64-bit integers if all are, otherwise as text: a column holds one kind."""
    plain = plain_names(names) or []
    return plain if _are_integers(plain) else list(map(str, plain))
