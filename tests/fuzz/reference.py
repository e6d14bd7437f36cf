"""Expected utilities by their definitions, in plain Python: slow and obvious, with nothing from tailwise.

A label is a column of probabilities, one per instance, and the set of instances that it is selected for. Instances are
independent, and what a label adds depends on its own column alone, and on what was decided for it elsewhere. A utility
is a list of terms: a factor, a name, its parameters and weights of the labels; 0/0 is 0.
"""

import functools
import math
import operator
from typing import NamedTuple

from fuzz.elsewhere import NOTHING, poisson

LINEAR = ("precision", "hamming", "weighted", "macro-accuracy", "macro-recall", "macro-balanced-accuracy")
CURVED = ("macro-precision", "macro-f1", "macro-fbeta", "macro-jaccard", "coverage")
# For these "exact" is worked out from the laws of hits and misses, and there is no certificate.
BY_LAWS = ("macro-gmean", "macro-hmean", "macro-auc")

# From here on tailwise takes a probability for 0, and a label for one without negatives.
SMALLEST_PROBABILITY = 1e-300
_USES_NEGATIVES = ("macro-balanced-accuracy", "macro-gmean", "macro-hmean", "macro-auc")


class Term(NamedTuple):
    """A part of a mixture: factor * name(parameters, weights); no weights are weights of 1.

    The parameters of "weighted" are four tuples with a number for each label.
    """

    factor: float
    name: str
    parameters: tuple = ()
    weights: tuple = ()

    def of_label(self, j):
        """What the term is for a single label: no weights, and of "weighted" its four numbers."""
        factor = self.factor * self.weights[j] if self.weights else self.factor
        parameters = tuple(each[j] for each in self.parameters) if self.name == "weighted" else self.parameters
        return Term(factor, self.name, parameters)


class Batch(NamedTuple):
    """What a utility is divided by: instances, labels, and the slots of all instances; those elsewhere included."""

    n_instances: float
    n_labels: int
    n_slots: float


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


def semi_empirical(terms, batch, j, column, chosen, elsewhere=NOTHING):
    """psi of the expected counts; coverage by its expectation, which is as easy."""
    counts = add_elsewhere(expected_counts(column, chosen), elsewhere)
    total = []
    for term in terms_of_label(terms, j):
        if term.name == "coverage":
            psi = (1 - elsewhere.failure * failure_chance(column, chosen)) / batch.n_labels
        else:
            psi = measure(term, batch, without_few_negatives(term.name, counts))
        total.append(term.factor * psi)
    return math.fsum(total)


def terms_of_label(terms, j):
    return tuple(term.of_label(j) for term in terms)


def exact_by_enumeration(terms, batch, j, column, chosen, elsewhere=NOTHING):
    """The expectation of psi: a sum over all 2^n ways in which the label may turn out."""
    n, selected = len(column), sum(1 << i for i in chosen)
    psi = tabulate_psi(terms_of_label(terms, j), batch, n, len(chosen), elsewhere)
    return math.fsum(
        chance * psi[(outcome & selected).bit_count()][(outcome & ~selected).bit_count()]
        for outcome, chance in enumerate(chances_of_outcomes(tuple(column)))
        if chance and outcome < 1 << n
    )


