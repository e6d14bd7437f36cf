"""Expected utilities by definition: over all label vectors, or over all numbers of positives.

A label is a column of probabilities and, for each instance, whether the label is chosen. A psi is a Python function of
(t, q, p, n). Positives outside the candidates, `extra` of them expected, are Poisson distributed and never chosen.
"""

import functools
import itertools
import math

import numpy as np
import scipy.stats
from reference import utilities


def enumerate_label(value, probabilities, is_chosen):
    """Expectation of value(labels, is_chosen), any function of the 0/1 labels of all instances: a sum over all 2^n."""
    assert len(probabilities) <= 12
    total = 0.0
    for labels in itertools.product((0, 1), repeat=len(probabilities)):
        chance = math.prod(e if y else 1 - e for e, y in zip(probabilities, labels, strict=True))
        total += chance * value(labels, is_chosen)
    return total


def convolve_label(psi, probabilities, is_chosen, extra=0.0):
    """Expectation of psi(t, q, p, n): a sum over all a = T and b = P - T, which are independent."""
    n, q = len(probabilities), sum(map(bool, is_chosen))
    hits = poisson_binomial([e for e, z in zip(probabilities, is_chosen, strict=True) if z])
    others = poisson_binomial([e for e, z in zip(probabilities, is_chosen, strict=True) if not z])
    if extra > 0:
        others = np.convolve(others, poisson(extra))
    total = 0.0
    for a, chance_a in enumerate(hits.tolist()):
        # Plain sums over the others keep the digits of sums with many summands.
        total += chance_a * math.fsum(
            chance * psi(a, q, a + b, n) for b, chance in enumerate(others.tolist()) if chance
        )
    return total


def poisson_binomial(probabilities):
    """Distribution of a sum of independent Bernoulli variables."""
    pmf = np.ones(1)
    for e in probabilities:
        pmf = np.convolve(pmf, [1 - e, e])
    return pmf


@functools.lru_cache(1000)
def poisson(rate):
    """Distribution of a Poisson variable, as far as a double reaches: what is left out has less than 1e-20."""
    return scipy.stats.poisson.pmf(np.arange(int(rate + 12 * math.sqrt(rate) + 25)), rate) if rate > 0 else np.ones(1)


def parse(text):
    """A mixture, from the way one writes it: "0.7*precision + 0.3*macro-f1"."""
    mixture = {}
    for term in text.split(" + "):
        factor, _, name = term.rpartition("*")
        mixture[name] = mixture.get(name, 0.0) + float(factor or 1)
    return mixture


def expect_labels(text, probabilities, labels, *, k=None, training=None, extra=None, enumerates=False):
    """What each label adds to the expected utility of a selection.

    Probabilities are dense, (n, m); labels (n, k), -1 for an empty slot; k, where the utility is divided by it, is the
    mean number of labels unless given. Labels are enumerated, or their positives convolved.
    """
    matrix = np.asarray(probabilities, dtype=np.float64)
    n, m = matrix.shape
    is_chosen = np.zeros((n, m), dtype=bool)
    for i, row in enumerate(labels):
        is_chosen[i, [j for j in row if j >= 0]] = True
    n_slots = max(1, int(is_chosen.sum()) if k is None else round(n * k))
    setting, mixture = utilities.Setting(m, n_slots, training), parse(text)
    values = []
    for j in range(m):
        column, chosen = matrix[:, j].tolist(), is_chosen[:, j].tolist()
        if enumerates:
            values.append(enumerate_label(_value_of(mixture, setting, j), column, chosen))
        else:
            values.append(
                convolve_label(_psi_of(mixture, setting, j), column, chosen, 0.0 if extra is None else extra[j])
            )
    return values


def expect(text, probabilities, labels, **options):
    """The expected utility of a selection."""
    return math.fsum(expect_labels(text, probabilities, labels, **options))


def _value_of(mixture, setting, j):
    return lambda labels, is_chosen: utilities.mixture_value(mixture, setting, j, labels, is_chosen)


def _psi_of(mixture, setting, j):
    """psi from counts: the value of t positives among q chosen instances; p stands for itself."""

    def psi(t, q, p, n):
        column = [1] * t + [0] * (n - t)
        return utilities.mixture_value(mixture, setting, j, column, [True] * q + [False] * (n - q), p)

    return psi
