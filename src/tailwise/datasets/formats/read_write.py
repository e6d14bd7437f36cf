"""Reading and writing of matrices and labels in any format."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.disk import input_errors_of
from tailwise.datasets.formats.file_sets import find_files, is_file_set, read_files
from tailwise.datasets.formats.named_matrices import take_ids
from tailwise.datasets.formats.ordered_rows import refuse_empty
from tailwise.datasets.formats.records import load_json, open_records
from tailwise.datasets.formats.registry import (
    FEATURES,
    NAMES,
    RANKING,
    SCORES,
    Format,
    find_format,
    find_format_to_write,
)
from tailwise.datasets.formats.table_entries import LongFile, read_long
from tailwise.datasets.formats.text import LARGEST
from tailwise.errors import InputError, TailwiseError
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.checks import check_size
from tailwise.inputs.chosen import Chosen
from tailwise.inputs.ids import Ids
from tailwise.inputs.label_names import LabelNames
from tailwise.inputs.matrices import as_indicator, tidy_csr
from tailwise.inputs.table_columns import is_table

__all__ = [
    "as_labels",
    "checked_contents",
    "fit_contents",
    "has_columns",
    "load",
    "load_contents",
    "load_features",
    "load_labels",
    "read_blocks",
    "save",
    "write_contents",
]

Path = str | os.PathLike[str]


def load(
    path: Any,
    *,
    n_labels: int | None = None,
    label_names: Any = None,
    format: str | None = None,
    columns: Any = None,
) -> sp.csr_array:
    """Read a sparse matrix, for instance the probabilities of a batch or its true labels.

    Parameters
    ----------
    path : str or path, or a list of these
        A file in one of these formats: scipy's or PECOS's .npz, text of the Extreme Classification Repository (its
        labels are returned), svmlight or prediction text, JSON and JSON lines, CSV, TSV or Parquet with a row per
        entry, Annif's corpora and suggestions, LightXML's pair of .npy, a store; text may be compressed (.gz, .zst).
        The format is found from the suffix and, if that is ambiguous, from the first lines. A directory, a pattern
        such as ``part-*.parquet`` or a list of files is read as one input, in the order of their names.
    n_labels : int, optional
        Number of labels m, for a file that lists labels without stating their number. Default: the largest label + 1.
    label_names : LabelNames, sequence of str or path, optional
        The order of the labels, for a file that names them. Default: the order of the file.
    format : str, optional
        The name of the format, if neither suffix nor first lines determine it: npz, smat, npy, predictions,
        repository, split, svmlight, jsonl, records, json, csv, tsv, annif, annif-corpus, parquet or store.
    columns : mapping or sequence of str, optional
        The columns that hold instances, labels and, optionally, probabilities and ranks, in this order or by these
        names (instance, label, probability, rank), for files with a row per entry. Default: those with usual names,
        such as user_id, item_id and score.

    Returns
    -------
    csr_array of shape (n, m)
        Labels are ascending and unique within a row. Values have the type stored in the file; text and half precision
        become single precision.

    Raises
    ------
    FileError
        If the file is missing, unreadable, damaged, in an unknown format, or does not hold a sparse matrix. For text,
        the message states the line and what was expected there.

    See Also
    --------
    tailwise.datasets.load_contents : the whole file, including features, ranking and names.
    tailwise.datasets.read_blocks : the same in blocks, for a file larger than memory.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np, tailwise as tw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "probabilities.jsonl")
    ...     tw.save(path, np.array([[0.9, 0.0, 0.2], [0.0, 0.4, 0.0]]))
    ...     tw.load(path).toarray()
    array([[0.9, 0. , 0.2],
           [0. , 0.4, 0. ]], dtype=float32)
    """
    return load_contents(path, n_labels=n_labels, label_names=label_names, format=format, columns=columns).matrix


def load_contents(
    path: Any,
    *,
    n_labels: int | None = None,
    label_names: Any = None,
    format: str | None = None,
    columns: Any = None,
) -> Contents:
    """Read the whole contents of a file; the parameters are those of :func:`tailwise.load`."""
    if is_file_set(path):
        contents = read_files(path, columns, format)
    elif columns is None:
        contents = find_format(path, format).read(path)
    else:
        contents = read_long(_open_long(path, columns, format))
    return _fitted(contents, path, n_labels, LabelNames.of(label_names))


def _open_long(path: Path, columns: Any, format: str | None) -> LongFile:
    """Open a file whose columns the caller names."""
    found = find_format(path, format)
    if found.name == "json":
        return open_records(path, lambda: enumerate(load_json(path), 1), columns)
    if found.open_long is None:
        msg = f"columns is for CSV, TSV, Parquet and JSON records. Got {path}, which is {found.title}. Omit it."
        raise InputError(msg)
    return found.open_long(path, columns)


def has_columns(path: Any, columns: Any) -> bool:
    """Whether a file, or the first of several, has a row per entry and columns of these names."""
    try:
        _open_long(find_files(path)[0] if is_file_set(path) else path, columns, None)
    except TailwiseError:  # errors in a file are reported when it is read
        return False
    return True


def load_features(path: Path, *, format: str | None = None) -> sp.csr_array:
    """Read features from a file of features, or from one of features and labels."""
    contents = load_contents(path, format=format)
    return contents.matrix if contents.features is None else contents.features


def read_blocks(
    path: Path,
    rows: int = 100_000,
    *,
    n_labels: int | None = None,
    label_names: Any = None,
    format: str | None = None,
) -> Iterator[Contents]:
    """Read a file in blocks of instances, so that it may be larger than memory.

    Text, JSON lines, CSV, Parquet and .npz are read block by block; other formats are read as a whole and then split.
    Files with a row per entry must be sorted by instance.

    Parameters
    ----------
    path : str or path
        The file, as for :func:`tailwise.load`.
    rows : int
        Maximum number of instances per block. The last block, and blocks of Parquet or long text, may have fewer.
    n_labels, label_names, format : optional
        As for :func:`tailwise.load`. If a file does not state the number of labels and neither of these is given,
        each block is as wide as the largest label so far.

    Yields
    ------
    Contents
        ``matrix`` of shape (rows, m) and, if the file has them, ``features``, ``ranks`` and names.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np, tailwise as tw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "probabilities.txt")
    ...     tw.save(path, np.eye(5))
    ...     [block.matrix.shape for block in tw.datasets.read_blocks(path, rows=2, n_labels=5)]
    [(2, 5), (2, 5), (1, 5)]
    """
    rows = check_size("rows", rows)
    return _read_blocks(path, rows, find_format(path, format), n_labels, LabelNames.of(label_names))


def save(
    path: Path,
    matrix: Any,
    *,
    features: Any = None,
    label_names: Any = None,
    instance_names: Any = None,
    format: str | None = None,
) -> None:
    """Write a sparse or dense matrix to a file that :func:`tailwise.load` can read.

    An existing file is replaced only once the new one is complete. Equal matrices give equal bytes.

    Parameters
    ----------
    path : str or path
        The file. Its suffix determines the format: .npz (scipy's), .smat.npz (PECOS's), -labels.npy (LightXML's pair),
        .txt (prediction text or, with features, text of the Extreme Classification Repository), .svm (svmlight),
        .jsonl, .json, .csv, .tsv, .parquet or .store (:func:`tailwise.open_store`); text, JSON and CSV are compressed
        if .gz or .zst is added.
    matrix : Selection, Candidates, table, array_like or sparse matrix of shape (n, m)
        A selection, which is written with its ids as :meth:`Selection.save` does; candidates or a table, written with
        theirs; or real numbers. Zeros in a dense array are omitted; those stored in a sparse matrix are kept.
    features : array_like or sparse matrix of shape (n, d), optional
        Features of the same instances, for text formats that hold both.
    label_names : LabelNames, sequence of str or path, optional
        Names of the labels, written in place of numbers by formats that support it.
    instance_names : Ids or sequence, optional
        Ids of the instances, for .jsonl, .json, .csv, .tsv and .parquet.
    format : str, optional
        The name of the format, if the suffix is ambiguous.
    """
    if isinstance(matrix, Chosen):
        from tailwise.datasets.formats.selection_files import save_with_ids  # which imports this module

        save_with_ids(path, matrix, getattr(matrix, "probabilities", None), format)
        return
    if is_table(matrix) or isinstance(matrix, Candidates):
        matrix, label_names, instance_names = take_ids(path, matrix, label_names, instance_names, format)
    contents = Contents(
        tidy_csr(matrix, "matrix"),
        features=None if features is None else tidy_csr(features, "features"),
        label_names=LabelNames.of(label_names),
        instance_names=Ids.of(instance_names),
    )
    write_contents(path, contents, format)


def load_labels(
    path: Path, *, n_labels: int | None = None, label_names: Any = None, format: str | None = None
) -> sp.csr_array:
    """Read true labels, a 0/1 matrix, as a CSR array of int8 that stores only the ones."""
    return as_labels(load(path, n_labels=n_labels, label_names=label_names, format=format), path)


def as_labels(matrix: sp.csr_array, path: Any) -> sp.csr_array:
    """Check that the matrix of a file holds labels."""
    with input_errors_of():
        return as_indicator(matrix, str(path), "Give a file of true labels, not of probabilities.").astype(np.int8)


def _fitted(contents: Contents, path: Path, n_labels: int | None, names: LabelNames | None) -> Contents:
    if names is not None:
        n_labels = len(names)
        if contents.label_names is not None:
            return contents.renumbered(names, path)
    contents = contents.widened(n_labels, path)
    if names is not None:
        if (m := contents.matrix.shape[1]) != len(names):
            msg = f"label_names must hold one name for each of the {m} labels of {path}. Got {len(names)}."
            raise InputError(msg)
        return replace(contents, label_names=names)
    return contents


def fit_contents(contents: Contents, path: Any, names: LabelNames) -> Contents:
    """Return contents with their labels in the order of names."""
    return _fitted(contents, path, None, names)


def _read_blocks(
    path: Path, rows: int, format: Format, n_labels: int | None, names: LabelNames | None
) -> Iterator[Contents]:
    is_empty = True
    for block in iter([format.read(path)]) if format.blocks is None else format.blocks(path):
        fitted = _fitted(block, path, n_labels, names)
        is_empty = False
        for first in range(0, fitted.matrix.shape[0], rows):
            yield fitted.rows(first, first + rows)
    if is_empty:
        refuse_empty(path)


def write_contents(path: Path, contents: Contents, format: str | None = None) -> None:
    """Write contents in a format that can store them, possibly without names."""
    _check_sizes(contents)
    parts = {FEATURES} if contents.features is not None else set()
    parts |= {SCORES} if (contents.values != 1).any() else set()
    parts |= {RANKING} if contents.ranks is not None else set()
    parts |= {NAMES} if contents.label_names is not None else set()
    found = find_format_to_write(path, frozenset(parts), format)
    checked_contents(contents, found)
    if found.write is None:
        msg = f"{path} must have a format that can be written. {found.title} cannot. Use .csv, .jsonl or .parquet."
        raise InputError(msg)
    found.write(path, contents)


def checked_contents(contents: Contents, format: Format) -> Contents:
    """Return the contents unchanged; refuse what a format cannot hold."""
    _check_sizes(contents)
    if format.is_text:
        _check_finite(contents)
    return contents


def _check_finite(contents: Contents) -> None:
    for name, values in (("matrix", contents.values), ("features", getattr(contents.features, "data", np.zeros(0)))):
        is_wrong = ~(np.abs(values) <= LARGEST) if values.dtype.kind == "f" else np.zeros(0, dtype=bool)
        if is_wrong.any():
            msg = f"{name} must hold finite numbers to be written as text. Got {values[np.argmax(is_wrong)]}. Use .npz."
            raise InputError(msg)


def _check_sizes(contents: Contents) -> None:
    n, m = contents.matrix.shape
    features, labels, instances = contents.features, contents.label_names, contents.instance_names
    for name, size, wanted in (
        ("features", None if features is None else features.shape[0], n),
        ("label_names", None if labels is None else len(labels), m),
        ("instance_names", None if instances is None else len(instances), n),
    ):
        if size is not None and size != wanted:
            what = "label" if name == "label_names" else "instance"
            msg = f"{name} must have {wanted} entries, one per {what}. Got {size}."
            raise InputError(msg)
