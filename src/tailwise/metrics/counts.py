"""The counts from which metrics are computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tailwise.kernels.confusion import InstanceTotals, LabelTotals, count_confusion
from tailwise.metrics.metric_formulas import average, ratio_for


@dataclass(frozen=True)
class LabelCounts:
    """The confusion matrices of some labels: t, q and p among n instances, and the value of 0/0."""

    label: NDArray
    true_positives: NDArray
    predicted_positives: NDArray
    condition_positives: NDArray
    n_instances: int
    zero_division: float
    weights: NDArray | None = None

    def values(self, formula: Callable[..., Any]) -> NDArray:
        """Compute a metric of each label."""
        counts = (self.true_positives, self.predicted_positives, self.condition_positives, self.n_instances)
        return formula(*counts, ratio_for(self.zero_division))

    def average(self, formula: Callable[..., Any]) -> float:
        """Compute a metric averaged over these labels, each multiplied by its weight."""
        values = self.values(formula)
        is_weighted = self.weights is not None and np.ndim(values) == 1
        return average(self.weights * values if is_weighted else values, self.zero_division)

    def where(self, mask: NDArray) -> LabelCounts:
        """Return the counts of the labels in a mask."""
        names = ("label", "true_positives", "predicted_positives", "condition_positives")
        weights = None if self.weights is None else self.weights[mask]
        return replace(self, **{name: getattr(self, name)[mask] for name in names}, weights=weights)


@dataclass(frozen=True)
class InstanceCounts:
    """Counts of chosen and true labels for each instance; ``InstanceTotals`` explains the sums."""

    slots: NDArray
    chosen: NDArray
    true: NDArray
    ideal_gain: NDArray
    hits: NDArray
    gain: NDArray
    weighted_hits: NDArray
    weighted_gain: NDArray
    best_weighted_hits: NDArray
    best_weighted_gain: NDArray


def count(
    truth: sp.csr_array, chosen: NDArray, k: int | None, weights: NDArray, zero_division: float
) -> tuple[LabelCounts, InstanceCounts]:
    """Count everything in one pass.

    `truth` is canonical without stored zeros, `chosen` (n, width) is padded with -1, and `weights` (m,) are used in the
    weighted sums. With k None, an instance has as many slots as labels.
    """
    n, m = truth.shape
    chosen = chosen.view()
    chosen.flags.writeable = False  # always, because the kernel would be compiled again for writable arrays
    n_chosen = (chosen >= 0).sum(axis=1)
    n_true = np.diff(truth.indptr).astype(np.int64)
    slots = n_chosen if k is None else np.full(n, k, dtype=np.int64)
    discounts = 1 / np.log2(np.arange(chosen.shape[1]) + 2)
    by_label = LabelTotals(*(np.zeros(m, dtype=np.int64) for _ in LabelTotals._fields))
    by_instance = InstanceTotals(np.zeros(n, dtype=np.int64), *(np.zeros(n) for _ in InstanceTotals._fields[1:]))
    indptr, labels = truth.indptr.astype(np.int64), truth.indices.astype(np.int32)
    count_confusion(indptr, labels, chosen, slots, weights, discounts, by_label, by_instance)
    ideal_gain = np.concatenate([[0.0], np.cumsum(discounts)])[np.minimum(slots, n_true)]
    return (
        LabelCounts(np.arange(m), *by_label, n, zero_division),
        InstanceCounts(slots, n_chosen, n_true, ideal_gain, *by_instance),
    )
