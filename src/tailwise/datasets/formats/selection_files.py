"""Selections from files and to files, with the order of their labels."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.disk import check_place
from tailwise.datasets.formats.output_files import check_free
from tailwise.datasets.formats.read_write import load_contents, write_contents
from tailwise.datasets.formats.registry import RANKING, find_format_to_write
from tailwise.errors import InputError
from tailwise.inputs.chosen import EMPTY, Chosen
from tailwise.inputs.label_names import LabelNames
from tailwise.inputs.matrices import tidy_csr

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["check_writable_target", "load_selection", "names_to_write", "save_selection"]

Path = str | os.PathLike[str]


def load_selection(
    path: Path, *, n_labels: int | None = None, label_names: Any = None, format: str | None = None
) -> Chosen:
    """Read a selection: ranked where the file holds the order of the labels, unranked where it is a 0/1 matrix only."""
    return load_contents(path, n_labels=n_labels, label_names=label_names, format=format).chosen(path)


def save_selection(
    path: Path,
    chosen: Chosen,
    *,
    probabilities: Any = None,
    label_names: Any = None,
    instance_names: Sequence[str] | None = None,
    format: str | None = None,
) -> None:
    """Write a selection, with the order of its labels.

    As .npz it is the 0/1 matrix that ``scipy.sparse.load_npz`` reads, with the order beside it; prediction text, JSON
    lines, Parquet and LightXML's pair list the labels of each instance, best first, with a score each.

    Parameters
    ----------
    path : str or path
        Where to; the suffix says which format.
    chosen : Chosen
        A Selection, or ``Chosen.of(labels, n_labels)``. The order, ``labels`` of int32 ``(n, k)`` with -1 for an
        empty slot, is stored only where it means something.
    probabilities : csr_array of shape (n, m), optional
        The scores of the formats that list labels; 0 where a chosen label has none. Default: 1 for each.
    label_names, instance_names, format : optional
        As for :func:`tailwise.save`.

    Examples
    --------
    >>> import os, tempfile
    >>> from tailwise.inputs.chosen import Chosen
    >>> from tailwise.datasets import load_selection, save_selection
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "selection.npz")
    ...     save_selection(path, Chosen.of([[2, 0], [1, -1]], n_labels=4))
    ...     load_selection(path).labels
    array([[ 2,  0],
           [ 1, -1]], dtype=int32)
    """
    if not isinstance(chosen, Chosen):
        msg = f"chosen must be a Selection or Chosen. Got {type(chosen).__name__}. Use Chosen.of(labels, n_labels)."
        raise InputError(msg)
    matrix = tidy_csr(chosen.to_csr(), "chosen")
    contents = Contents(
        matrix,
        ranking=chosen.labels.astype(np.int32, copy=False) if chosen.is_ranked else None,
        ranks=_ranks_of(chosen) if chosen.is_ranked else None,
        scores=None if probabilities is None else _values_at(probabilities, matrix),
        label_names=LabelNames.of(label_names),
        instance_names=None if instance_names is None else tuple(map(str, instance_names)),
    )
    if not chosen.is_ranked and find_format_to_write(path, frozenset(), format).is_ordered:
        msg = f"{path} must be in a format that stores no order, because the selection has none. Use .npz or .parquet."
        raise InputError(msg)
    write_contents(path, contents, format)


def check_writable_target(path: Path, *, overwrite: bool = True, format: str | None = None) -> None:
    """Refuse a path that a selection could not, or without `overwrite` should not, be written to; before long work."""
    found = find_format_to_write(path, frozenset({RANKING}), format)
    for target in found.targets(path):
        check_place(target)
        check_free(target, overwrite=overwrite)


def names_to_write(path: Path, names: LabelNames | None, *, are_needed: bool) -> LabelNames | None:
    """The names, where the format of a path can hold them; None where it cannot and they are not needed."""
    if names is None:
        return None
    try:
        find_format_to_write(path, frozenset({RANKING})).check_names(names.ids)
    except InputError:
        if are_needed:
            raise
        return None
    return names


def _ranks_of(chosen: Chosen) -> NDArray:
    """For each entry of the selection's matrix, its place in its row."""
    is_used = chosen.labels != EMPTY
    rows, places = np.nonzero(is_used)
    return places[np.lexsort((chosen.labels[is_used], rows))].astype(np.int32)


def _values_at(probabilities: Any, matrix: sp.csr_array) -> NDArray:
    """The probability of each entry of a 0/1 matrix, 0 where there is none."""
    values = tidy_csr(probabilities, "probabilities")
    if values.shape != matrix.shape:
        msg = f"probabilities must have the shape of the selection, {matrix.shape}. Got {values.shape}."
        raise InputError(msg)
    n, m = matrix.shape
    keys, wanted = (
        np.repeat(np.arange(n, dtype=np.int64), np.diff(each.indptr)) * m + each.indices for each in (values, matrix)
    )
    if not keys.size:
        return np.zeros(wanted.size)
    where = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    return np.where(keys[where] == wanted, values.data[where], values.data.dtype.type(0))
