"""Parquet in long form: the columns instance, label, probability and rank (1 for the best), an entry a line.

`instance` and `label` are numbers or names; `probability` (or `score`) may be missing, and is then 1; `rank` may be
missing, and then there is no ranking. Sizes and names that the entries alone do not tell are kept in the file's notes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.datasets.contents import Contents
from tailwise.datasets.label_names import LabelNames
from tailwise.datasets.matrices import build_csr
from tailwise.datasets.opening import opened
from tailwise.datasets.writing import written_beside
from tailwise.errors import FileError, MissingExtraError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["read_parquet", "read_parquet_blocks", "write_parquet"]

NOTES = b"tailwise"
BATCH = 1 << 20  # entries read at a time


def read_parquet(path: Any) -> Contents:
    """The entries as a matrix, in whatever order they are."""
    with _table_file(path) as file:
        notes, columns = _notes(file), _columns(file, path)
        table = file.read(columns=[name for name in columns.values() if name])
        return _contents(path, notes, {part: table[name] for part, name in columns.items() if name})


def read_parquet_blocks(path: Any) -> Iterator[Contents]:
    """The same in pieces of whole instances; these must come one after another in the file."""
    with _table_file(path) as file:
        notes, columns = _notes(file), _columns(file, path)
        yield from _merge_instances(path, notes, columns, file)


def write_parquet(path: Any, contents: Contents) -> None:
    """Entries in the order of their instances, best first."""
    arrow, parquet = _import_pyarrow()
    matrix, order, names = contents.matrix, contents.best_first(), contents.label_names
    counts = np.diff(matrix.indptr)
    rows, labels = np.repeat(np.arange(counts.size), counts), matrix.indices[order]
    columns = {
        "instance": arrow.array(rows) if contents.instance_names is None else _named(rows, contents.instance_names),
        "label": arrow.array(labels) if names is None else _named(labels, names.ids),
        "probability": arrow.array(contents.values[order]),
    }
    if contents.ranks is not None or contents.ranking is not None:
        columns["rank"] = arrow.array((np.arange(labels.size) - np.repeat(matrix.indptr[:-1], counts) + 1).astype("i4"))
    if names is not None and names.titles is not None:
        columns["title"] = _named(labels, names.titles)
    notes: dict[str, Any] = {"shape": matrix.shape, "instances": contents.instance_names}
    notes.update(labels=None if names is None else names.ids, titles=None if names is None else names.titles)
    table = arrow.table(columns).replace_schema_metadata({NOTES: json.dumps(notes).encode()})
    with written_beside(path) as file:
        parquet.write_table(table, file)


def _import_pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        msg = "Parquet files need pyarrow, which is not installed. Install it with: pip install 'tailwise[parquet]'"
        raise MissingExtraError(msg) from error
    return pyarrow, pyarrow.parquet


def _named(numbers: NDArray, names: Any) -> Any:
    """A column of text that is stored as numbers and the names used."""
    arrow, _ = _import_pyarrow()
    used, codes = np.unique(numbers, return_inverse=True)
    texts = arrow.array([names[number] for number in used], type=arrow.string())
    return arrow.DictionaryArray.from_arrays(arrow.array(codes.astype(np.int32)), texts)


class _table_file:
    """An open Parquet file; whatever breaks while it is read becomes a FileError."""

    def __init__(self, path: Any) -> None:
        self._arrow, self._parquet = _import_pyarrow()
        self._path, self._opened = path, opened(path)

    def __enter__(self) -> Any:
        try:
            return self._parquet.ParquetFile(self._opened.__enter__())
        except self._arrow.ArrowException as error:
            self._opened.__exit__(None, None, None)
            self._refuse(error)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._opened.__exit__(None, None, None)
        if isinstance(error, (self._arrow.ArrowException, OSError)) and not isinstance(error, FileError):
            self._refuse(error)

    def _refuse(self, error: BaseException) -> None:
        text = str(error).split("\n")[0]
        msg = f"{self._path} must be a whole and valid Parquet file. Reading it failed: {text}. Copy it again."
        raise FileError(msg) from error


def _notes(file: Any) -> dict[str, Any]:
    metadata = file.schema_arrow.metadata or {}
    return json.loads(metadata[NOTES]) if NOTES in metadata else {}


def _columns(file: Any, path: Any) -> dict[str, str | None]:
    """Which column holds which part."""
    names = file.schema_arrow.names
    found = {part: part if part in names else None for part in ("instance", "label", "probability", "rank")}
    found["probability"] = found["probability"] or ("score" if "score" in names else None)
    missing = [part for part in ("instance", "label") if found[part] is None]
    if missing:
        msg = (
            f"{path} must have the columns instance and label (and probability, rank). "
            f"Missing: {', '.join(missing)}. It has {', '.join(names) or 'none'}."
        )
        raise FileError(msg)
    return found


def _merge_instances(path: Any, notes: dict[str, Any], columns: dict[str, str | None], file: Any) -> Iterator[Contents]:
    """Blocks of whole instances: the last instance of a batch waits for the next one."""
    arrow, _ = _import_pyarrow()
    wanted = [name for name in columns.values() if name]
    first, n_labels, waiting = 0, int((notes.get("shape") or (0, 1))[1]), None
    for batch in file.iter_batches(batch_size=BATCH, columns=wanted):
        table = arrow.Table.from_batches([batch])
        table = table if waiting is None else arrow.concat_tables([waiting, table]).unify_dictionaries()
        instances = table[columns["instance"]].to_numpy()
        if instances.dtype.kind not in "iu" or (np.diff(instances) < 0).any():
            msg = f"{path} must hold ascending numbers of instances to be read in blocks. Sort it, or read it whole."
            raise FileError(msg)
        cut = int(np.searchsorted(instances, instances[-1]))
        waiting = table.slice(cut)
        if cut:
            yield (block := _block(path, notes, columns, table.slice(0, cut), first, int(instances[cut]), n_labels))
            first, n_labels = int(instances[cut]), block.matrix.shape[1]
    if waiting is not None:
        last = max(int(waiting[columns["instance"]].to_numpy()[-1]) + 1, int((notes.get("shape") or (0, 1))[0]))
        yield _block(path, notes, columns, waiting, first, last, n_labels)


def _block(
    path: Any, notes: dict[str, Any], columns: dict[str, str | None], table: Any, first: int, last: int, n_labels: int
) -> Contents:
    arrow, _ = _import_pyarrow()
    parts = {part: table[name] for part, name in columns.items() if name}
    parts["instance"] = arrow.chunked_array([arrow.array(table[columns["instance"]].to_numpy() - first)])
    names = notes.get("instances")
    inner = {**notes, "shape": (last - first, n_labels), "instances": names[first:last] if names else None}
    contents = _contents(path, inner, parts)
    return replace(contents, is_open="shape" not in notes)


def _contents(path: Any, notes: dict[str, Any], parts: dict[str, Any]) -> Contents:
    rows, row_names = _numbers(path, "instance", parts["instance"], notes.get("instances"))
    labels, label_names = _numbers(path, "label", parts["label"], notes.get("labels"))
    values = _values(path, parts.get("probability"), rows.size)
    shape = notes.get("shape")
    n = max(shape[0] if shape else 1, _count(rows, row_names))
    m = max(shape[1] if shape else 1, _count(labels, label_names))
    order = np.lexsort((labels, rows))
    rows, labels, values = rows[order], labels[order], values[order]
    _refuse_twice(path, rows, labels, label_names)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    matrix = build_csr(values, labels.astype(np.int32), indptr, (n, m))
    ranks = _ranks(path, parts["rank"], order, rows, indptr) if "rank" in parts else None
    names = None if label_names is None else LabelNames(label_names, notes.get("titles"))
    return Contents(matrix, ranks=ranks, label_names=names, instance_names=row_names, is_open=shape is None)


def _numbers(path: Any, part: str, column: Any, known: Any) -> tuple[NDArray, tuple[str, ...] | None]:
    """A column as numbers from 0 on, and the names behind them where it holds text."""
    arrow, _ = _import_pyarrow()
    if column.null_count:
        msg = f"{path} must have a value in every line of the column {part}. {column.null_count:,} are missing."
        raise FileError(msg)
    if arrow.types.is_integer(column.type):
        numbers = column.to_numpy().astype(np.int64)
        if numbers.size and (numbers.min() < 0 or numbers.max() >= 2**31 - 1):
            came = numbers.min() if numbers.min() < 0 else numbers.max()
            msg = f"{path} must hold numbers from 0 to {2**31 - 2} in the column {part}. Got {came}."
            raise FileError(msg)
        return numbers, None
    values = column.combine_chunks()
    values = values if isinstance(values, arrow.DictionaryArray) else values.dictionary_encode()
    texts = [str(text) for text in values.dictionary.to_pylist()]
    if not known:
        return np.asarray(values.indices).astype(np.int64), tuple(texts)
    numbers_of = {text: number for number, text in enumerate(known)}
    numbers = np.array([numbers_of.get(text, -1) for text in texts], dtype=np.int64)
    if (numbers < 0).any():
        msg = f"{path} must name only the {part}s in its notes. Got {texts[int(np.argmin(numbers))]!r}. Write it again."
        raise FileError(msg)
    return numbers[np.asarray(values.indices)], tuple(known)


def _values(path: Any, column: Any, size: int) -> NDArray:
    if column is None:
        return np.ones(size)
    values = column.to_numpy()
    if values.dtype.kind not in "fiub" or column.null_count:
        msg = f"{path} must hold a number in every line of the column probability. Got others."
        raise FileError(msg)
    return values.astype(np.float32) if values.dtype == np.float16 else values


def _ranks(path: Any, column: Any, order: NDArray, rows: NDArray, indptr: NDArray) -> NDArray:
    """Places from 0 in each row, by whatever numbers the ranks are; equal ones would be no ranking."""
    ranks = column.to_numpy()[order]
    by_rank = np.lexsort((ranks, rows))
    is_same = (np.diff(rows[by_rank]) == 0) & ~(np.diff(ranks[by_rank]) > 0)
    if is_same.any():
        x = int(np.argmax(is_same))
        msg = (
            f"{path} must rank the labels of an instance differently. Instance {rows[by_rank][x]} has two of one rank."
        )
        raise FileError(msg)
    places = np.empty(rows.size, dtype=np.int32)
    places[by_rank] = np.arange(rows.size) - indptr[:-1][rows[by_rank]]
    return places


def _refuse_twice(path: Any, rows: NDArray, labels: NDArray, names: tuple[str, ...] | None) -> None:
    is_twice = (np.diff(rows) == 0) & (np.diff(labels) == 0)
    if is_twice.any():
        x = int(np.argmax(is_twice))
        name = labels[x] if names is None else repr(names[labels[x]])
        msg = f"{path} must hold each label of an instance once. Instance {rows[x]} holds label {name} twice."
        raise FileError(msg)


def _count(numbers: NDArray, names: tuple[str, ...] | None) -> int:
    return len(names) if names is not None else int(numbers.max(initial=-1)) + 1
