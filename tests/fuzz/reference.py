"""Expected utilities by their definitions, in plain Python: slow and obvious, with nothing from tailwise.

A label is a column of probabilities, one per instance, and the set of instances that it is selected for. Instances are
independent, and what a label adds depends on its own column alone. A utility is a list of terms: a factor, a name and
its parameters; 0/0 is 0.
"""

import functools
import math
from typing import NamedTuple

LINEAR = ("precision", "hamming", "weighted", "macro-accuracy", "macro-recall", "macro-balanced-accuracy")
CURVED = ("macro-precision", "macro-f1", "macro-fbeta", "macro-jaccard", "coverage")
# For these "exact" is worked out from the laws of hits and misses, and there is no certificate.
BY_LAWS = ("macro-gmean", "macro-hmean", "macro-auc")

# From here on tailwise takes a probability for 0, and a label for one without negatives.
SMALLEST_PROBABILITY = 1e-300
_USES_NEGATIVES = ("macro-balanced-accuracy", "macro-gmean", "macro-hmean", "macro-auc")


class Term(NamedTuple):
    """A part of a mixture: factor * name(parameters)."""

    factor: float
    name: str
    parameters: tuple = ()


class Batch(NamedTuple):
    """What a utility is divided by: instances, labels, and the slots of all instances together."""

    n_instances: int
    n_labels: int
    n_slots: int


class Counts(NamedTuple):
    """The confusion matrix of a label, observed or expected."""

    tp: float
    fp: float
    fn: float
    tn: float


def smoothed_f1(t, q, p):
    """A user's formula; linear in t at fixed q and p."""
    return (2 * t + 0.5) / (q + p + 1.0)


def smoothed_jaccard(t, q, p):
    """A user's formula that bends in t."""
    return (t + 0.25) / (q + p - t + 0.5)


FORMULAS = {"smoothed-f1": smoothed_f1, "smoothed-jaccard": smoothed_jaccard}


def semi_empirical(terms, batch, j, column, chosen):
    """psi of the expected counts; coverage by its expectation, which is as easy."""
    counts = expected_counts(column, chosen)
    total = []
    for term in terms:
        if term.name == "coverage":
            total.append(term.factor * coverage_chance(column, chosen) / batch.n_labels)
        else:
            total.append(term.factor * measure(term, batch, j, without_few_negatives(term.name, counts)))
    return math.fsum(total)


def exact_by_enumeration(terms, batch, j, column, chosen):
    """The expectation of psi: a sum over all 2^n ways in which the label may turn out."""
    n, selected = len(column), sum(1 << i for i in chosen)
    psi = psi_of_counts(terms, batch, j, len(chosen))
    return math.fsum(
        chance * psi((outcome & selected).bit_count(), (outcome & ~selected).bit_count())
        for outcome, chance in enumerate(chances_of_outcomes(tuple(column)))
        if chance and outcome < 1 << n
    )


def exact_by_laws(terms, batch, j, column, chosen):
    """The same in polynomial time: hits and misses are independent, and both have Poisson-binomial laws."""
    psi = psi_of_counts(terms, batch, j, len(chosen))
    hits = poisson_binomial([column[i] for i in sorted(chosen)])
    misses = poisson_binomial([eta for i, eta in enumerate(column) if i not in chosen])
    return math.fsum(
        chance_a * chance_b * psi(a, b)
        for a, chance_a in enumerate(hits)
        for b, chance_b in enumerate(misses)
        if chance_a * chance_b
    )


@functools.lru_cache(maxsize=64)
def chances_of_outcomes(column):
    """The probability of each of the 2^n label vectors; bit i of its number says whether instance i has the label."""
    chances = [1.0]
    for eta in column:
        chances = [chance * (1 - eta) for chance in chances] + [chance * eta for chance in chances]
    return chances


def poisson_binomial(etas):
    """The law of the number of positives among independent instances."""
    law = [1.0]
    for eta in etas:
        stays, rises = [chance * (1 - eta) for chance in law] + [0.0], [0.0] + [chance * eta for chance in law]
        law = [a + b for a, b in zip(stays, rises, strict=True)]
    return law


def psi_of_counts(terms, batch, j, q):
    """psi at q selected instances as a function of hits and misses."""

    @functools.cache
    def psi(hits, misses):
        tn = batch.n_instances - q - misses
        return math.fsum(term.factor * measure(term, batch, j, Counts(hits, q - hits, misses, tn)) for term in terms)

    return psi


def expected_counts(column, chosen):
    taken = [eta for i, eta in enumerate(column) if i in chosen]
    left = [eta for i, eta in enumerate(column) if i not in chosen]
    return Counts(math.fsum(taken), math.fsum(1 - e for e in taken), math.fsum(left), math.fsum(1 - e for e in left))


def without_few_negatives(name, counts):
    """So few expected negatives are rounding errors, and count as none."""
    n = sum(counts)
    if name in _USES_NEGATIVES and counts.fp + counts.tn < 1e-6 + 1e-9 * n:
        return counts._replace(fp=0.0, tn=0.0)
    return counts


def coverage_chance(column, chosen):
    """The chance of at least one hit."""
    if any(column[i] == 1 for i in chosen):
        return 1.0
    return -math.expm1(math.fsum(math.log1p(-column[i]) for i in chosen))


def measure(term, batch, j, counts):
    """What label j adds to a utility, from its confusion matrix."""
    tp, fp, fn, tn = counts
    if term.name == "precision":
        return tp / batch.n_slots
    if term.name == "hamming":
        return (tp + tn) / (batch.n_instances * batch.n_labels)
    if term.name == "weighted":
        w00, w01, w10, w11 = (weights[j] for weights in term.parameters)
        return (w00 * tn + w01 * fp + w10 * fn + w11 * tp) / batch.n_instances
    if term.name in FORMULAS:
        return FORMULAS[term.name](tp, tp + fp, tp + fn) / batch.n_labels
    return _MACRO[term.name](tp, fp, fn, tn, *term.parameters) / batch.n_labels


def _divide(a, b):
    return a / b if b > 0 else 0.0


def _f_beta(tp, fp, fn, tn, beta=1.0):
    return _divide((1 + beta**2) * tp, (tp + fp) + beta**2 * (tp + fn))


def _h_mean(tp, fp, fn, tn):
    tpr, tnr = _divide(tp, tp + fn), _divide(tn, tn + fp)
    return _divide(2 * tpr * tnr, tpr + tnr)


def _auc(tp, fp, fn, tn):
    positives, negatives = tp + fn, fp + tn
    return 1 - (fp / negatives) * (fn / positives) if positives > 0 and negatives > 0 else 0.0


_MACRO = {
    "macro-accuracy": lambda tp, fp, fn, tn: (tp + tn) / (tp + fp + fn + tn),
    "macro-recall": lambda tp, fp, fn, tn: _divide(tp, tp + fn),
    "macro-balanced-accuracy": lambda tp, fp, fn, tn: (_divide(tp, tp + fn) + _divide(tn, tn + fp)) / 2,
    "macro-precision": lambda tp, fp, fn, tn: _divide(tp, tp + fp),
    "macro-f1": _f_beta,
    "macro-fbeta": _f_beta,
    "macro-jaccard": lambda tp, fp, fn, tn: _divide(tp, tp + fp + fn),
    "macro-gmean": lambda tp, fp, fn, tn: math.sqrt(_divide(tp, tp + fn) * _divide(tn, tn + fp)),
    "macro-hmean": _h_mean,
    "macro-auc": _auc,
    "coverage": lambda tp, fp, fn, tn: float(tp > 0),
}
