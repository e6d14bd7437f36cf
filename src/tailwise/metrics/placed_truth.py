"""True labels put in the order of probabilities: by id if both have ids, otherwise by position."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tailwise.datasets.formats.read_write import as_labels
from tailwise.errors import InputError
from tailwise.inputs.by_position import warn_of_positions
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.joining import Space, common_rows, renumber_columns
from tailwise.inputs.paths import Source, id_columns_there, is_path
from tailwise.metrics.evaluation_inputs import read_truth
from tailwise.metrics.joined import take_rows


@dataclass(frozen=True, eq=False)
class PlacedTruth:
    """The true labels of a batch of candidates.

    Attributes
    ----------
    candidates : Candidates
        The candidates, with as many labels as the truth if their file does not state the number.
    matrix : csr_array of shape (n, m)
        Their true labels; an empty row for an instance whose labels are not known.
    is_known : ndarray of bool, shape (n,)
        Whether the truth holds the instance.
    n_given : int
        Number of instances of the truth.
    """

    candidates: Candidates
    matrix: sp.csr_array
    is_known: NDArray
    n_given: int

    @property
    def note(self) -> str | None:
        """How many instances there are in each input, if not all are in both."""
        n_both, n = int(self.is_known.sum()), self.is_known.size
        if n_both == n == self.n_given:
            return None
        return f"{n_both:,} instances are in both, of {self.n_given:,} in truth and {n:,} in probabilities"

    def known(self) -> tuple[Candidates, sp.csr_array]:
        """Return the candidates and true labels of the instances that are in both."""
        if self.is_known.all():
            return self.candidates, self.matrix
        rows = np.flatnonzero(self.is_known)
        ids = self.candidates.instance_ids
        few = Candidates.of(take_rows(self.candidates.to_csr(), rows))
        few = few.with_names(self.candidates.label_names, None if ids is None else ids.take(rows))
        return few, take_rows(self.matrix, rows)


def place_truth(probabilities: Source, truth: Any) -> PlacedTruth:
    """Join true labels to probabilities: labels missing from truth are never true, those only in truth are ignored."""
    columns = id_columns_there(truth, probabilities.columns)
    known = read_truth(truth, columns=columns)
    has_names = known.names is not None and probabilities.names is not None
    if is_path(truth) and probabilities.contents is not None and not has_names:
        like = probabilities.widened(known.matrix.shape[1]).load_like(truth, same_instances=False, columns=columns)
        known = replace(known, matrix=as_labels(like.matrix, truth), contents=replace(like, label_names=None))
    probabilities = probabilities.widened(known.matrix.shape[1])
    candidates = Candidates.of(probabilities.matrix).with_names(probabilities.names, probabilities.instance_ids)
    matrix = _place_labels(known, candidates)
    own, given = candidates.instance_ids, known.instance_ids
    n, n_given = candidates.n_instances, matrix.shape[0]
    is_in_order = own is None or given is None or own == given
    if is_in_order and n != n_given:
        msg = f"probabilities must have the {n_given} instances of truth. Got {n}. Give the ids of both."
        raise InputError(msg)
    warn_of_positions(Space("probabilities", own, candidates.label_names), Space("truth", given, known.names))
    if own is None or given is None or is_in_order:
        return PlacedTruth(candidates, matrix, np.ones(n, dtype=bool), n)
    rows, _ = common_rows(given, own, "truth", "probabilities")
    return PlacedTruth(candidates, take_rows(matrix, rows), rows >= 0, n_given)


def _place_labels(known: Source, candidates: Candidates) -> sp.csr_array:
    own, given = candidates.label_names, known.names
    if own is None or given is None:
        matrix = known.widened(candidates.n_labels).matrix
        check_n_labels(candidates, matrix.shape[1])
        return matrix
    if np.array_equal(own.values, given.values):
        return known.matrix
    numbers = own.positions_of(given)
    if (numbers < 0).all():
        Space("probabilities", label_names=own).refuse_no_label(given, "truth")
    return renumber_columns(known.matrix, numbers, len(own))


def check_n_labels(candidates: Candidates, n_labels: int) -> None:
    """Refuse candidates with another number of labels."""
    if candidates.n_labels != n_labels:
        msg = (
            f"probabilities must have {n_labels} labels. Got {candidates.n_labels}. For a pair or a table, "
            f"use Candidates.of(probabilities, n_labels={n_labels})."
        )
        raise InputError(msg)
