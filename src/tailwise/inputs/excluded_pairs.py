"""Pairs of instance and label that must not be selected, because they were bought, seen or assigned before."""

from __future__ import annotations

import inspect
import os
import warnings
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import scipy.sparse as sp

from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.disk import input_errors_of
from tailwise.errors import InputError, UnknownIdsWarning
from tailwise.inputs.by_position import MATCHED_BY_ID, warn_of_positions
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.checks import is_integer
from tailwise.inputs.chosen import EMPTY, Chosen
from tailwise.inputs.id_tables import read_table
from tailwise.inputs.ids import Ids, describe_kinds
from tailwise.inputs.joining import Space
from tailwise.inputs.matrices import ENTRIES_IN_BLOCK, add_up, as_array, as_indicator, cut_pointers
from tailwise.inputs.table_columns import is_table
from tailwise.kernels.rows import Excluded, mark_excluded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = [
    "NOTHING_EXCLUDED",
    "carry_excluded",
    "drop_excluded",
    "find_excluded",
    "read_excluded",
    "refuse_excluded",
    "set_aside",
    "with_empty_rows",
]

NO_PAIRS = np.zeros(1, np.int64), np.empty(0, np.int32)
NOTHING_EXCLUDED = Excluded(*NO_PAIRS, np.empty(0, np.bool_))
REMEDY = "Give a sparse or boolean matrix of the pairs, a table of ids, or a list of labels for all instances."


def read_excluded(exclude: Any, candidates: Candidates, columns: Any = None) -> Excluded:
    """Read what must not be selected, in any form that `select` takes, in the order of the candidates.

    If a table or file has the columns that were named for the probabilities, it is read by these.
    """
    from tailwise.inputs.paths import id_columns_there  # imports every format

    if isinstance(exclude, Excluded):
        return exclude
    if isinstance(exclude, (str, os.PathLike)):
        return _from_file(exclude, candidates, id_columns_there(exclude, columns))
    if is_table(exclude):
        own = id_columns_there(exclude, columns)
        found = read_table(exclude, own, name="exclude", needs_values=False, may_repeat=True)
        contents = Contents(
            found.matrix, ranks=found.ranks, label_names=found.label_names, instance_names=found.instance_ids
        )
        return _from_entries(contents, candidates, from_table=True)
    if isinstance(exclude, Chosen):
        return _from_chosen(exclude, candidates)
    if isinstance(exclude, (set, frozenset)):
        exclude = sorted(exclude, key=str)
    if isinstance(exclude, (list, tuple)) and all(np.ndim(each) == 0 for each in exclude):
        return _from_labels(exclude, candidates)
    array = exclude if isinstance(exclude, np.ndarray) and exclude.ndim == 1 else as_array(exclude, "exclude")
    if array.ndim == 1 and not sp.issparse(array):
        return _from_labels(array.tolist(), candidates)
    warn_of_positions(_space_of(candidates), Space("exclude"))
    return _from_matrix(array, candidates)


def _from_labels(labels: Sequence[Any], candidates: Candidates) -> Excluded:
    """Labels that are excluded for all instances, by number or by id."""
    names = candidates.label_names
    kinds = tuple({str, *(() if names is None else map(type, names.ids))})
    odd = next((label for label in labels if not (is_integer(label) or isinstance(label, kinds))), None)
    if odd is not None:
        msg = f"exclude as a list must hold label numbers or ids. Got {odd!r}. {REMEDY}"
        raise InputError(msg)
    _refuse_positions(labels, names)
    numbers = [_number_of(label, names, candidates.n_labels) for label in labels]
    strange = [label for label, number in zip(labels, numbers, strict=True) if number < 0]
    if strange:
        _warn_of_unknown({"label": strange}, len(strange), len(labels), "label")
    is_barred = np.zeros(candidates.n_labels, dtype=np.bool_)
    is_barred[[number for number in numbers if number >= 0]] = True
    return Excluded(*NO_PAIRS, is_barred)


def _from_listed(texts: Sequence[str], candidates: Candidates) -> Excluded:
    """Labels of a file, one per line; a file in which none is known was probably meant to hold pairs."""
    names = candidates.label_names
    are_numbers = names is None or names.values.dtype.kind in "iu"
    labels = [int(text) if are_numbers and text.isdecimal() else text for text in texts]
    if all(_number_of(label, names, candidates.n_labels) < 0 for label in labels):
        msg = (
            f"exclude as a list of labels, one per line, must have labels in common with probabilities. It has none. "
            f"Got {texts[0]!r}. For pairs, give a table with a header: user_id,item_id."
        )
        raise InputError(msg)
    return _from_labels(labels, candidates)


