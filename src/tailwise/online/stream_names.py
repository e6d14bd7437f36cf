"""The names of the labels of a stream: those that its rows have used so far, numbered in the order of their coming."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailwise.errors import InputError
from tailwise.inputs.by_position import warn_of_positions
from tailwise.inputs.candidates import Candidates, from_table
from tailwise.inputs.joining import Space, renumber_columns
from tailwise.inputs.label_names import LabelNames
from tailwise.inputs.table_columns import is_table, open_table

__all__ = ["check_numbers", "number_by_name", "read_rows"]


def read_rows(rows: Any, n_labels: int, known: LabelNames | None) -> Candidates:
    """Read rows in any form; a pair or a table does not state the number of labels."""
    if not is_table(rows):
        return Candidates.of(rows, n_labels=n_labels if isinstance(rows, tuple) else None)
    has_numbers = known is not None and known.values.dtype.kind in "iu"
    if not has_numbers:
        return from_table(rows, n_labels)
    # The labels are known by ids that are integers, so those of this table are no numbers either.
    return from_table(rows, None, {"label": "label"} if "label" in open_table(rows, "rows").columns else None)


def number_by_name(
    candidates: Candidates, known: LabelNames | None, n_labels: int, *, is_new: bool
) -> tuple[Candidates, LabelNames | None]:
    """Give the labels of some rows their numbers in the stream; return the names known from then on as well."""
    given = candidates.label_names
    if given is None:
        _check_size(candidates, n_labels)
        check_numbers(candidates.rows.labels, known)
        warn_of_positions(Space("the selector", None, known), Space("rows"))
        return candidates, known
    if known is None and not is_new:
        msg = (
            f"rows must number their labels, as the earlier rows of the selector did. Got names, such as {given[0]!r}. "
            "Give matrices only, or start a new selector with rows that name their labels."
        )
        raise InputError(msg)
    names = given if known is None else known.extended(given)
    if len(names) > n_labels:
        msg = (
            f"rows must have at most the {n_labels} labels of the selector. With {names[n_labels]!r}, there are "
            f"{len(names)}. Create the selector with a larger n_labels."
        )
        raise InputError(msg)
    matrix = renumber_columns(candidates.to_csr(), names.positions_of(given), n_labels)
    indptr, labels = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    ids, origin = candidates.instance_ids, candidates.origin
    return Candidates(indptr, labels, matrix.data, n_labels, instance_ids=ids, origin=origin), names


def check_numbers(labels: NDArray, known: LabelNames | None) -> None:
    """Refuse the number of a label that nobody has named, in a stream whose labels have names."""
    if known is not None and labels.size and labels.max() >= len(known):
        msg = (
            f"rows by number must only hold the {len(known)} labels that earlier rows named. Got {labels.max()}. "
            "Give a table that names its labels."
        )
        raise InputError(msg)


def _check_size(candidates: Candidates, n_labels: int) -> None:
    if candidates.n_labels != n_labels:
        msg = (
            f"rows must have the {n_labels} labels of the selector. Got {candidates.n_labels}. "
            "Create the selector with another n_labels, or give the rows as pairs (labels, probabilities)."
        )
        raise InputError(msg)
