"""The candidates of a store a second time, by label: for label passes and proofs, which else make them first.

| file | holds |
|---|---|
| `by-label-pointers.npy` | int64: where the candidates of each label begin |
| `by-label-instances.npy`, `by-label-positions.npy` | int32, and uint16 or int32: the instance, and its place in it |
| `by-label-probabilities.npy` | float32 |
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.datasets.formats.stored_arrays import AGAIN, ArrayWriter
from tailwise.engines.engine import Threads
from tailwise.errors import FileError
from tailwise.inputs.matrices import extend_columns, list_column_parts, position_type
from tailwise.kernels.rows import Columns
from tailwise.progress import track

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.inputs.candidates import Candidates

__all__ = ["BY_LABEL", "check_by_label", "columns_of", "find_fault", "write_by_label"]

BY_LABEL = tuple(f"by-label-{name}.npy" for name in ("pointers", "instances", "positions", "probabilities"))


def write_by_label(folder: Path, candidates: Candidates, *, progress: bool = False) -> dict[str, Any]:
    """Write the candidates of a store by label, some labels at a time; returns what its header says about the files."""
    rows, sizes = candidates.rows, candidates.by_label.sizes
    dtypes = np.int64, np.int32, position_type(rows), rows.values.dtype
    writers = [ArrayWriter(folder / name, dtype) for name, dtype in zip(BY_LABEL, dtypes, strict=True)]
    try:
        bar = track(total=candidates.n_entries, title="by label", unit="candidates", shown=progress)
        with Threads(None) as threads, bar:
            for columns in list_column_parts(rows, sizes, threads):
                if writers[0].size == 0:
                    writers[0].append(columns.indptr)
                for writer, array in zip(writers[1:], columns[1:], strict=True):
                    writer.append(array)
                bar.update(columns.instances.size)
        return {name: writer.close() for name, writer in zip(BY_LABEL, writers, strict=True)}
    finally:
        for writer in writers:
            writer.abandon()


def find_fault(files: dict[str, Any], n_labels: int, n_entries: int) -> str:
    """The file by label that a header describes wrongly, or lacks beside others; empty if there is none."""
    if not any(name in files for name in BY_LABEL):
        return ""
    types = ("<i8",), ("<i4",), ("<u2", "<i4"), ("<f4",)
    sizes = n_labels + 1, n_entries, n_entries, n_entries
    for name, dtypes, size in zip(BY_LABEL, types, sizes, strict=True):
        known = files.get(name, {})
        if known.get("dtype") not in dtypes or known.get("size") != size:
            return name
    return ""


def check_by_label(folder: Path, arrays: dict[str, NDArray], n_entries: int) -> None:
    """Refuse pointers that lead beyond the candidates."""
    if BY_LABEL[0] not in arrays:
        return
    pointers = arrays[BY_LABEL[0]]
    if pointers[0] != 0 or pointers[-1] != n_entries or (pointers[1:] < pointers[:-1]).any():
        msg = f"{folder / BY_LABEL[0]} must ascend from 0 to {n_entries:,}, the number of candidates. {AGAIN}"
        raise FileError(msg)


def columns_of(arrays: dict[str, NDArray], n_labels: int) -> Columns | None:
    """The mapped candidates by label, if the store has them; further labels have none."""
    if BY_LABEL[0] not in arrays:
        return None
    return extend_columns(Columns(*(arrays[name].view(np.ndarray) for name in BY_LABEL)), n_labels)