def _refuse_positions(labels: Sequence[Any], names: Any) -> None:
    """Refuse integers where ids are text: 1 may mean "1" or the second label."""
    if names is None or names.values.dtype.kind in "iu":
        return
    odd = next((label for label in labels if is_integer(label) and names.number_of(label) is None), None)
    if odd is not None:
        msg = (
            f"exclude as a list must hold label ids as probabilities writes them. Got the integer {odd!r}; ids are "
            f"{names.kind}, such as {names.ids[0]!r}. Give ids of that kind: [str(label) for label in exclude] if they "
            "are the same numbers as text, or [label_names[label] for label in exclude] if they are positions."
        )
        raise InputError(msg)


def _number_of(label: Any, names: Any, n_labels: int) -> int:
    """The number of a label that is given by its id or, if there are no ids, by number; -1 for an unknown label."""
    if names is not None:
        number = names.number_of(label)
        return -1 if number is None else number
    return int(label) if is_integer(label) and 0 <= label < n_labels else -1


def _from_chosen(chosen: Chosen, candidates: Candidates) -> Excluded:
    """An earlier selection, matched by id where both sides have ids, and by position otherwise."""
    ids = chosen.instance_ids if candidates.instance_ids is not None else None
    names = chosen.label_names if candidates.label_names is not None else None
    n, m = candidates.shape
    _check_shape((n if ids is not None else chosen.n_instances, m if names is not None else chosen.n_labels), (n, m))
    warn_of_positions(_space_of(candidates), Space("exclude", chosen.instance_ids, chosen.label_names))
    contents = Contents(chosen.to_csr(), label_names=names, instance_names=ids)
    return _from_entries(contents, candidates, from_table=False)


def _space_of(candidates: Candidates) -> Space:
    return Space("probabilities", candidates.instance_ids, candidates.label_names)


def _from_matrix(matrix: Any, candidates: Candidates) -> Excluded:
    csr = as_indicator(matrix, "exclude", REMEDY)
    _check_shape(csr.shape, candidates.shape)
    return Excluded(csr.indptr.astype(np.int64), csr.indices.astype(np.int32), np.empty(0, np.bool_))


def _check_shape(came: tuple[int, ...], shape: tuple[int, int]) -> None:
    if came != shape:
        msg = (
            f"exclude must have the {shape[0]} instances and {shape[1]} labels of probabilities. "
            f"Got {came[0]} and {came[1]}. {REMEDY}"
        )
        raise InputError(msg)


def _from_file(path: Any, candidates: Candidates, columns: dict[str, str] | None) -> Excluded:
    from tailwise.datasets.formats.read_write import load_contents  # imports every format
    from tailwise.datasets.formats.text_lines import read_names

    with input_errors_of(path):
        if not os.path.isdir(path) and (labels := read_names(path)):
            return _from_listed(labels, candidates)
        contents = load_contents(path, columns=columns)
        if not contents.is_open:
            given = Space("exclude", contents.instance_names, contents.label_names)
            _check_rows(given, contents.matrix.shape[0], candidates)
            warn_of_positions(_space_of(candidates), given)
        return _from_entries(contents, candidates, from_table=contents.is_open)


def _check_rows(given: Space, n_instances: int, candidates: Candidates) -> None:
    """Refuse a file with more or fewer instances, if these can only be matched by position."""
    if given.instance_ids is None and n_instances != candidates.n_instances:
        msg = (
            f"exclude must have the {candidates.n_instances} instances of probabilities, as it has no ids and is "
            f"matched by position. Got {n_instances}. {MATCHED_BY_ID}"
        )
        raise InputError(msg)


