"""Reading and writing of selections with the order of their labels."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from tailwise.datasets.formats.contents import Contents, ranks_of
from tailwise.datasets.formats.disk import check_place
from tailwise.datasets.formats.output_files import check_free
from tailwise.datasets.formats.read_write import checked_contents, load_contents, write_contents
from tailwise.datasets.formats.registry import NAMES, RANKING, SCORES, find_format_to_write
from tailwise.errors import InputError
from tailwise.inputs.chosen import EMPTY, Chosen
from tailwise.inputs.ids import Ids
from tailwise.inputs.label_names import LabelNames
from tailwise.inputs.matrices import tidy_csr

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "check_holds_ids",
    "check_writable_target",
    "load_selection",
    "names_to_write",
    "save_selection",
    "save_with_ids",
]

Path = str | os.PathLike[str]
INSTANCES_AT_ONCE = 1 << 16


def load_selection(
    path: Path, *, n_labels: int | None = None, label_names: Any = None, format: str | None = None
) -> Chosen:
    """Read a selection, ranked if the file stores the order of the labels and unranked if it is only a 0/1 matrix."""
    return load_contents(path, n_labels=n_labels, label_names=label_names, format=format).chosen(path)


def save_selection(
    path: Path,
    chosen: Chosen,
    *,
    probabilities: Any = None,
    label_names: Any = None,
    instance_names: Any = None,
    format: str | None = None,
) -> None:
    """Write a selection with the order of its labels.

    An .npz file holds the 0/1 matrix, which ``scipy.sparse.load_npz`` reads, and the order as an additional array.
    Prediction text, JSON lines, Parquet and LightXML's pair list the labels of each instance, best first, with scores.

    Parameters
    ----------
    path : str or path
        The file; its suffix determines the format.
    chosen : Chosen
        A Selection, or ``Chosen.of(labels, n_labels)``. The order of the labels is stored if the selection is ranked.
    probabilities : csr_array of shape (n, m), optional
        The scores for formats that list labels; 0 for a chosen label without an entry. Default: 1 for each label.
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
    if not chosen.is_ranked and find_format_to_write(path, frozenset(), format).is_ordered:
        msg = f"{path} must have a format without an order of labels: the selection has none. Use .npz or .parquet."
        raise InputError(msg)
    values = None if probabilities is None else _check_values(probabilities, chosen)
    whole = _Written(chosen, values, LabelNames.of(label_names), Ids.of(instance_names))
    found = find_format_to_write(path, whole.parts, format)
    if found.write_blocks is None or chosen.n_instances <= INSTANCES_AT_ONCE:
        write_contents(path, whole.rows(0, chosen.n_instances), format)
    else:  # one by one, so that no second copy of a large selection is made
        found.write_blocks(path, map(checked_contents, whole.blocks(), repeat(found)))


class _Written(NamedTuple):
    """A selection with everything that is written with it."""

    chosen: Chosen
    probabilities: sp.csr_array | None
    label_names: LabelNames | None
    instance_names: Ids | None

    @property
    def parts(self) -> frozenset[str]:
        """The parts that a format must be able to hold."""
        is_there = {
            SCORES: self.probabilities is not None,
            RANKING: self.chosen.is_ranked,
            NAMES: self.label_names is not None,
        }
        return frozenset(part for part, is_wanted in is_there.items() if is_wanted)

    def blocks(self) -> Iterator[Contents]:
        """Blocks of instances; the last one has all remaining ids, so that too many are noticed."""
        for first in range(0, self.chosen.n_instances, INSTANCES_AT_ONCE):
            yield self.rows(first, min(first + INSTANCES_AT_ONCE, self.chosen.n_instances))

    def rows(self, first: int, last: int) -> Contents:
        """The instances from first to last - 1."""
        chosen, ids = self.chosen, self.instance_names
        if (first, last) != (0, chosen.n_instances):
            chosen = Chosen(chosen.labels[first:last], chosen.n_labels, is_ranked=chosen.is_ranked)
            stop = last if last < self.chosen.n_instances else None
            ids = None if ids is None else Ids(ids.values[first:stop], ids.what)
        matrix = tidy_csr(chosen.to_csr(), "chosen")
        return Contents(
            matrix,
            ranking=chosen.labels.astype(np.int32, copy=False) if chosen.is_ranked else None,
            ranks=ranks_of(chosen) if chosen.is_ranked else None,
            scores=None if self.probabilities is None else _values_at(self.probabilities, matrix, first),
            label_names=self.label_names,
            instance_names=ids,
        )


