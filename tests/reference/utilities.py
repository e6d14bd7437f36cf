"""Utilities by their definitions: one 2x2 confusion matrix per label, filled by a plain loop over the instances.

The same loop serves true labels (0 and 1) and probabilities: there it gives the expected counts, and the utility of
those is the semi-empirical one. A mixture is a dict of names to factors.
"""

import functools
import math
from dataclasses import dataclass

LINEAR = (
    "precision",
    "ps-precision",
    "power-law",
    "log",
    "hamming",
    "macro-recall",
    "macro-balanced-accuracy",
    "macro-accuracy",
)
NONLINEAR = (
    "macro-precision",
    "macro-f1",
    "macro-fbeta",
    "macro-jaccard",
    "macro-gmean",
    "macro-hmean",
    "macro-auc",
    "coverage",
)
WITH_PARAMETERS = ("macro-fbeta(2)", "macro-fbeta(0.5)", "ps-precision(0.6, 2.6)", "power-law(0.25)")
NAMES = (*LINEAR, *NONLINEAR, *WITH_PARAMETERS)


@dataclass(frozen=True)
class Training:
    """How many of the training instances have each label."""

    counts: tuple
    n_instances: int


@dataclass(frozen=True)
class Setting:
    """What a utility needs to know beside the confusion matrix of a label."""

    n_labels: int
    n_slots: int
    training: Training | None = None


def as_text(mixture):
    """A mixture as one writes it."""
    return " + ".join(f"{factor}*{name}" for name, factor in mixture.items())


def counts_of(column, is_chosen):
    """t, q and p of one label, from its true labels or its probabilities."""
    tp, fp, fn, _ = confusion(column, is_chosen)
    return tp, tp + fp, tp + fn


def confusion(column, is_chosen, p=None):
    """tp, fp, fn and tn of one label; a given p stands for the sum of the column."""
    tp = fp = fn = tn = 0.0
    for y, z in zip(column, is_chosen, strict=True):
        if z:
            tp += y
            fp += 1 - y
        else:
            fn += y
            tn += 1 - y
    if p is not None:
        fn = p - tp
        tn = len(column) - p - fp
    return tp, fp, fn, tn


def value(mixture, setting, matrix, is_chosen, p=None):
    """The utility of a selection (a 0/1 matrix): its sum over labels."""
    total = 0.0
    for j in range(setting.n_labels):
        column, chosen = [row[j] for row in matrix], [row[j] for row in is_chosen]
        total += mixture_value(mixture, setting, j, column, chosen, None if p is None else p[j])
    return total


def mixture_value(mixture, setting, j, column, is_chosen, p=None):
    """What label j adds to a mixture."""
    return sum(factor * label_value(name, setting, j, column, is_chosen, p) for name, factor in mixture.items())


def label_value(name, setting, j, column, is_chosen, p=None):
    """What label j adds to a utility; 0/0 is 0."""
    kind, parameters = _split(name)
    if kind == "coverage":
        return _coverage(column, is_chosen) / setting.n_labels
    tp, fp, fn, tn = confusion(column, is_chosen, p)
    if kind in ("precision", "ps-precision", "power-law", "log"):
        return label_weight(name, setting.training, j) * tp / setting.n_slots
    if kind == "hamming":
        return (tp + tn) / (len(column) * setting.n_labels)
    return _MEASURES[kind](tp, fp, fn, tn, *parameters) / setting.n_labels


def weighted_value(weights, column, is_chosen):
    """What a label adds to the utility of weighted outcomes; weights are w00, w01, w10, w11."""
    w00, w01, w10, w11 = weights
    tp, fp, fn, tn = confusion(column, is_chosen)
    return (w11 * tp + w01 * fp + w10 * fn + w00 * tn) / len(column)


def label_weight(name, training, j):
    """The weight of a hit of label j."""
    kind, parameters = _split(name)
    if kind == "precision":
        return 1.0
    count, n = training.counts[j], training.n_instances
    prior = (count if count >= 1 else 1) / n
    if kind == "log":
        return -math.log(prior)
    if kind == "power-law":
        (beta,) = parameters or (0.5,)
        return 1 / prior**beta
    a, b = parameters or (0.55, 1.5)
    return 1 + (math.log(n) - 1) * ((b + 1) / (count + b)) ** a


def share_of_ordered_pairs(truth, is_chosen):
    """AUC by counting: pairs of a positive and a negative, all but those where only the negative is selected."""
    pairs = ordered = 0
    for y, z in zip(truth, is_chosen, strict=True):
        for other_y, other_z in zip(truth, is_chosen, strict=True):
            if y == 1 and other_y == 0:
                pairs += 1
                ordered += not (other_z and not z)
    return ordered / pairs if pairs else 0.0


@functools.cache
def _split(name):
    kind, _, arguments = name.partition("(")
    return kind, [float(argument) for argument in arguments.rstrip(")").split(",") if argument]


def _coverage(column, is_chosen):
    missed = 1.0
    for y, z in zip(column, is_chosen, strict=True):
        if z:
            missed *= 1 - y
    return 1 - missed


def _divide(a, b):
    return a / b if b > 0 else 0.0


def _rates(tp, fp, fn, tn):
    return _divide(tp, tp + fn), _divide(tn, tn + fp)


def _f_beta(tp, fp, fn, tn, beta=1.0):
    return _divide((1 + beta**2) * tp, (1 + beta**2) * tp + beta**2 * fn + fp)


def _h_mean(tp, fp, fn, tn):
    sensitivity, specificity = _rates(tp, fp, fn, tn)
    return _divide(2 * sensitivity * specificity, sensitivity + specificity)


def _auc(tp, fp, fn, tn):
    pairs = (tp + fn) * (fp + tn)
    return max(0.0, 1 - fp * fn / pairs) if pairs > 0 else 0.0


_MEASURES = {
    "macro-precision": lambda tp, fp, fn, tn: _divide(tp, tp + fp),
    "macro-recall": lambda tp, fp, fn, tn: _divide(tp, tp + fn),
    "macro-f1": _f_beta,
    "macro-fbeta": _f_beta,
    "macro-jaccard": lambda tp, fp, fn, tn: _divide(tp, tp + fp + fn),
    "macro-balanced-accuracy": lambda tp, fp, fn, tn: sum(_rates(tp, fp, fn, tn)) / 2,
    # A given p may be more than the unselected instances have room for; a count below 0 is no root.
    "macro-gmean": lambda tp, fp, fn, tn: math.sqrt(max(0.0, math.prod(_rates(tp, fp, fn, tn)))),
    "macro-hmean": _h_mean,
    "macro-accuracy": lambda tp, fp, fn, tn: (tp + tn) / (tp + fp + fn + tn),
    "macro-auc": _auc,
}