def _from_entries(found: Contents, candidates: Candidates, *, from_table: bool) -> Excluded:
    """Pairs of a table or a file, matched by id if both sides have ids; a single warning counts unknown ones.

    Scores do not matter, except that without a ranking a score of 0 means that the pair is not excluded.
    """
    matrix, names, ids = sp.csr_array(found.matrix), found.label_names, found.instance_names
    n, m = matrix.shape
    has_row, has_label = np.diff(matrix.indptr) > 0, np.bincount(matrix.indices, minlength=m) > 0
    rows = _match("instance", ids, candidates.instance_ids, has_row, candidates.n_instances, from_table=from_table)
    labels = _match("label", names, candidates.label_names, has_label, candidates.n_labels, from_table=from_table)
    their_rows = np.repeat(np.arange(n), np.diff(matrix.indptr))
    i, j = rows[their_rows], labels[matrix.indices]
    is_known = (i >= 0) & (j >= 0)
    if not is_known.all():
        strange = {
            "instance": _call(np.unique(their_rows[i < 0]), ids),
            "label": _call(np.unique(matrix.indices[j < 0]), names),
        }
        _warn_of_unknown(strange, int((~is_known).sum()), is_known.size, "pair")
    is_ranked = found.ranks is not None or found.ranking is not None
    values = np.ones(int(is_known.sum()), np.bool_) if is_ranked else matrix.data[is_known] != 0
    pairs = sp.coo_array((values, (i[is_known], j[is_known])), shape=candidates.shape)
    return _from_matrix(pairs, candidates)


def _match(
    what: str, theirs: Ids | None, ours: Ids | None, is_used: NDArray, own_size: int, *, from_table: bool
) -> NDArray:
    """Map their instances or labels to our numbers, -1 for those that we do not have.

    Integers of a table, or of a file that lists entries, are taken as row and column numbers only if we have no ids.
    """
    if theirs is not None and ours is not None:
        found = ours.positions_of(theirs)
        if found.size and (found < 0).all():
            _refuse_nothing(what, theirs, ours)
        return found
    if theirs is None:
        numbers = np.arange(is_used.size)
        if from_table and ours is not None:  # a number that does not occur is not an instance or label of theirs
            found = ours.positions_of(numbers)
            if (found[is_used] < 0).all():
                _refuse_nothing(what, Ids(np.flatnonzero(is_used), what), ours)
            return found
        return np.where(numbers < own_size, numbers, -1)
    if theirs.values.dtype.kind not in "iu":
        msg = (
            f"exclude and probabilities must both name or both number their {what}s. exclude names them, such as "
            f"{theirs[0]!r}, probabilities does not. Give probabilities as a table or a file with ids."
        )
        raise InputError(msg)
    return np.where((theirs.values >= 0) & (theirs.values < own_size), theirs.values, -1).astype(np.int64)


def _refuse_nothing(what: str, theirs: Ids, ours: Ids) -> NoReturn:
    kinds = describe_kinds(theirs, ours, "exclude", "probabilities")
    msg = f"exclude and probabilities must have {what}s in common. They have none. {kinds}"
    raise InputError(msg)


def _call(numbers: NDArray, ids: Ids | None) -> list[Any]:
    return numbers.tolist() if ids is None else list(ids.take(numbers))


def _warn_of_unknown(strange: dict[str, list[Any]], n_unknown: int, n_given: int, what: str) -> None:
    """Warn once of the part of an exclusion whose ids the batch does not have."""
    parts = [f"{len(ids):,} {kind}{'s' * (len(ids) > 1)} (such as {ids[0]!r})" for kind, ids in strange.items() if ids]
    what, verb = f"{what}{'s' * (n_given > 1)}", "is" if n_unknown == 1 else "are"
    msg = (
        f"exclude names {' and '.join(parts)} that probabilities does not have: {n_unknown:,} of its {n_given:,} "
        f"{what} {verb} ignored. If they should be known, check that both write ids in the same way."
    )
    warnings.warn(msg, UnknownIdsWarning, stacklevel=_count_own_frames() + 1)


def _count_own_frames() -> int:
    """Count the stack frames inside the package above the caller of this function; the next one is the user's."""
    package, count, frame = __name__.partition(".")[0], -1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, count = frame.f_back, count + 1
    return count


def carry_excluded(excluded: Excluded, chosen: Chosen, candidates: Candidates) -> Excluded:
    """Map what was excluded when a selection was made to the order of other candidates; by id if both have ids."""
    rows = _carry(chosen.instance_ids, candidates.instance_ids, chosen.n_instances, candidates.n_instances)
    labels = _carry(chosen.label_names, candidates.label_names, chosen.n_labels, candidates.n_labels)
    i = rows[np.repeat(np.arange(excluded.indptr.size - 1), np.diff(excluded.indptr))]
    j = labels[excluded.labels]
    is_known = (i >= 0) & (j >= 0)
    pairs = (np.ones(int(is_known.sum()), np.bool_), (i[is_known], j[is_known]))
    found = _from_matrix(sp.coo_array(pairs, shape=candidates.shape), candidates)
    barred = labels[np.flatnonzero(excluded.is_barred)]
    return found._replace(is_barred=np.isin(np.arange(candidates.n_labels), barred))


