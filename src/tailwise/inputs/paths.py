"""Paths given in place of values, and the matching of several files.

Labels and instances of several files are matched by name if the files name them, and by number otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.file_sets import find_files, is_file_set
from tailwise.datasets.formats.prior_files import is_priors_file, load_priors
from tailwise.datasets.formats.read_write import as_labels, has_columns, load, load_contents
from tailwise.datasets.formats.store_files import is_store, map_candidates
from tailwise.errors import FileError, InputError
from tailwise.inputs.ids import Ids
from tailwise.inputs.joining import Space
from tailwise.inputs.label_names import LabelNames, find_label_names
from tailwise.inputs.priors import LabelPriors
from tailwise.inputs.table_columns import PARTS, is_table, open_table

__all__ = [
    "Source",
    "columns_there",
    "id_columns_there",
    "is_list_of_paths",
    "is_path",
    "load_all_labels",
    "load_if_path",
    "load_like",
    "names_for",
]

BLOCK = 1 << 20  # values compared at a time


def is_path(source: Any) -> bool:
    """Whether a value is a path."""
    return isinstance(source, (str, os.PathLike))


def is_list_of_paths(source: Any) -> bool:
    """Whether a value is a list of the paths of several files."""
    return isinstance(source, list) and len(source) > 0 and all(map(is_path, source))


@dataclass(frozen=True, eq=False)
class Source:
    """A matrix and, if it was read from a file, the rest of the file's contents.

    Files that are read later are put in its order of labels and instances.

    Attributes
    ----------
    matrix : csr_array or array_like
        The matrix in the file, or the value that was given.
    contents : Contents or None
        The contents of the file; None if no file was given.
    path : path or None
        The file.
    all_names : LabelNames or None
        The names of all labels, if the caller gave them.
    columns : mapping or sequence of str, or None
        The columns that the caller named; other files and tables are read by those of instances and labels, too.
    is_of_tags : bool
        Whether the labels were lists of names, so that nothing tells their order.
    """

    matrix: Any
    contents: Contents | None = None
    path: Any = None
    all_names: LabelNames | None = None
    columns: Any = None
    is_of_tags: bool = False

    @classmethod
    def of(cls, source: Any, label_names: Any = None, columns: Any = None) -> Source:
        """Read a file, or several as one; wrap any other value unchanged."""
        if not is_path(source) and not is_list_of_paths(source):
            return cls(source, columns=columns)
        names = LabelNames.of(label_names)
        contents = load_all_labels(source, label_names=names, columns=columns)
        return cls(contents.matrix, contents, source, names, columns)

    @property
    def n_labels(self) -> int | None:
        """The number of labels, if the value determines it."""
        is_matrix = sp.issparse(self.matrix) or (isinstance(self.matrix, np.ndarray) and self.matrix.ndim == 2)
        return self.matrix.shape[1] if is_matrix else None

    @property
    def names(self) -> LabelNames | None:
        """The label names given by the caller, by the file, or by a labels.txt next to it."""
        return None if self.contents is None else self.all_names or names_for(self.contents, self.path)

    @property
    def probabilities(self) -> Any:
        """The matrix, which must hold probabilities if it comes from a file: true labels are all 1."""
        if self.contents is not None and self.matrix.nnz > 1 and _are_ones(self.matrix.data):
            msg = (
                f"{self.path} must hold probabilities. All {self.matrix.nnz:,} of its values are 1, as those of true "
                "labels are. Give the file with the probabilities; if its columns have other names, say which: "
                "instance='user_id', label='item_id', probability='score' (--columns user_id,item_id,score)."
            )
            raise FileError(msg)
        if self.contents is None or not is_store(self.path):
            return self.matrix
        return map_candidates(self.path, self.matrix.shape[1])

    @property
    def instance_ids(self) -> Ids | None:
        """The ids of the instances that the file holds."""
        return None if self.contents is None else self.contents.instance_names

    def widened(self, n_labels: int) -> Source:
        """Extend to `n_labels` labels if the file has fewer and does not state the number of labels."""
        if self.contents is None or not self.contents.is_open or n_labels <= self.matrix.shape[1]:
            return self
        contents, matrix = self.contents.widened(n_labels, self.path), self.matrix.copy()
        matrix.resize(contents.matrix.shape)
        return replace(self, matrix=matrix, contents=contents)

    def load_like(self, path: Any, *, same_instances: bool = True, columns: Any = None) -> Contents:
        """Read another file with its labels, and by default its instances, in the order of this source."""
        if self.contents is None:
            return load_contents(path, n_labels=self.n_labels, columns=columns)
        options = {"same_instances": same_instances, "columns": columns}
        return load_like(path, self.contents, self.path, self.all_names, **options)

    def read_matrix(self, source: Any) -> Any:
        """Read a matrix of the same instances and labels from a path; return any other value unchanged."""
        return self.load_like(source).matrix if is_path(source) else source

    def read_selection(self, selection: Any, columns: Any = None) -> Any:
        """Read a selection for the same instances from a path; return any other value unchanged."""
        if not is_path(selection):
            return selection
        contents = load_contents(selection, columns=columns)
        names = None if self.all_names is not None else self.names
        if names is not None and self.contents is not None and self.contents.is_open and contents.label_names is None:
            # This file lists names in order of appearance, so the numbers in the other file do not refer to them.
            contents = replace(contents, label_names=names_for(contents, selection))
        if names is not None and (contents.label_names is not None or contents.is_open):
            chosen = contents.chosen(selection)
            chosen = Space("", self.instance_ids, names).number_by_id(chosen) if contents.is_open else chosen
            if chosen.label_names is not None:
                return chosen  # to be joined by id
        return self.load_like(selection, same_instances=False, columns=columns).chosen(selection)

    def read_priors(self, priors: Any) -> LabelPriors | None:
        """Read training frequencies, from a priors file or from training labels (path or matrix).

        They have the labels of this source, or labels with ids of their own, which :class:`Space` joins.
        """
        if priors is None:
            return None
        if not is_path(priors):
            return LabelPriors.from_labels(priors)
        if is_priors_file(priors):
            return load_priors(priors)
        contents = load_contents(priors)
        if contents.label_names is None:
            contents = self.load_like(priors, same_instances=False)
        elif self.contents is not None and self.names is None:
            _refuse(priors, self.path)
        found, names = LabelPriors.from_labels(as_labels(contents.matrix, priors)), contents.label_names or self.names
        return found.with_names(names if names is not None and len(names) == found.n_labels else None)


def _are_ones(values: NDArray) -> bool:
    """Whether all values are 1; usually the first ones decide, and no array of their size is made."""
    return all((values[first : first + BLOCK] == 1).all() for first in range(0, values.size, BLOCK))


def columns_there(source: Any, columns: dict[str, str]) -> dict[str, str] | None:
    """The columns, if a table or a file has all of them; otherwise None, so that it is read by the usual names."""
    if not columns or not (is_path(source) or is_table(source)):
        return None
    if is_path(source):
        return columns if has_columns(source, columns) else None
    return columns if set(columns.values()) <= set(open_table(source, "").columns) else None


def id_columns_there(source: Any, columns: Any) -> dict[str, str] | None:
    """The columns of instances and labels that were named for probabilities, if another table or file has them."""
    if columns is None:
        return None
    named = dict(columns if isinstance(columns, Mapping) else zip(PARTS, columns, strict=False))
    return columns_there(source, {part: named[part] for part in ("instance", "label") if part in named})


def load_if_path(source: Any) -> Any:
    """Read the matrix in a file if a path is given; return any other value unchanged."""
    return load(source) if is_path(source) else source


def names_for(contents: Contents, path: Any) -> LabelNames | None:
    """Return the label names of a file, from the file itself or from a labels.txt next to it."""
    if contents.label_names is not None or path is None:
        return contents.label_names
    first = find_files(path)[0] if is_file_set(path) else path
    return find_label_names(first, contents.matrix.shape[1], may_be_more=contents.is_open)


def load_all_labels(
    path: Any, label_names: Any = None, *, n_labels: int | None = None, columns: Any = None
) -> Contents:
    """Read a file; if it does not state the number of labels, use that of the given names or of a labels.txt."""
    contents = load_contents(path, n_labels=n_labels, label_names=label_names, columns=columns)
    if not contents.is_open or contents.label_names is not None:
        return contents
    names = names_for(contents, path)
    return contents if names is None else contents.widened(len(names), path)


def load_like(
    path: Any,
    first: Contents,
    first_path: Any,
    names: LabelNames | None = None,
    *,
    same_instances: bool = True,
    columns: Any = None,
) -> Contents:
    """Read a file with the same labels, and by default the same instances, as a file read before.

    Parameters
    ----------
    path : str or path
        The file.
    first, first_path : Contents, path
        The file read before.
    names : LabelNames, optional
        The names of all labels; `first` is in their order.
    same_instances : bool
        Whether the rows are the same instances; they are then put in the same order if both files name them.
    columns : mapping, optional
        The columns of the file, as for :func:`tailwise.load`.
    """
    contents = load_contents(path, columns=columns)
    if same_instances and contents.matrix.shape[0] == first.matrix.shape[0]:
        contents = contents.in_order_of(first.instance_names, path)
    if contents.label_names is not None:
        known = names or names_for(first, first_path)
        if known is None:
            _refuse(path, first_path)
        return contents.renumbered(known, path)
    if names is None and first.label_names is not None and first.is_open:
        _refuse(first_path, path)
    return contents.widened(first.matrix.shape[1], path)


def _refuse(named: Any, numbered: Any) -> NoReturn:
    msg = (
        f"{named} and {numbered} must both name or both number their labels. The first names them, the second numbers "
        "them. Give label_names (--label-names FILE), one name per line in the order of the numbers."
    )
    raise InputError(msg)
