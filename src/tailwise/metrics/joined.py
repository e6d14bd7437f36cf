"""Truth and selection joined by id: the instances of both, and all labels of either."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tailwise.errors import InputError
from tailwise.inputs.by_position import warn_of_positions
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.chosen import EMPTY, Chosen
from tailwise.inputs.ids import Ids
from tailwise.inputs.joining import Space, common_rows, renumber_columns
from tailwise.inputs.label_names import LabelNames
from tailwise.inputs.matrices import build_csr
from tailwise.inputs.paths import Source, columns_there, is_path, load_contents
from tailwise.inputs.table_columns import is_table

NOTHING = Chosen(np.zeros((0, 1), np.int32), 0)


@dataclass(frozen=True, eq=False)
class Joined:
    """True and chosen labels of the same instances, with the same numbers for the same labels."""

    truth: sp.csr_array
    chosen: Chosen = NOTHING
    instance_ids: Ids | None = None
    label_names: LabelNames | None = None
    rows_of_truth: NDArray | None = None  # the positions of the instances in both inputs; None if they are unchanged
    rows_of_selection: NDArray | None = None
    sizes: tuple[int, int] = (0, 0)  # instances of truth and selection

    @property
    def space(self) -> Space:
        return Space("truth", self.instance_ids, self.label_names)

    @property
    def notes(self) -> tuple[str, ...]:
        """How many instances there are in each input, if not all are in both."""
        if self.rows_of_truth is None or self.rows_of_selection is None:
            return ()
        n_both = int(((self.rows_of_truth >= 0) & (self.rows_of_selection >= 0)).sum())
        if (n_both, n_both) == self.sizes:
            return ()
        known, selected = self.sizes
        return (f"{n_both:,} instances are in both, of {known:,} in truth and {selected:,} in selection",)

    def read_probabilities(self, probabilities: Any, source: Source, columns: dict[str, str]) -> Any:
        """Read probabilities of these instances and labels, matched by id if they have ids, otherwise by position."""
        there = columns_there(probabilities, columns)
        if there is None and is_path(probabilities) and source.contents is not None and self.rows_of_truth is None:
            contents = source.load_like(probabilities)
            warn_of_positions(self.space, Space("probabilities", contents.instance_names, contents.label_names))
            return contents.matrix
        given = _read_candidates(probabilities, there)
        ids = None if given is None else given.instance_ids
        names = None if given is None else given.label_names
        warn_of_positions(self.space, Space("probabilities", ids, names))
        if given is None:
            return self._at_rows(probabilities)
        matrix, own = given.to_csr(), self.label_names
        if given.label_names is not None and own is not None:
            matrix = renumber_columns(matrix, own.positions_of(given.label_names), len(own))
        if given.instance_ids is None or self.instance_ids is None:
            return self._at_rows(matrix)
        rows, _ = common_rows(given.instance_ids, self.instance_ids, "probabilities", "truth")
        return take_rows(matrix, rows)

    def _at_rows(self, matrix: Any) -> Any:
        """Take rows by position: those of the selection, otherwise those of the truth."""
        if self.rows_of_truth is None or self.rows_of_selection is None:
            return matrix
        csr = Candidates.of(matrix).to_csr()
        for size, rows in zip(self.sizes, (self.rows_of_truth, self.rows_of_selection), strict=True):
            if csr.shape[0] == size:
                return take_rows(csr, rows)
        msg = f"probabilities must have the {self.sizes[1]} instances of selection. Got {csr.shape[0]}. Give their ids."
        raise InputError(msg)


def _read_candidates(probabilities: Any, columns: Any) -> Candidates | None:
    if is_table(probabilities):
        return Candidates.of(probabilities, columns=columns)
    if is_path(probabilities):
        contents = load_contents(probabilities, columns=columns)
        return Candidates.of(contents.matrix).with_names(contents.label_names, contents.instance_names)
    return probabilities if isinstance(probabilities, Candidates) else None


def take_rows(matrix: sp.csr_array, rows: NDArray) -> sp.csr_array:
    """Return rows of a matrix by position; an empty row for -1."""
    counts = np.where(rows >= 0, np.diff(matrix.indptr)[rows], 0)
    ends = np.cumsum(counts)
    entries = np.repeat(matrix.indptr[rows] - (ends - counts), counts) + np.arange(counts.sum())
    parts = matrix.data[entries], matrix.indices[entries], np.concatenate([[0], ends])
    return build_csr(*parts, (rows.size, matrix.shape[1]))


def join(source: Source, chosen: Chosen, instances: str) -> Joined:
    """Join truth and selection: labels by id or number, instances by id or position."""
    own = Space("selection", chosen.instance_ids, chosen.label_names)
    warn_of_positions(Space("truth", source.instance_ids, source.names), own)
    joined = _join_labels(source, chosen)
    known, selected = source.instance_ids, chosen.instance_ids
    if known is None or selected is None:
        return replace(joined, instance_ids=known if selected is None else selected)
    sizes = (len(known), len(selected))
    if known == selected:
        return replace(joined, instance_ids=known, sizes=sizes)
    found, _ = common_rows(selected, known, "selection", "truth")
    of_truth, of_selection = np.arange(len(known)), found
    if instances == "common":
        of_truth, of_selection = of_truth[found >= 0], found[found >= 0]
    else:
        more = np.flatnonzero(known.positions_of(selected) < 0)
        of_truth = np.concatenate([of_truth, np.full(more.size, -1)])
        of_selection = np.concatenate([of_selection, more])
    return _place(joined, known, selected, of_truth, of_selection)


def _place(joined: Joined, known: Ids, selected: Ids, of_truth: NDArray, of_selection: NDArray) -> Joined:
    """Return the matching rows of both, with -1 where one of them has none."""
    labels = np.where(of_selection[:, None] >= 0, joined.chosen.labels[of_selection], np.int32(EMPTY))
    is_known = of_truth >= 0
    ids = [*known.take(of_truth[is_known]), *selected.take(of_selection[~is_known])]
    return replace(
        joined,
        truth=take_rows(joined.truth, of_truth),
        chosen=Chosen(labels, joined.chosen.n_labels, is_ranked=joined.chosen.is_ranked),
        instance_ids=Ids(ids),
        rows_of_truth=of_truth,
        rows_of_selection=of_selection,
        sizes=(len(known), len(selected)),
    )


def _join_labels(source: Source, chosen: Chosen) -> Joined:
    known, selected, truth = source.names, chosen.label_names, source.matrix
    if known is None or selected is None:
        return Joined(truth, chosen, label_names=known if selected is None else selected)
    if np.array_equal(known.values, selected.values):
        return Joined(truth, chosen, label_names=LabelNames(known, selected.titles or known.titles))
    names = known.extended(selected)
    if len(names) == len(known) + len(selected):
        Space("truth", label_names=known).refuse_no_label(selected, "selection")
    numbers = names.positions_of(selected)
    labels = np.where(chosen.labels != EMPTY, numbers[chosen.labels], EMPTY).astype(np.int32)
    wide = build_csr(truth.data, truth.indices, truth.indptr, (truth.shape[0], len(names)))
    return Joined(wide, Chosen(labels, len(names), is_ranked=chosen.is_ranked), label_names=names)
