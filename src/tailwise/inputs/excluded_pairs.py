"""Pairs of instance and label that must not be selected: bought, seen, or indexed already."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tailwise.errors import InputError, UnknownIdsWarning
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.checks import is_integer
from tailwise.inputs.chosen import EMPTY, Chosen
from tailwise.inputs.id_tables import LIBRARIES, read_table
from tailwise.inputs.matrices import as_array, as_indicator
from tailwise.inputs.paths import is_path
from tailwise.kernels.rows import Excluded, mark_excluded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tailwise.inputs.paths import Source

__all__ = ["NOTHING_EXCLUDED", "drop_excluded", "find_excluded", "read_excluded", "set_aside", "with_empty_rows"]

NO_PAIRS = np.zeros(1, np.int64), np.empty(0, np.int32)
NOTHING_EXCLUDED = Excluded(*NO_PAIRS, np.empty(0, np.bool_))
REMEDY = "Give a sparse or boolean matrix of the pairs, a table of ids, or a list of labels for all instances."


def read_excluded(exclude: Any, source: Source, candidates: Candidates) -> Excluded:
    """Read what must not be selected, in any form that `select` takes, in the order of the candidates."""
    if isinstance(exclude, Excluded):
        return exclude
    if is_path(exclude):
        return _from_file(exclude, source, candidates)
    if type(exclude).__module__.split(".")[0] in LIBRARIES:
        return _from_matrix(read_table(exclude, candidates.n_labels), candidates)
    if isinstance(exclude, Chosen):
        return _from_matrix(exclude.to_csr(), candidates)
    if isinstance(exclude, (set, frozenset)):
        exclude = sorted(exclude, key=str)
    if isinstance(exclude, (list, tuple)) and all(np.ndim(each) == 0 for each in exclude):
        return _from_labels(exclude, candidates)
    array = as_array(exclude, "exclude")
    if array.ndim == 1 and not sp.issparse(array):
        return _from_labels(array.tolist(), candidates)
    return _from_matrix(array, candidates)


def _from_labels(labels: Sequence[Any], candidates: Candidates) -> Excluded:
    """Labels that are excluded for all instances, by number or by name."""
    odd = next((label for label in labels if not (is_integer(label) or isinstance(label, str))), None)
    if odd is not None:
        msg = f"exclude as a list must hold label numbers or names. Got {odd!r}. {REMEDY}"
        raise InputError(msg)
    names = candidates.label_names
    numbers = [_number_of(label, names, candidates.n_labels) for label in labels]
    strange = [label for label, number in zip(labels, numbers, strict=True) if number < 0]
    if strange:
        _warn_of_unknown({"label": strange}, len(strange), len(labels), "labels")
    is_barred = np.zeros(candidates.n_labels, dtype=np.bool_)
    is_barred[[number for number in numbers if number >= 0]] = True
    return Excluded(*NO_PAIRS, is_barred)


def _number_of(label: Any, names: Any, n_labels: int) -> int:
    """The number of a label that is given by name or by number; -1 if there is none."""
    if isinstance(label, str):
        number = None if names is None else names.number_of(label)
        return -1 if number is None else number
    return int(label) if 0 <= label < n_labels else -1


def _from_matrix(matrix: Any, candidates: Candidates) -> Excluded:
    csr = as_indicator(matrix, "exclude", REMEDY)
    if csr.shape != candidates.shape:
        msg = (
            f"exclude must have the {candidates.n_instances} instances and {candidates.n_labels} labels of "
            f"probabilities. Got {csr.shape[0]} and {csr.shape[1]}. {REMEDY}"
        )
        raise InputError(msg)
    return Excluded(csr.indptr.astype(np.int64), csr.indices.astype(np.int32), np.empty(0, np.bool_))


def _from_file(path: Any, source: Source, candidates: Candidates) -> Excluded:
    """Pairs of a file: instances and labels are matched by name if both sides name them, else by number."""
    from tailwise.datasets.formats.read_write import load_contents

    contents = load_contents(path)
    own_names = None if source.contents is None else source.contents.instance_names
    rows = _match(contents.instance_names, own_names, contents.matrix.shape[0], candidates.n_instances)
    names = candidates.label_names
    other = None if contents.label_names is None else contents.label_names.ids
    labels = _match(other, None if names is None else names.ids, contents.matrix.shape[1], candidates.n_labels)
    return _from_entries(contents, rows, labels, candidates)


def _match(theirs: Sequence[str] | None, ours: Sequence[str] | None, size: int, own_size: int) -> NDArray:
    """Our number of each of their instances or labels, -1 for those that we do not have."""
    if theirs is None or ours is None:
        numbers = np.arange(size)
        return np.where(numbers < own_size, numbers, -1)
    places = {name: number for number, name in enumerate(ours)}
    return np.array([places.get(name, -1) for name in theirs], dtype=np.int64)


def _from_entries(contents: Any, rows: NDArray, labels: NDArray, candidates: Candidates) -> Excluded:
    """Pairs by their numbers in the batch; those that it does not have are counted once."""
    matrix = contents.matrix
    their_rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    i, j = rows[their_rows], labels[matrix.indices]
    is_known = (i >= 0) & (j >= 0)
    if not is_known.all():
        strange = {
            "instance": _call(np.unique(their_rows[i < 0]), contents.instance_names),
            "label": _call(np.unique(matrix.indices[j < 0]), getattr(contents.label_names, "ids", None)),
        }
        _warn_of_unknown(strange, int((~is_known).sum()), is_known.size, "pairs")
    pairs = sp.coo_array((np.ones(int(is_known.sum()), np.int8), (i[is_known], j[is_known])), shape=candidates.shape)
    return _from_matrix(pairs.tocsr(), candidates)


def _call(numbers: NDArray, names: Sequence[str] | None) -> list[Any]:
    return numbers.tolist() if names is None else [names[number] for number in numbers]


def _warn_of_unknown(strange: dict[str, list[Any]], n_unknown: int, n_given: int, what: str) -> None:
    """Say once how much of an exclusion is about ids that the batch does not have."""
    parts = [f"{len(ids):,} {kind}{'s' * (len(ids) > 1)} (such as {ids[0]!r})" for kind, ids in strange.items() if ids]
    msg = (
        f"exclude names {' and '.join(parts)} that probabilities does not have: {n_unknown:,} of its {n_given:,} "
        f"{what} are ignored. If they should be known, compare how both write their ids."
    )
    warnings.warn(msg, UnknownIdsWarning, stacklevel=2)


def find_excluded(chosen: Chosen, excluded: Excluded) -> NDArray:
    """Which slots of a selection hold excluded labels, (n, k)."""
    n, width = chosen.labels.shape
    marks = np.zeros(chosen.labels.size, dtype=np.bool_)
    mark_excluded(np.arange(n + 1) * width, np.ascontiguousarray(chosen.labels).ravel(), excluded, marks)
    return marks.reshape(n, width)


def drop_excluded(chosen: Chosen, excluded: Excluded) -> Chosen:
    """A selection without its excluded labels."""
    kept = np.where(find_excluded(chosen, excluded), EMPTY, chosen.labels)
    order = np.argsort(kept == EMPTY, axis=1, kind="stable")
    return Chosen(np.take_along_axis(kept, order, axis=1), chosen.n_labels, is_ranked=chosen.is_ranked)


def with_empty_rows(chosen: Chosen, n_rows: int) -> Chosen:
    """A selection with further rows that hold nothing, up to a number of rows."""
    n, width = chosen.labels.shape
    if n == n_rows:
        return chosen
    empty = np.full((n_rows - n, width), EMPTY, dtype=chosen.labels.dtype)
    return Chosen(np.concatenate([chosen.labels, empty]), chosen.n_labels, is_ranked=chosen.is_ranked)


def set_aside(candidates: Candidates, excluded: Excluded) -> Candidates:
    """Move the excluded candidates of each instance to a row of their own, after the rows of all instances."""
    rows = candidates.rows
    marks = np.zeros(candidates.n_entries, dtype=np.bool_)
    mark_excluded(rows.indptr, rows.labels, excluded, marks)
    totals = np.concatenate([[0], np.cumsum(marks)])
    n_moved = totals[rows.indptr[1:]] - totals[rows.indptr[:-1]]
    sizes = np.concatenate([candidates.sizes - n_moved, n_moved[n_moved > 0]])
    return Candidates(
        np.concatenate([[0], np.cumsum(sizes)]),
        np.concatenate([rows.labels[~marks], rows.labels[marks]]),
        np.concatenate([rows.values[~marks], rows.values[marks]]),
        candidates.n_labels,
        holds_all_labels=candidates.holds_all_labels,
        label_names=candidates.label_names,
    )
