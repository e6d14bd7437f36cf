"""Expected values of metrics, according to label probabilities."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailwise.errors import InputError
from tailwise.inputs.calibration import warn_of_truth
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.chosen import EMPTY, Chosen
from tailwise.inputs.priors import LabelPriors
from tailwise.kernels.rows import find_positions
from tailwise.metrics.metric_formulas import INSTANCE_METRICS
from tailwise.selection.expected_utility import expected_utility
from tailwise.utilities import as_utility
from tailwise.utilities.by_label import weighted_macro

_PRECISIONS = ("precision", "ps-precision")
_WITHOUT_CHANCE = ("catalogue-coverage",)  # depends on the selection alone


def check_comparable(labels: str, zero_division: float, filter: Any) -> None:
    """Refuse options that expected utilities do not support."""
    if filter is not None:
        msg = (
            "probabilities and filter cannot be combined, because expected values include all pairs. Omit one of them."
        )
        raise InputError(msg)
    if labels != "all" or zero_division != 0:
        msg = (
            "probabilities need labels='all' and zero_division=0, because expected utilities average over all labels "
            f"with 0/0 = 0. Got labels={labels!r} and zero_division={zero_division!r}. Omit probabilities."
        )
        raise InputError(msg)


def expect_metrics(
    names: Iterable[str],
    probabilities: Any,
    chosen: Chosen,
    k: int | None,
    priors: LabelPriors | None,
    propensity: tuple[float, float],
    hits: NDArray | None = None,
    *,
    expectation: str = "exact",
    condition_positives: Any = None,
    label_weights: NDArray | None = None,
    engine: Any = "threads",
) -> dict[str, float]:
    """Compute the expected value of each metric that is a utility; warn if the true positives contradict it.

    `hits` is the number of true labels among those chosen for each instance; None to skip the comparison.
    Precisions are omitted if instances have different numbers of slots: k, or with k None the number of labels chosen.
    """
    candidates = Candidates.of(probabilities)
    if candidates.shape != chosen.shape:
        msg = f"probabilities must have the shape of truth, {chosen.shape}. Got {candidates.shape}."
        raise InputError(msg)
    slots = _count_slots(chosen.labels, k)
    if hits is not None:
        warn_of_truth(_sum_chosen(candidates, chosen), hits)
    names = [name for name in names if _is_utility(name) and (name not in _PRECISIONS or slots.min() == slots.max())]
    a, b = propensity
    utilities = {name: f"ps-precision({a}, {b})" if name == "ps-precision" else name for name in names}
    options = {
        "priors": priors,
        "expectation": expectation,
        "condition_positives": condition_positives,
        "engine": engine,
    }
    return {
        name: expected_utility(
            candidates, weighted_macro(as_utility(text, priors), label_weights), chosen, slots, **options
        )
        for name, text in utilities.items()
    }


def _sum_chosen(candidates: Candidates, chosen: Chosen) -> NDArray:
    """The sum of the probabilities of the chosen labels of each instance."""
    positions = np.empty_like(chosen.labels)
    find_positions(candidates.rows, chosen.labels, positions)
    places = np.where(positions >= 0, candidates.rows.indptr[:-1, None] + positions, 0)
    return np.where(positions >= 0, candidates.rows.values[places], 0.0).sum(axis=1, dtype=np.float64)


def _is_utility(name: str) -> bool:
    return name in _PRECISIONS or not (name in INSTANCE_METRICS or name in _WITHOUT_CHANCE)


def _count_slots(labels: NDArray, k: int | None) -> NDArray:
    return (labels != EMPTY).sum(axis=1) if k is None else np.full(len(labels), k)