def exact_by_laws(terms, batch, j, column, chosen, elsewhere=NOTHING):
    """The same in polynomial time: hits and misses are independent, and both have Poisson-binomial laws."""
    psi = tabulate_psi(terms_of_label(terms, j), batch, len(column), len(chosen), elsewhere)
    hits = poisson_binomial([column[i] for i in sorted(chosen)])
    misses = poisson_binomial([eta for i, eta in enumerate(column) if i not in chosen])
    return math.fsum(
        chance_a * chance_b * psi[a][b]
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


@functools.lru_cache(maxsize=256)
def tabulate_psi(terms, batch, n, q, elsewhere):
    """psi at q selected instances of n, for each number of hits (rows) and misses: expected over those elsewhere."""
    hits, misses = poisson(elsewhere.hits), poisson(elsewhere.misses)
    n_rows, n_columns = q + len(hits), n - q + len(misses)
    total = [[_psi_at(terms, batch, q, a, b, elsewhere) for b in range(n_columns)] for a in range(n_rows)]
    after_hits = [_average(total[a : a + len(hits)], hits) for a in range(q + 1)]
    return [
        [
            _dot(misses, row[b : b + len(misses)]) + _psi_at_means(terms, batch, n, q, a, b, elsewhere)
            for b in range(n - q + 1)
        ]
        for a, row in enumerate(after_hits)
    ]


def _psi_at(terms, batch, q, hits, misses, elsewhere):
    """What depends on all hits and all misses, those elsewhere included; known ones are still to be added."""
    tp, fn, q = hits + elsewhere.known_hits, misses + elsewhere.known_misses, q + elsewhere.q
    counts = Counts(tp, q - tp, fn, batch.n_instances - q - fn)
    parts = []
    for term in terms:
        if term.name == "macro-balanced-accuracy":
            parts.append(term.factor * _divide(tp, tp + fn) / (2 * batch.n_labels))
        elif term.name != "coverage":
            parts.append(term.factor * measure(term, batch, without_few_negatives(term.name, counts)))
    return math.fsum(parts)


def _psi_at_means(terms, batch, n, q, hits, misses, elsewhere):
    """Coverage, and specificity, for which what is elsewhere counts at its mean."""
    negatives = n - hits - misses + elsewhere.n - elsewhere.p
    true_negatives = n - q - misses + elsewhere.n - elsewhere.p - (elsewhere.q - elsewhere.t)
    parts = []
    for term in terms:
        if term.name == "macro-balanced-accuracy":
            parts.append(term.factor * _divide(true_negatives, negatives) / (2 * batch.n_labels))
        elif term.name == "coverage":
            parts.append(term.factor * (1 if hits else 1 - elsewhere.failure) / batch.n_labels)
    return math.fsum(parts)


def _average(rows, chances):
    return [_dot(chances, column) for column in zip(*rows, strict=True)]


def _dot(a, b):
    return sum(map(operator.mul, a, b))


def expected_counts(column, chosen):
    taken = [eta for i, eta in enumerate(column) if i in chosen]
    left = [eta for i, eta in enumerate(column) if i not in chosen]
    return Counts(math.fsum(taken), math.fsum(1 - e for e in taken), math.fsum(left), math.fsum(1 - e for e in left))


def add_elsewhere(counts, elsewhere):
    negatives, fp = elsewhere.n - elsewhere.p, elsewhere.q - elsewhere.t
    more = Counts(elsewhere.t, fp, elsewhere.misses + elsewhere.known_misses, negatives - fp)
    return Counts(*(a + b for a, b in zip(counts, more, strict=True)))


def without_few_negatives(name, counts):
    """So few expected negatives are rounding errors, and count as none."""
    n = sum(counts)
    if name in _USES_NEGATIVES and counts.fp + counts.tn < 1e-6 + 1e-9 * n:
        return counts._replace(fp=0.0, tn=0.0)
    return counts


def failure_chance(column, chosen):
    """The chance of no hit."""
    return math.prod(1 - column[i] for i in chosen)


def measure(term, batch, counts):
    """What a label adds to a utility, from its confusion matrix."""
    tp, fp, fn, tn = counts
    if term.name == "precision":
        return tp / batch.n_slots
    if term.name == "hamming":
        return (tp + tn) / (batch.n_instances * batch.n_labels)
    if term.name == "weighted":
        w00, w01, w10, w11 = term.parameters
        return (w00 * tn + w01 * fp + w10 * fn + w11 * tp) / batch.n_instances
    if term.name in FORMULAS:
        return FORMULAS[term.name](tp, tp + fp, tp + fn) / batch.n_labels
    return _MACRO[term.name](tp, fp, fn, tn, *term.parameters) / batch.n_labels


def _divide(a, b):
    return a / b if b > 0 else 0.0


def _f_beta(tp, fp, fn, tn, beta=1.0):
    return _divide((1 + beta**2) * tp, (tp + fp) + beta**2 * (tp + fn))


def _specificity(fp, tn):
    """From 0 to 1, although Poisson counts elsewhere may have more hits than predictions."""
    return min(1.0, max(0.0, _divide(tn, tn + fp)))


def _h_mean(tp, fp, fn, tn):
    tpr, tnr = _divide(tp, tp + fn), _specificity(fp, tn)
    return _divide(2 * tpr * tnr, tpr + tnr)


def _auc(tp, fp, fn, tn):
    positives, negatives = tp + fn, fp + tn
    return min(1.0, max(0.0, 1 - (fp / negatives) * (fn / positives))) if positives > 0 and negatives > 0 else 0.0


_MACRO = {
    "macro-accuracy": lambda tp, fp, fn, tn: (tp + tn) / (tp + fp + fn + tn),
    "macro-recall": lambda tp, fp, fn, tn: _divide(tp, tp + fn),
    "macro-balanced-accuracy": lambda tp, fp, fn, tn: (_divide(tp, tp + fn) + _divide(tn, tn + fp)) / 2,
    "macro-precision": lambda tp, fp, fn, tn: _divide(tp, tp + fp),
    "macro-f1": _f_beta,
    "macro-fbeta": _f_beta,
    "macro-jaccard": lambda tp, fp, fn, tn: _divide(tp, tp + fp + fn),
    "macro-gmean": lambda tp, fp, fn, tn: math.sqrt(_divide(tp, tp + fn) * _specificity(fp, tn)),
    "macro-hmean": _h_mean,
    "macro-auc": _auc,
    "coverage": lambda tp, fp, fn, tn: float(tp > 0),
}
