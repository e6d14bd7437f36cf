"""The store: candidates as a folder of plain .npy arrays and a JSON header, mapped instead of read.

| file | holds |
|---|---|
| `store.json` | sizes, version, and the type, length and checksums of each array; written last |
| `pointers.npy`, `labels.npy`, `probabilities.npy` | CSR: int64, int32 and float32; labels ascend within an instance |
| `instance-ids.npy`, `label-ids.npy` | ids, if there are any: int64, or the bytes of texts with `...-lengths.npy` |
| `label-titles.npy`, `label-titles-lengths.npy` | titles of the labels, if there are any |
| `by-label-....npy` | the candidates by label, if that was asked for: see `store_by_label.py` |
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.disk import file_errors_of, input_errors_of, real
from tailwise.datasets.formats.ordered_rows import refuse_empty
from tailwise.datasets.formats.output_folders import FolderKind, claimed_folder
from tailwise.datasets.formats.store_by_label import check_by_label, columns_of, write_by_label
from tailwise.datasets.formats.store_header import (
    HEADER,
    LABELS,
    POINTERS,
    PROBABILITIES,
    read_header,
    refuse_header,
    write_header,
)
from tailwise.datasets.formats.stored_arrays import (
    AGAIN,
    ArrayWriter,
    check_sums,
    map_array,
    pack_texts,
    unpack_texts,
)
from tailwise.errors import FileError
from tailwise.inputs.ids import Ids
from tailwise.inputs.label_names import LabelNames
from tailwise.inputs.matrices import build_csr, cut_pointers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.inputs.candidates import Candidates

__all__ = [
    "SUFFIX",
    "fill_store",
    "is_store",
    "list_store",
    "map_candidates",
    "map_store",
    "read_store",
    "read_store_blocks",
    "store_folder",
    "write_store",
]

SUFFIX = ".store"
INSTANCES, NAMES, TITLES = "instance-ids", "label-ids", "label-titles"
MOST_ENTRIES = 2**31 - 1  # what the index of a sparse matrix of scipy can count without copying the labels
ENTRIES_AT_ONCE = 1 << 22  # candidates of a block

_verified: set[tuple[Any, ...]] = set()  # files whose checksums this process has compared


def is_store(path: Any) -> bool:
    """Whether a path is a finished store, or a folder that is named like one."""
    if not isinstance(path, (str, os.PathLike)) or not os.path.isdir(path):
        return False
    return os.fspath(path).rstrip("/\\").lower().endswith(SUFFIX) or os.path.isfile(os.path.join(path, HEADER))


def store_folder() -> FolderKind:
    """A store as an output folder."""
    return FolderKind(HEADER, "be a store", list_store)


def list_store(folder: Path) -> list[str]:
    """The files of a finished store."""
    return [HEADER, *read_header(folder)["files"]]


# Writing


def write_store(path: Any, contents: Contents) -> None:
    """Write contents as a store, in the place of one that exists."""
    with claimed_folder(path, store_folder(), overwrite=True) as draft:
        fill_store(draft, [contents], path)


def fill_store(
    folder: Path, blocks: Iterable[Contents], source: Any, *, by_label: bool = False, progress: bool = False
) -> int:
    """Write blocks of instances to an empty folder, the header last; return the number of instances."""
    with file_errors_of(folder), ExitStack() as stack:
        writer = StoreWriter(folder, source)
        stack.callback(writer.abandon)
        for block in blocks:
            writer.append(block)
        if writer.n_instances == 0:
            refuse_empty(source)
        writer.finish(by_label=by_label, progress=progress)
    return writer.n_instances


class StoreWriter:
    """Writes a store, some instances at a time."""

    def __init__(self, folder: Path, source: Any) -> None:
        self._folder, self._source = folder, source
        self._arrays: dict[str, ArrayWriter] = {}
        self._n_labels, self._is_open = 1, False
        self._names: LabelNames | None = None
        self.n_instances = self._n_entries = 0

    def append(self, block: Contents) -> None:
        """Check the probabilities of some instances, and write them."""
        from tailwise.inputs.candidates import Candidates  # which imports the formats

        n, first = block.matrix.shape[0], self.n_instances
        with input_errors_of(f"{self._source}, instances {first} to {first + n - 1}"):
            rows = Candidates.of(block.matrix).rows
        self._check_size(rows.labels.size)
        self._open(POINTERS, np.int64).append(rows.indptr[first > 0 :] + self._n_entries)
        self._open(LABELS, np.int32).append(rows.labels)
        self._open(PROBABILITIES, np.float32).append(rows.values)
        self._append_ids(block.instance_names)
        self.n_instances, self._n_entries = first + n, self._n_entries + rows.labels.size
        self._n_labels, self._is_open = max(self._n_labels, block.matrix.shape[1]), block.is_open
        self._names = block.label_names or self._names

    def finish(self, *, by_label: bool = False, progress: bool = False) -> None:
        """Write the names, the candidates by label where that is asked for, and the header."""
        if self._names is not None:
            self._append(NAMES, self._names)
            if self._names.titles is not None:
                self._append_texts(TITLES, self._names.titles)
        files = {name: writer.close() for name, writer in self._arrays.items()}
        if by_label:
            files |= write_by_label(self._folder, self._map(files), progress=progress)
        header = {
            "n_instances": self.n_instances,
            "n_labels": self._n_labels,
            "n_entries": self._n_entries,
            "is_open": self._is_open,
            "files": files,
        }
        write_header(self._folder, header)

    def abandon(self) -> None:
        """Close all files."""
        for writer in self._arrays.values():
            writer.abandon()

    def _map(self, files: dict[str, Any]) -> Candidates:
        from tailwise.inputs.candidates import Candidates  # which imports the formats

        names = POINTERS, LABELS, PROBABILITIES
        pointers, labels, values = (map_array(self._folder / name, files[name]) for name in names)
        return Candidates(pointers, labels, values, self._n_labels)

    def _open(self, name: str, dtype: Any) -> ArrayWriter:
        if name not in self._arrays:
            self._arrays[name] = ArrayWriter(self._folder / name, dtype)
        return self._arrays[name]

    def _check_size(self, n_more: int) -> None:
        if self._n_entries + n_more > MOST_ENTRIES:
            msg = (
                f"{self._source} must hold at most {MOST_ENTRIES:,} candidates to become one store. It holds more. "
                "Make several stores, and select one after another with context=selection.totals."
            )
            raise FileError(msg)

    def _append_ids(self, ids: Ids | None) -> None:
        has_ids = any(name.startswith(INSTANCES) for name in self._arrays)
        if self.n_instances and (ids is not None) != has_ids:
            msg = f"{self._source} must name all instances or none. Some have ids. Give ids to all of them."
            raise FileError(msg)
        if ids is not None:
            self._append(INSTANCES, ids)

    def _append(self, stem: str, ids: Ids) -> None:
        """Write ids: integers as they are, texts as bytes."""
        is_text = ids.values.dtype.kind not in "iu"
        came = f"{stem}-lengths.npy" in self._arrays
        if (f"{stem}.npy" in self._arrays and came != is_text) or not all(
            isinstance(value, str) for value in (ids.values.tolist() if is_text else ())
        ):
            msg = (
                f"{self._source} must have {ids.what} ids that are all integers or all text. Got others. Convert them."
            )
            raise FileError(msg)
        if is_text:
            self._append_texts(stem, ids.values.tolist())
        else:
            self._open(f"{stem}.npy", np.int64).append(ids.values)

    def _append_texts(self, stem: str, texts: Iterable[str]) -> None:
        data, lengths = pack_texts(texts)
        self._open(f"{stem}.npy", np.uint8).append(data)
        self._open(f"{stem}-lengths.npy", np.int64).append(lengths)


# Reading


def map_store(path: Any, *, verify: bool = True) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """The header of a store and its arrays, mapped; checksums are compared once in a process."""
    folder = real(path)
    header = read_header(path)
    arrays = {name: map_array(folder / name, known) for name, known in header["files"].items()}
    pointers = arrays[POINTERS]
    if pointers[0] != 0 or pointers[-1] != header["n_entries"]:
        msg = f"{folder / POINTERS} must run from 0 to {header['n_entries']:,}, the number of candidates. {AGAIN}"
        raise FileError(msg)
    check_by_label(folder, arrays, header["n_entries"])
    if verify:
        _verify(folder, header, arrays)
    return header, arrays


def _verify(folder: Path, header: dict[str, Any], arrays: dict[str, NDArray]) -> None:
    pending = []
    for name, array in arrays.items():
        facts = os.stat(folder / name)
        key = (
            str(folder / name),
            facts.st_ino,
            facts.st_size,
            facts.st_mtime_ns,
            tuple(header["files"][name]["crc32"]),
            header["n_labels"],
        )
        if key not in _verified:
            pending.append((key, (folder / name, array, header["files"][name]["crc32"])))
    check_sums(each for _, each in pending)
    labels = arrays[LABELS]
    if pending and labels.size and not 0 <= labels.min() <= labels.max() < header["n_labels"]:
        refuse_header(folder / HEADER, f"it says {header['n_labels']:,} labels, but {LABELS} has others")
    _verified.update(key for key, _ in pending)


def read_store(path: Any) -> Contents:
    """The contents of a store, whose arrays stay on disk."""
    header, arrays = map_store(path)
    shape = header["n_instances"], header["n_labels"]
    matrix = build_csr(arrays[PROBABILITIES], arrays[LABELS], arrays[POINTERS], shape)
    ids, names, titles = (_read_ids(arrays, stem) for stem in (INSTANCES, NAMES, TITLES))
    return Contents(
        matrix,
        label_names=None if names is None else LabelNames(names, titles),
        instance_names=Ids.of(ids),
        is_open=bool(header.get("is_open")),
    )


def map_candidates(path: Any, n_labels: int) -> Candidates:
    """The candidates of a store, whose arrays stay on disk; they were checked when it was made."""
    from tailwise.inputs.candidates import Candidates  # which imports the formats

    _, arrays = map_store(path)
    columns = columns_of(arrays, n_labels)
    return Candidates(arrays[POINTERS], arrays[LABELS], arrays[PROBABILITIES], n_labels, columns=columns)


def _read_ids(arrays: dict[str, NDArray], stem: str) -> Any:
    if f"{stem}.npy" not in arrays:
        return None
    if f"{stem}-lengths.npy" in arrays:
        return unpack_texts(arrays[f"{stem}.npy"], arrays[f"{stem}-lengths.npy"])
    return np.array(arrays[f"{stem}.npy"])


def read_store_blocks(path: Any) -> Iterator[Contents]:
    """The same, some instances at a time."""
    contents = read_store(path)
    for first, last in cut_pointers(contents.matrix.indptr, ENTRIES_AT_ONCE):
        yield contents.rows(first, last)