def save_with_ids(path: Path, chosen: Chosen, probabilities: NDArray | None, format: str | None = None) -> None:
    """Write a selection with its ids, and the probability of each slot; refuse a format that cannot hold ids."""
    ids, names = chosen.instance_ids, chosen.label_names
    alone = ", or write the numbers alone: tailwise.save(path, selection.to_csr())"
    check_holds_ids(path, ids, names, format, otherwise=alone)
    scores = None
    if probabilities is not None:
        is_used = chosen.labels != EMPTY
        rows, labels = np.nonzero(is_used)[0], chosen.labels[is_used]
        scores = sp.coo_array((probabilities[is_used], (rows, labels)), shape=chosen.shape).tocsr()
    save_selection(path, chosen, probabilities=scores, label_names=names, instance_names=ids, format=format)


def check_holds_ids(
    path: Path, ids: Ids | None, names: Ids | None, format: str | None = None, *, otherwise: str = ""
) -> None:
    """Refuse a path whose format cannot hold ids that a selection has."""
    found = find_format_to_write(path, frozenset({RANKING}), format)
    names_rows, names_labels = _say_more(ids), _say_more(names)
    if (names_rows or names_labels) and not (NAMES in found.holds and (found.names_instances or not names_rows)):
        msg = (
            f"{path} must have a format that holds ids. {found.title} does not. Use .parquet, .jsonl or .csv"
            f"{otherwise}."
        )
        raise InputError(msg)


def _say_more(ids: Ids | None) -> bool:
    """Whether ids are other than the numbers 0, 1, 2, ... of rows or columns."""
    return ids is not None and not np.array_equal(ids.values, np.arange(len(ids)))


def check_writable_target(path: Path, *, overwrite: bool = True, format: str | None = None) -> None:
    """Refuse a path to which a selection cannot be written; call it before long computations."""
    found = find_format_to_write(path, frozenset({RANKING}), format)
    for target in found.targets(path):
        check_place(target)
        check_free(target, overwrite=overwrite)


def names_to_write(path: Path, names: LabelNames | None, *, are_needed: bool) -> LabelNames | None:
    """Return the names if the format of a path can hold them; otherwise None, or an error if they are needed."""
    if names is None:
        return None
    try:
        find_format_to_write(path, frozenset({RANKING})).check_names(names.texts)
    except InputError:
        if are_needed:
            raise
        return None
    return names


def _check_values(probabilities: Any, chosen: Chosen) -> sp.csr_array:
    values = tidy_csr(probabilities, "probabilities")
    if values.shape != chosen.shape:
        msg = f"probabilities must have the shape of the selection, {chosen.shape}. Got {values.shape}."
        raise InputError(msg)
    return values


def _values_at(values: sp.csr_array, matrix: sp.csr_array, start: int) -> NDArray:
    """Return the probability of each entry of a 0/1 matrix whose first row is instance `start`; 0 if it has none."""
    parts = [
        _values_in(values, matrix, start, first, min(first + INSTANCES_AT_ONCE, matrix.shape[0]))
        for first in range(0, matrix.shape[0], INSTANCES_AT_ONCE)  # so that no array as large as all values is made
    ]
    return np.concatenate(parts)


def _values_in(values: sp.csr_array, matrix: sp.csr_array, start: int, first: int, last: int) -> NDArray:
    """Like `_values_at`, for the rows from first to last."""
    keys, wanted = (
        np.repeat(np.arange(last - first, dtype=np.int64), np.diff(each.indptr[at : at + last - first + 1]))
        * matrix.shape[1]
        + each.indices[each.indptr[at] : each.indptr[at + last - first]]
        for each, at in ((values, start + first), (matrix, first))
    )
    data = values.data[values.indptr[start + first] : values.indptr[start + last]]
    if not keys.size:
        return np.zeros(wanted.size, dtype=data.dtype)
    where = np.minimum(np.searchsorted(keys, wanted), keys.size - 1)
    return np.where(keys[where] == wanted, data[where], data.dtype.type(0))
