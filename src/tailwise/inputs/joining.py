"""Several inputs joined by id: their instances and labels put in the order of the first one.

Inputs without ids are joined by position, as rows and columns of matrices are; `by_position.py` warns of doubtful ones.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import scipy.sparse as sp

from tailwise.errors import InputError, UnknownIdsWarning
from tailwise.inputs.by_position import warn_of_positions
from tailwise.inputs.chosen import EMPTY, Chosen
from tailwise.inputs.id_tables import TableEntries, read_table
from tailwise.inputs.ids import Ids, describe_kinds
from tailwise.inputs.label_names import LabelNames
from tailwise.inputs.matrices import build_csr
from tailwise.inputs.priors import LabelPriors
from tailwise.inputs.table_columns import is_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Space", "as_chosen", "common_rows", "renumber_columns"]


@dataclass(frozen=True, eq=False)
class Space:
    """The instances and labels of an input, which determine the order of others.

    Attributes
    ----------
    name : str
        The parameter that they belong to, for error messages.
    instance_ids, label_names : Ids, LabelNames or None
        The ids of both, if known.
    """

    name: str
    instance_ids: Ids | None = None
    label_names: LabelNames | None = None

    def read_chosen(self, selection: Any, name: str, *, may_have_more: bool = False) -> Any:
        """Put a selection that has ids in this order; instances that it lacks have no labels.

        Anything without ids is returned unchanged. With `may_have_more`, instances that are not here are dropped;
        otherwise they are refused.
        """
        chosen = self.number_by_id(as_chosen(selection, name)) if is_table(selection) else selection
        given = Space(name, getattr(chosen, "instance_ids", None), getattr(chosen, "label_names", None))
        warn_of_positions(self, given)
        if not isinstance(chosen, Chosen):
            return chosen
        labels = self._place_rows(chosen, name, may_have_more=may_have_more)
        labels, n_labels = self._place_labels(chosen, labels, name)
        if labels is chosen.labels:
            return chosen
        return Chosen(labels, n_labels, is_ranked=chosen.is_ranked).with_ids(self.instance_ids, self.label_names)

    def number_by_id(self, chosen: Chosen) -> Chosen:
        """Treat the numbers of a selection from a table, or a file of entries, as ids if the ids here are integers."""
        labels, ids, names = chosen.labels, chosen.instance_ids, chosen.label_names
        if ids is None and _are_integers(self.instance_ids):
            rows = np.flatnonzero((labels != EMPTY).any(axis=1))
            labels, ids = labels[rows], Ids(rows)
        if names is None and _are_integers(self.label_names):
            used = np.unique(labels[labels != EMPTY])
            labels = np.where(labels != EMPTY, np.searchsorted(used, labels), EMPTY).astype(np.int32)
            names = LabelNames(used)
        n_labels = chosen.n_labels if names is None else len(names)
        return Chosen(labels, n_labels, is_ranked=chosen.is_ranked).with_ids(ids, names)

    def warn_of_missing(self, selection: Any, name: str) -> Any:
        """Return a selection that was read from a table; if both have ids, warn of the instances that it lacks."""
        chosen = as_chosen(selection, name) if is_table(selection) else selection
        own, given = self.instance_ids, getattr(chosen, "instance_ids", None)
        if own is None or given is None or own == given:
            return chosen
        rows, n_found = common_rows(given, own, name, self.name)
        if n_found < len(own):
            first = own[int(np.argmax(rows < 0))]
            words = (
                f"{name} holds {n_found:,} of the {len(own):,} instances of {self.name}. The others, such as "
                f"{first!r}, count as without labels."
            )
            warnings.warn(words, UnknownIdsWarning, stacklevel=4)
        return chosen

    def _place_rows(self, chosen: Chosen, name: str, *, may_have_more: bool) -> NDArray:
        own, given = self.instance_ids, chosen.instance_ids
        if own is None or given is None or own == given:
            return chosen.labels
        rows, _ = common_rows(given, own, name, self.name)
        if not may_have_more and (is_more := own.positions_of(given) < 0).any():
            msg = (
                f"{name} must only hold instances of {self.name}. {int(is_more.sum()):,} are not there, "
                f"{given[int(np.argmax(is_more))]!r} for instance. Remove them first."
            )
            raise InputError(msg)
        return np.where(rows[:, None] >= 0, chosen.labels[rows], np.int32(EMPTY))

    def _place_labels(self, chosen: Chosen, labels: NDArray, name: str) -> tuple[NDArray, int]:
        own, given = self.label_names, chosen.label_names
        if own is None or given is None or np.array_equal(own.values, given.values):
            return labels, chosen.n_labels
        numbers = own.positions_of(given)
        is_used = np.zeros(len(given), dtype=bool)
        is_used[labels[labels != EMPTY]] = True
        if (is_used & (numbers < 0)).any():
            _refuse_labels(given, is_used & (numbers < 0), own, name, self.name)
        return np.where(labels != EMPTY, numbers[labels], EMPTY).astype(np.int32), len(own)

    def read_priors(self, priors: LabelPriors) -> LabelPriors:
        """Return training frequencies of these labels; a label that is not in the training data has frequency 0."""
        given = priors.label_names
        warn_of_positions(replace(self, instance_ids=None), Space("priors", label_names=given))
        if given is None or self.label_names is None or np.array_equal(given.values, self.label_names.values):
            return priors
        numbers = given.positions_of(self.label_names)
        if (numbers < 0).all():
            _refuse_nothing("label", given, self.label_names, "priors", self.name)
        counts = np.where(numbers >= 0, priors.counts[numbers], 0.0)
        joined = LabelPriors(counts, priors.n_instances).with_names(self.label_names)
        n_absent = int((numbers < 0).sum())
        n_unknown = len(given) - (len(numbers) - n_absent)
        joined.messages = _describe_unknown(self.name, n_unknown, n_absent)
        return joined

    def read_totals(self, totals: Any) -> Any:
        """Return totals with the labels of this space, which must include all of theirs."""
        given = LabelNames.of(getattr(totals, "label_names", None))
        warn_of_positions(replace(self, instance_ids=None), Space("context", label_names=given))
        if given is None or self.label_names is None or np.array_equal(given.values, self.label_names.values):
            return totals
        numbers = given.positions_of(self.label_names)
        if (numbers < 0).all():
            _refuse_nothing("label", given, self.label_names, "context", self.name)
        return totals.at_labels(numbers, self.label_names)

    def refuse_no_label(self, given: Ids, name: str) -> NoReturn:
        """Say that an input has no label in common with this one."""
        assert self.label_names is not None
        _refuse_nothing("label", given, self.label_names, name, self.name)


def _describe_unknown(name: str, n_unknown: int, n_absent: int) -> tuple[str, ...]:
    """Say how many labels only one of priors and another input has."""
    parts = []
    if n_unknown:
        parts.append(f"{n_unknown:,} labels of priors are not in {name} and are left out")
    if n_absent:
        parts.append(f"{n_absent:,} labels of {name} are not in priors and count as never seen in training")
    return (f"Labels of priors, matched by id: {'; '.join(parts)}.",) if parts else ()


def _are_integers(ids: Ids | None) -> bool:
    return ids is not None and ids.values.dtype.kind in "iu"


def as_chosen(table: Any, name: str, columns: Any = None) -> Chosen:
    """Read a selection from a table of ids, ranked by a column of ranks or, without one, of probabilities."""
    found = read_table(table, columns, name=name, needs_values=False)
    if not sp.issparse(found.matrix):
        chosen = Chosen.of(sp.csr_array(found.matrix), name=name)
        return chosen.with_ids(found.instance_ids, found.label_names)
    return _ranked(found).with_ids(found.instance_ids, found.label_names)


def _ranked(found: TableEntries) -> Chosen:
    matrix = found.matrix
    has_scores = bool((matrix.data != 1).any())
    keys = -matrix.data.astype(np.float64) if found.ranks is None else found.ranks
    counts = np.diff(matrix.indptr)
    rows = np.repeat(np.arange(counts.size), counts)
    order = np.lexsort((matrix.indices, keys, rows))
    labels = np.full((counts.size, max(1, int(counts.max()))), EMPTY, dtype=np.int32)
    labels[np.arange(labels.shape[1]) < counts[:, None]] = matrix.indices[order]
    return Chosen(labels, matrix.shape[1], is_ranked=found.ranks is not None or has_scores)


def common_rows(given: Ids, wanted: Ids, given_name: str, wanted_name: str) -> tuple[NDArray, int]:
    """Return the position of each wanted instance among the given ones, or -1, and how many were found."""
    rows = given.positions_of(wanted.check_unique())
    n_found = int((rows >= 0).sum())
    if n_found == 0:
        _refuse_nothing("instance", given, wanted, given_name, wanted_name)
    return rows, n_found


def renumber_columns(matrix: sp.csr_array, numbers: NDArray, n_labels: int) -> sp.csr_array:
    """Give the columns of a matrix other numbers, among `n_labels`; columns with number -1 are dropped."""
    columns = numbers[matrix.indices]
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    is_kept = columns >= 0
    rows, columns, values = rows[is_kept], columns[is_kept], matrix.data[is_kept]
    order = np.lexsort((columns, rows))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=matrix.shape[0]))])
    return build_csr(values[order], columns[order], indptr, (matrix.shape[0], n_labels))


def _refuse_nothing(what: str, given: Ids, wanted: Ids, given_name: str, wanted_name: str) -> NoReturn:
    kinds = describe_kinds(given, wanted, given_name, wanted_name)
    msg = f"{given_name} and {wanted_name} must have {what}s in common. They have none. {kinds}"
    raise InputError(msg)


def _refuse_labels(given: Ids, is_strange: NDArray, own: Ids, name: str, own_name: str) -> NoReturn:
    if is_strange.sum() == len(given):
        _refuse_nothing("label", given, own, name, own_name)
    msg = (
        f"{name} must only hold labels of {own_name}. {int(is_strange.sum()):,} are not there, "
        f"{given[int(np.argmax(is_strange))]!r} for instance. Remove them, or add them to {own_name}."
    )
    raise InputError(msg)
