"""Calibration, slow and obvious."""

import itertools

import numpy as np

__all__ = ["calibration_error", "fit_steps", "most_probable", "truth_of"]


def truth_of(probabilities, truth):
    """The (probability, truth) pairs of all nonzero cells, row by row."""
    return [
        (probabilities[i, j], float(truth[i, j])) for i, j in np.ndindex(probabilities.shape) if probabilities[i, j] > 0
    ]


def most_probable(probabilities, k):
    """All but the k most probable labels of each row set to zero; ties go to the smaller label."""
    kept = np.zeros_like(probabilities)
    for i, row in enumerate(probabilities):
        for j in sorted(range(row.size), key=lambda j: (-row[j], j))[:k]:
            kept[i, j] = row[j]
    return kept


def calibration_error(pairs, edges):
    """Expected calibration error over bins [edge, next edge), the last one closed."""
    total = 0.0
    for b, (low, high) in enumerate(itertools.pairwise(edges)):
        is_last = b == len(edges) - 2
        inside = [(p, y) for p, y in pairs if low <= p and (p < high or (is_last and p <= high))]
        if inside:
            total += abs(sum(p for p, _ in inside) - sum(y for _, y in inside))
    return total / len(pairs)


def fit_steps(points, targets):
    """Isotonic regression by its definition: value at x is the max over a <= x of the min over b >= x of means."""
    points, targets = np.asarray(points, dtype=float), np.asarray(targets, dtype=float)
    levels = sorted(set(points))
    fitted = {}
    for x in levels:
        best = -np.inf
        for a in (v for v in levels if v <= x):
            means = [targets[(points >= a) & (points <= b)].mean() for b in levels if b >= x]
            best = max(best, min(means))
        fitted[x] = best
    return fitted
