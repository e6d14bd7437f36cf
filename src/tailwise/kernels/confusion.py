"""A selection against true labels: everything the metrics need, counted in one pass."""

from typing import NamedTuple

import numpy as np

from tailwise.kernels.compiling import bundle, kernel, part


@bundle
class LabelTotals(NamedTuple):
    """The confusion matrix of each label, as counts."""

    true_positives: np.ndarray  # int64 (m,)
    predicted_positives: np.ndarray  # int64 (m,)
    condition_positives: np.ndarray  # int64 (m,)


@bundle
class InstanceTotals(NamedTuple):
    """Sums over the chosen true labels of each instance, and the largest sums that as many slots could reach.

    A gain is discounted by its rank; a weighted sum counts each label by its weight.
    """

    hits: np.ndarray  # int64 (n,)
    gain: np.ndarray  # float64 (n,), as all below
    weighted_hits: np.ndarray
    weighted_gain: np.ndarray
    best_weighted_hits: np.ndarray
    best_weighted_gain: np.ndarray


@part
def keep_largest(kept, size, limit, value):
    """Insert a value into the descending kept[:size], of which at most ``limit`` stay; the new size."""
    if size < limit or (limit > 0 and kept[size - 1] < value):
        size = min(size + 1, limit)
        r = size - 1
        while r > 0 and kept[r - 1] < value:
            kept[r] = kept[r - 1]
            r -= 1
        kept[r] = value
    return size


@kernel
def count_confusion(indptr, truth, chosen, slots, weights, discounts, by_label, by_instance):
    """Count hits per label and per instance, in the order of the instances.

    Shapes: indptr (n + 1,); truth (nnz,); chosen (n, width); slots (n,); weights (m,); discounts (width,).
    Reads: the labels in truth and chosen. Writes: by_label, by_instance (adds to them).
    Assumes: labels below m, distinct within a row; a negative label ends a row of chosen; slots at most width.
    """
    owner = np.full(weights.size, -1, dtype=np.int64)
    best = np.empty(discounts.size)
    for i in range(indptr.size - 1):
        n_best = 0
        for x in range(indptr[i], indptr[i + 1]):
            j = truth[x]
            owner[j] = i
            by_label.condition_positives[j] += 1
            n_best = keep_largest(best, n_best, slots[i], weights[j])
        for r in range(chosen.shape[1]):
            j = chosen[i, r]
            if j < 0:
                break
            by_label.predicted_positives[j] += 1
            if owner[j] == i:
                by_label.true_positives[j] += 1
                by_instance.hits[i] += 1
                by_instance.gain[i] += discounts[r]
                by_instance.weighted_hits[i] += weights[j]
                by_instance.weighted_gain[i] += weights[j] * discounts[r]
        for r in range(n_best):
            by_instance.best_weighted_hits[i] += best[r]
            by_instance.best_weighted_gain[i] += best[r] * discounts[r]
