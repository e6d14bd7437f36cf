"""Metrics by their definitions: dense arrays, plain loops, and the best selection by trying all of them."""

import itertools
import math

import numpy as np


def random_problem(seed, *, padded=True, max_labels=6):
    """True labels (n, m) of density 0.05 to 0.6, chosen labels (n, width), and training labels (30, m)."""
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 9), rng.integers(3, max_labels + 1)  # of two labels, an array could be a 0/1 matrix
    width = rng.integers(1, m + 1)
    truth = (rng.random((n, m)) < rng.uniform(0.05, 0.6)).astype(np.int64)
    chosen = np.array([rng.permutation(m)[:width] for _ in range(n)])
    if padded:
        chosen[np.arange(width) >= rng.integers(0, width + 1, n)[:, None]] = -1
    return truth, chosen, (rng.random((30, m)) < rng.random(m)).astype(np.int64)


def as_matrix(chosen, m):
    """The (n, width) array of labels as a 0/1 matrix."""
    matrix = np.zeros((len(chosen), m), dtype=np.int64)
    for i, row in enumerate(chosen):
        matrix[i, [j for j in row if j >= 0]] = 1
    return matrix


def divide(a, b, zero_division):
    return a / b if b else zero_division


def mean(values, zero_division):
    values = [value for value in values if not math.isnan(value)]
    return sum(values) / len(values) if values else zero_division


def inverse_propensities(training, a=0.55, b=1.5):
    c = (math.log(len(training)) - 1) * (b + 1) ** a
    return [1 + c * (count + b) ** -a for count in training.sum(axis=0)]


def label_metrics(truth, predicted, beta=2.0, zero_division=0.0):
    """Metric names to lists with one value per label."""
    columns = [_metrics_of_label(truth[:, j], predicted[:, j], beta, zero_division) for j in range(truth.shape[1])]
    return {name: [column[name] for column in columns] for name in columns[0]}


def _metrics_of_label(y, z, beta, zero_division):
    tp, fp = int((y & z).sum()), int(((1 - y) & z).sum())
    fn, tn = int((y & (1 - z)).sum()), int(((1 - y) & (1 - z)).sum())
    sensitivity, specificity = divide(tp, tp + fn, zero_division), divide(tn, tn + fp, zero_division)
    both_zero = sensitivity == 0 and specificity == 0
    return {
        "macro-precision": divide(tp, tp + fp, zero_division),
        "macro-recall": sensitivity,
        "macro-f1": divide(2 * tp, 2 * tp + fp + fn, zero_division),
        f"macro-fbeta({beta:g})": divide((1 + beta**2) * tp, (1 + beta**2) * tp + beta**2 * fn + fp, zero_division),
        "macro-jaccard": divide(tp, tp + fp + fn, zero_division),
        "macro-balanced-accuracy": (sensitivity + specificity) / 2,
        "macro-gmean": math.sqrt(sensitivity * specificity),
        "macro-hmean": 0.0 if both_zero else 2 * sensitivity * specificity / (sensitivity + specificity),
        "macro-accuracy": (tp + tn) / len(y),
        "coverage": float(tp > 0),
        "catalogue-coverage": float(tp + fp > 0),
    }


def instance_metrics(truth, chosen, k=None, weights=None, zero_division=0.0):
    """Metric names to values; the normalised ones divide by the best of all orders of all labels."""
    ones = [1.0] * truth.shape[1]
    weights = ones if weights is None else weights
    columns = []
    for y, labels in zip(truth, chosen, strict=True):
        row = [j for j in labels if j >= 0][:k]
        columns.append(_sums_of_instance(y, row, len(row) if k is None else k, weights, ones))

    def average(numerator, denominator):
        return mean([divide(c[numerator], c[denominator], zero_division) for c in columns], zero_division)

    def total(numerator, denominator):
        return sum(c[numerator] / c[denominator] for c in columns if c[denominator])

    return {
        "precision": average("hits", "slots"),
        "recall": average("hits", "true"),
        "ndcg": average("gain", "ideal"),
        "ps-precision": average("weighted_hits", "slots"),
        "ps-precision-normalised": divide(total("weighted_hits", "slots"), total("best_hits", "slots"), zero_division),
        "ps-ndcg": divide(total("weighted_gain", "ideal"), total("best_gain", "ideal"), zero_division),
        "micro-f1": divide(
            2 * sum(c["hits"] for c in columns), sum(c["chosen"] + c["true"] for c in columns), zero_division
        ),
    }


def _sums_of_instance(y, row, slots, weights, ones):
    return {
        "slots": slots,
        "chosen": len(row),
        "true": int(y.sum()),
        "hits": hits(y, row, ones),
        "gain": gain(y, row, ones),
        "ideal": best_gain(y, slots, ones),
        "weighted_hits": hits(y, row, weights),
        "weighted_gain": gain(y, row, weights),
        "best_hits": max(hits(y, other, weights) for other in itertools.combinations(range(len(y)), slots)),
        "best_gain": best_gain(y, slots, weights),
    }


def hits(y, row, weights):
    return sum(weights[j] * y[j] for j in row)


def gain(y, row, weights):
    return sum(weights[j] * y[j] / math.log2(r + 2) for r, j in enumerate(row))


def best_gain(y, slots, weights):
    return max(gain(y, row, weights) for row in itertools.permutations(range(len(y)), slots))


def all_metrics(truth, chosen, k=None, weights=None, labels="all", zero_division=0.0):
    """Every metric, names to values."""
    rows = [[j for j in row if j >= 0][:k] for row in chosen]
    averaged = [j for j in range(truth.shape[1]) if labels == "all" or truth[:, j].any()]
    per_label = label_metrics(truth, as_matrix(rows, truth.shape[1]), zero_division=zero_division)
    macro = {name: mean([values[j] for j in averaged], zero_division) for name, values in per_label.items()}
    return macro | instance_metrics(truth, chosen, k, weights, zero_division)
