"""Numpy arrays: LightXML's pair NAME-labels.npy and NAME-scores.npy, both (n, k'), or one dense matrix (n, m)."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.disk import input_errors_of, written_beside
from tailwise.datasets.formats.npz import read_whole
from tailwise.datasets.formats.ordered_rows import ANY, check_numbers, ordered_contents
from tailwise.errors import FileError, InputError
from tailwise.inputs.chosen import EMPTY
from tailwise.inputs.matrices import tidy_csr

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["pair_of", "pair_to_write", "read_array", "read_npy", "write_npy"]

LABELS, SCORES = "-labels.npy", "-scores.npy"


def pair_of(path: Any) -> tuple[Path, Path] | None:
    """Return the two files of the pair that a path belongs to, or None if its name is not one of a pair."""
    name = os.fspath(path)
    for ending in (LABELS, SCORES):
        if name.endswith(ending):
            stem = name.removesuffix(ending)
            return Path(stem + LABELS), Path(stem + SCORES)
    return None


def pair_to_write(path: Any) -> tuple[Path, Path]:
    """Return the two files that writing to a path creates."""
    pair = pair_of(path)
    if pair is None:
        msg = f"path must end in {LABELS} or {SCORES}, which name a pair of files. Got {path}."
        raise InputError(msg)
    return pair


def read_npy(path: Any) -> Contents:
    """Read a pair, ranked by the order within its rows, or a dense matrix, whose zeros are omitted."""
    pair = pair_of(path)
    if pair is None or (os.fspath(path).endswith(SCORES) and not pair[0].exists()):
        array = read_array(path)
        with input_errors_of():
            return Contents(tidy_csr(array, f"the array in {path}"))
    labels, scores = (read_array(each) for each in pair)
    if labels.ndim != 2 or labels.shape != scores.shape or labels.dtype.kind not in "iu" or 0 in labels.shape:
        msg = (
            f"{pair[0]} and {pair[1].name} must hold label numbers and scores in arrays of the same shape (n, k'). "
            f"Got {labels.dtype} {labels.shape} and {scores.dtype} {scores.shape}."
        )
        raise FileError(msg)
    if labels.min() < EMPTY or labels.max() >= ANY:
        came = labels.min() if labels.min() < EMPTY else labels.max()
        msg = f"{pair[0]} must hold label numbers from 0 to {ANY - 1}, or -1 for an empty slot. Got {came}."
        raise FileError(msg)
    is_used = labels != EMPTY
    check_numbers(path, "label", int(labels.max()) + 1, int(is_used.sum()))
    parts = is_used.sum(axis=1), labels[is_used].astype(np.int32), scores[is_used]
    return replace(ordered_contents(*parts, int(labels.max()) + 1 or 1, path), is_open=True)


def write_npy(path: Any, contents: Contents) -> None:
    """Write both files of the pair that a path belongs to; best first, with -1 for an empty slot."""
    pair = pair_to_write(path)
    matrix, order = contents.matrix, contents.best_first()
    counts = np.diff(matrix.indptr)
    is_used = np.arange(max(1, int(counts.max()))) < counts[:, None]
    labels, scores = np.full(is_used.shape, EMPTY, dtype=np.int64), np.zeros(is_used.shape, dtype=contents.values.dtype)
    labels[is_used], scores[is_used] = matrix.indices[order], contents.values[order]
    with ExitStack() as stack:
        files = [stack.enter_context(written_beside(each)) for each in pair]
        for file, array in zip(files, (labels, scores), strict=True):
            np.save(file, array, allow_pickle=False)


def read_array(path: Any) -> NDArray:
    """Read one array of numbers."""
    remedy = "Write it again with numpy.save, with rows of equal length."
    rule = "be a complete and valid .npy file of numbers"
    array = read_whole(path, lambda file: np.load(file, allow_pickle=False), rule, remedy)
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiub":
        msg = f"{path} must hold one array of real numbers. Got {getattr(array, 'dtype', type(array).__name__)}."
        raise FileError(msg)
    return array