def _carry(theirs: Ids | None, ours: Ids | None, size: int, own_size: int) -> NDArray:
    """Map their instances or labels to our numbers, -1 for those that we do not have."""
    if theirs is not None and ours is not None:
        return ours.positions_of(theirs)
    numbers = np.arange(size)
    return np.where(numbers < own_size, numbers, -1)


def find_excluded(chosen: Chosen, excluded: Excluded) -> NDArray:
    """Which slots of a selection hold excluded labels, (n, k)."""
    n, width = chosen.labels.shape
    marks = np.zeros(chosen.labels.size, dtype=np.bool_)
    mark_excluded(np.arange(n + 1) * width, np.ascontiguousarray(chosen.labels).ravel(), excluded, marks)
    return marks.reshape(n, width)


def refuse_excluded(judged: Chosen, excluded: Excluded) -> None:
    """Refuse to judge a selection that the rules do not allow."""
    marks = find_excluded(judged, excluded)
    if marks.any():
        i, c = np.argwhere(marks)[0]
        msg = (
            f"selection must not hold excluded pairs. Got {int(marks.sum()):,}, the first for instance {i}, label "
            f"{judged.labels[i, c]}. Remove them from the selection, or omit exclude."
        )
        raise InputError(msg)


def drop_excluded(chosen: Chosen, excluded: Excluded) -> Chosen:
    """A selection without its excluded labels."""
    kept = np.where(find_excluded(chosen, excluded), EMPTY, chosen.labels)
    order = np.argsort(kept == EMPTY, axis=1, kind="stable")
    return Chosen(np.take_along_axis(kept, order, axis=1), chosen.n_labels, is_ranked=chosen.is_ranked)


def with_empty_rows(chosen: Chosen, n_rows: int) -> Chosen:
    """A selection with empty rows appended, up to a number of rows."""
    n, width = chosen.labels.shape
    if n == n_rows:
        return chosen
    empty = np.full((n_rows - n, width), EMPTY, dtype=chosen.labels.dtype)
    return Chosen(np.concatenate([chosen.labels, empty]), chosen.n_labels, is_ranked=chosen.is_ranked)


def set_aside(candidates: Candidates, excluded: Excluded) -> Candidates:
    """Move the excluded candidates of each instance to a row of their own, after the rows of all instances."""
    rows, marks = candidates.rows, candidates.make_zeros(np.bool_)
    mark_excluded(rows.indptr, rows.labels, excluded, marks)
    blocks = list(cut_pointers(rows.indptr, ENTRIES_IN_BLOCK))
    n_moved = np.concatenate([_count_marks(rows.indptr[first : last + 1], marks) for first, last in blocks])
    indptr = add_up(np.concatenate([candidates.sizes - n_moved, n_moved[n_moved > 0]]))
    labels, values = candidates.make_zeros(rows.labels.dtype), candidates.make_zeros(rows.values.dtype)
    stays, moves = 0, int(indptr[candidates.n_instances])  # where the next entries belong
    for first, last in blocks:
        entries = slice(rows.indptr[first], rows.indptr[last])
        is_moved = marks[entries]
        size = int(np.count_nonzero(is_moved))
        rest = is_moved.size - size
        for ours, theirs in ((labels, rows.labels[entries]), (values, rows.values[entries])):
            ours[stays : stays + rest], ours[moves : moves + size] = theirs[~is_moved], theirs[is_moved]
        stays, moves = stays + rest, moves + size
    return Candidates(
        indptr,
        labels,
        values,
        candidates.n_labels,
        holds_all_labels=candidates.holds_all_labels,
        label_names=candidates.label_names,
        origin=candidates.origin,
    )


def _count_marks(indptr: NDArray, marks: NDArray) -> NDArray:
    """How many entries of each row are marked."""
    totals = np.concatenate([[0], np.cumsum(marks[indptr[0] : indptr[-1]])])
    return np.diff(totals[indptr - indptr[0]])
