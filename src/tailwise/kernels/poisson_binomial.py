"""The exact expected utility of a label, from the distributions of its true positives and its other positives.

The positives of the instances are independent, so the number T among the selected ones and the number R among the rest
are independent sums of Bernoulli variables (Poisson-binomial), and

    E[psi] = sum over a, b of P(T = a) P(R = b) psi(a, q, a + b).

Each distribution is built one instance at a time, in a window that moves along: what it leaves behind on either side
never weighs more than the tolerance in all, and bounds the error. Positives outside the candidates join R as a Poisson
variable.
"""

import math
from typing import NamedTuple

import numpy as np

from tailwise.kernels.compiling import bundle, kernel, part, step
from tailwise.kernels.label_state import coefficient_of, formula_at

# A Poisson variable is cut where less than exp(-DEPTH) is left on each side, below what a double can tell from 0.
DEPTH = 40.0
# What an instance, a step of a Poisson distribution or a summand may add to the relative error of a sum: a few 2^-53.
ROUNDING = 2.0**-50


@bundle
class Columns(NamedTuple):
    """CSC columns of probabilities, which of them are selected, and what else is known of each label."""

    indptr: np.ndarray  # int64 (m + 1,)
    values: np.ndarray  # float32 or float64 (nnz,)
    is_selected: np.ndarray  # bool (nnz,)
    predicted_positives: np.ndarray  # float64 (m,): q, labels that are no candidates included
    rates: np.ndarray  # float64 (m, 2): expected hits and other positives outside the candidates, Poisson distributed
    known: np.ndarray  # float64 (m, 2): hits and other positives that are certain


# Columns of rates and known.
HITS, OTHERS = 0, 1


@bundle
class Window(NamedTuple):
    """Where a distribution is kept: pmf[x] is the probability of start + x, for low <= x <= high."""

    start: int
    low: int
    high: int
    last: int  # the largest x that is possible, whether kept or not
    lost_below: float
    lost_above: float


@step
def poisson_range(rate):
    """The smallest and largest number kept, by Bernstein's bounds of the tails."""
    if rate <= 0.0:
        return 0, 0
    below = math.sqrt(2.0 * DEPTH * rate)
    above = DEPTH / 3.0 + math.sqrt(DEPTH * DEPTH / 9.0 + 2.0 * DEPTH * rate)
    return max(0, int(rate - below)), int(rate + above) + 1


@step
def start_window(pmf, rate):
    """A Poisson distribution, by ratios outward from its mode; certainly 0 for a rate of 0."""
    first, last = poisson_range(rate)
    mode = int(rate)
    pmf[mode - first] = total = 1.0
    for b in range(mode + 1, last + 1):
        pmf[b - first] = pmf[b - first - 1] * rate / b
        total += pmf[b - first]
    for b in range(mode, first, -1):
        pmf[b - first - 1] = pmf[b - first] * b / rate
        total += pmf[b - first - 1]
    for x in range(last - first + 1):
        pmf[x] /= total
    return Window(first, 0, last - first, last - first, 0.0, 0.0)


@step
def add_instance(pmf, window, eta):
    """The distribution with one more instance, in place."""
    low, high = window.low, window.high
    pmf[high + 1] = pmf[high] * eta
    for x in range(high, low, -1):
        pmf[x] = pmf[x] * (1.0 - eta) + pmf[x - 1] * eta
    pmf[low] *= 1.0 - eta
    return Window(window.start, low, high + 1, window.last + 1, window.lost_below, window.lost_above)


@step
def trim(pmf, window, allowed):
    """Leave behind what may be lost on either side; at least one number stays."""
    low, high, below, above = window.low, window.high, window.lost_below, window.lost_above
    while low < high and below + pmf[low] <= allowed:
        below += pmf[low]
        low += 1
    while low < high and above + pmf[high] <= allowed:
        above += pmf[high]
        high -= 1
    return Window(window.start, low, high, window.last, below, above)


@step
def distribute(columns, j, rate, tolerance, pmf, is_selected):
    """How many positives label j has among its selected candidates, or among the others and a Poisson variable."""
    first, last = columns.indptr[j], columns.indptr[j + 1]
    # Each instance may lose only its share: otherwise the first ones use up the tolerance, and the window grows on.
    share = tolerance / (last - first + 1)
    n_seen = 1
    window = trim(pmf, start_window(pmf, rate), share)
    for x in range(first, last):
        if columns.is_selected[x] == is_selected:
            n_seen += 1
            window = trim(pmf, add_instance(pmf, window, np.float64(columns.values[x])), share * n_seen)
    return window


@part
def psi_at(terms, columns, j, hits, others):
    """What the formulas give for label j, with these hits and other positives beside those that are certain."""
    t, q = hits + columns.known[j, HITS], columns.predicted_positives[j]
    p = t + others + columns.known[j, OTHERS]
    psi = 0.0
    for f in range(terms.formulas.shape[0]):
        psi += coefficient_of(terms, f, j) * formula_at(terms, f, j, t, q, p)
    return psi


@step
def largest_at_ends(terms, columns, j, most_hits, most_others):
    """The largest absolute psi where T and R are as small or large as can be, so that what was lost is met, too."""
    largest = 0.0
    for hits in (0.0, most_hits):
        for others in (0.0, most_others):
            largest = max(largest, abs(psi_at(terms, columns, j, hits, others)))
    return largest


@step
def expect_label(terms, columns, j, hits, of_hits, others, of_others):
    """E[psi] of a label and a bound of its error, from the distributions of T (hits) and R (others)."""
    expected = 0.0
    most_hits, most_others = float(of_hits.start + of_hits.last), float(of_others.start + of_others.last)
    largest = largest_at_ends(terms, columns, j, most_hits, most_others)
    for a in range(of_hits.low, of_hits.high + 1):
        given_hits = 0.0
        for b in range(of_others.low, of_others.high + 1):
            psi = psi_at(terms, columns, j, float(of_hits.start + a), float(of_others.start + b))
            given_hits += others[b] * psi
            largest = max(largest, abs(psi))
        expected += hits[a] * given_hits
    lost = of_hits.lost_below + of_hits.lost_above + of_others.lost_below + of_others.lost_above
    return expected, (lost + ROUNDING * (of_hits.last + of_others.last + 2)) * largest


@part
def largest_support(columns, first, last):
    """How many numbers the distributions of one label need at most."""
    size = 1
    for j in range(first, last):
        for side in (HITS, OTHERS):
            low, high = poisson_range(columns.rates[j, side])
            size = max(size, columns.indptr[j + 1] - columns.indptr[j] + high - low + 1)
    return size


@kernel
def expect_labels(columns, terms, tolerance, first, last, expected, errors):
    """The expected utility of the labels from first to last - 1.

    Shapes: expected, errors (m,). Writes: their part from first to last - 1, nothing else.
    Assumes: probabilities in [0, 1]; rates finite and at least 0.
    """
    size = largest_support(columns, first, last)
    hits, others = np.empty(size), np.empty(size)
    for j in range(first, last):
        of_hits = distribute(columns, j, columns.rates[j, HITS], tolerance, hits, is_selected=True)
        of_others = distribute(columns, j, columns.rates[j, OTHERS], tolerance, others, is_selected=False)
        expected[j], errors[j] = expect_label(terms, columns, j, hits, of_hits, others, of_others)
