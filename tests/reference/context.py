"""Expected utilities with a context and a psi of its own for every label, by enumerating all label vectors.

A selection is a 0/1 matrix (n, m). Of the context t, q, p and n are known for each label; its hits and misses are
constants (`known`), Poisson variables, or, semi-empirically, just their means.
"""

import itertools
import math

# psi(t, q, p, n) of one label, from its counts.


def _divide(a, b):
    return a / b if b > 0 else 0.0


def precision(t, q, p, n):
    return _divide(t, q)


def recall(t, q, p, n):
    return _divide(t, p)


def f1(t, q, p, n):
    return _divide(2 * t, q + p)


def f2(t, q, p, n):
    return _divide(5 * t, q + 4 * p)


def jaccard(t, q, p, n):
    return _divide(t, q + p - t)


def balanced(t, q, p, n):
    return 0.5 * _divide(t, p) + 0.5 * _divide(n - q - p + t, n - p)


def gmean(t, q, p, n):
    return math.sqrt(_divide(t, p) * min(1.0, max(0.0, _divide(n - q - p + t, n - p))))


def auc(t, q, p, n):
    return min(1.0, max(0.0, 1 - (q - t) * (p - t) / (p * (n - p)))) if 0 < p < n else 0.0


def covered(t, q, p, n):
    return float(t > 0)


PSI = {
    "macro-precision": precision,
    "macro-recall": recall,
    "macro-f1": f1,
    "macro-fbeta(2)": f2,
    "macro-jaccard": jaccard,
    "macro-balanced-accuracy": balanced,
    "macro-gmean": gmean,
    "macro-auc": auc,
    "coverage": covered,
}


def expect_exactly(psis, matrix, is_chosen, context=None):
    """The mean over labels of E[psi_j], by all label vectors of the batch and all counts of the context."""
    n, m = len(matrix), len(matrix[0])
    total = 0.0
    for j in range(m):
        for y in itertools.product((0, 1), repeat=n):
            weight = math.prod(matrix[i][j] if y[i] else 1 - matrix[i][j] for i in range(n))
            if weight > 0:
                t = sum(y[i] for i in range(n) if is_chosen[i][j])
                q = sum(is_chosen[i][j] for i in range(n))
                total += weight * _over_context(psis[j], t, q, sum(y), n, context, j)
    return total / m


def _over_context(psi, t, q, p, n, context, j):
    if context is None:
        return psi(t, q, p, n)
    hits = context["t"][j] - context["known_t"][j]
    misses = context["p"][j] - context["known_p"][j] - hits
    total = 0.0
    for a, weight_a in _poisson(hits):
        for b, weight_b in _poisson(misses):
            known_t, known_p = context["known_t"][j], context["known_p"][j]
            value = psi(t + a + known_t, q + context["q"][j], p + a + b + known_p, n + context["n"])
            total += weight_a * weight_b * value
    return total


def _poisson(mean):
    if mean <= 0:
        return [(0, 1.0)]
    return [(x, math.exp(-mean + x * math.log(mean) - math.lgamma(x + 1))) for x in range(40)]


def expect_semi(psis, matrix, is_chosen, context=None):
    """The mean over labels of psi_j at the expected counts; coverage by its own expectation."""
    n, m = len(matrix), len(matrix[0])
    total = 0.0
    for j in range(m):
        t = sum(matrix[i][j] for i in range(n) if is_chosen[i][j])
        q = sum(is_chosen[i][j] for i in range(n))
        p = sum(matrix[i][j] for i in range(n))
        failure = math.prod(1 - matrix[i][j] for i in range(n) if is_chosen[i][j])
        if context is not None:
            t, q, p = t + context["t"][j], q + context["q"][j], p + context["p"][j]
            failure *= context["failure"][j]
        n_all = n + (0 if context is None else context["n"])
        total += 1 - failure if psis[j] is covered else psis[j](t, q, p, n_all)
    return total / m


def best_of_all(value, n, m, k):
    """The largest value of any selection of k labels for each of n instances."""
    rows = [tuple(int(j in chosen) for j in range(m)) for chosen in itertools.combinations(range(m), k)]
    return max(value(is_chosen) for is_chosen in itertools.product(rows, repeat=n))
