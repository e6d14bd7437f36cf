"""What a utility may know of the batch: sizes, slots, and the positives of each label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.errors import InputError
from tailwise.inputs.candidates import SMALLEST
from tailwise.inputs.checks import check_choice
from tailwise.inputs.matrices import as_dense
from tailwise.utilities.utility import Batch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.inputs.candidates import Candidates
    from tailwise.utilities import LabelPriors

__all__ = ["describe_batch"]


def describe_batch(
    candidates: Candidates, budgets: NDArray | None, priors: LabelPriors | None, condition_positives: Any
) -> Batch:
    """The batch behind candidates and budgets; p as given, from the priors, or the sum of the probabilities."""
    n, m = candidates.shape
    if priors is not None and priors.n_labels != m:
        msg = f"priors must be of the {m} labels of probabilities. Got {priors.n_labels} labels."
        raise InputError(msg)
    n_slots = n if budgets is None else max(1, int(budgets.sum()))
    return Batch(n, m, n_slots, _check_condition_positives(candidates, priors, condition_positives))


def _check_condition_positives(candidates: Candidates, priors: LabelPriors | None, given: Any) -> NDArray:
    if given is None:
        return candidates.condition_positives()
    if isinstance(given, str):
        check_choice("condition_positives", given, ("priors",))
        if priors is None:
            msg = 'condition_positives="priors" needs priors. Got none. Give priors=training_labels (--priors FILE).'
            raise InputError(msg)
        given = priors.probabilities * candidates.n_instances
    p = as_dense(given, "condition_positives")
    if p.shape != (candidates.n_labels,) or not (np.isfinite(p).all() and p.min() >= 0):
        msg = (
            f"condition_positives must be {candidates.n_labels} finite numbers of at least 0, one per label. "
            f"Got shape {p.shape}{'' if p.size == 0 else f', smallest {p.min():g}'}."
        )
        raise InputError(msg)
    n = candidates.n_instances
    if p.max() > n * (1 + 1e-9):
        msg = (
            f"condition_positives must be at most {n}, the number of instances: a label has no more positives in the "
            f"batch. Got {p.max():g}. Give expected counts in this batch, not in the training set."
        )
        raise InputError(msg)
    # The candidates' own expected positives are among them: with fewer, ratios such as recall would exceed 1.
    return np.maximum(np.where(p < SMALLEST, 0.0, p), candidates.condition_positives())
