"""A utility on one batch as kernels see it: what it is made of, the totals of a selection, and gains.

`Terms` say what the utility of label j is, and never change:

    a_j t + b_j q + sum_f c_f w_fj psi_f(t, q, p_j, n; a_fj) + c_j (1 - prod over S_j of (1 - eta_i))

`State` holds the counts of a selection, which only the running method changes. Adding an instance with probability e
changes the utility by the *gain*. For every label the state keeps a *line* with

    gain(e) <= slope * e + offset        for all e in [0, 1],

so that a scan over candidates reads two numbers a label and evaluates the utility only where the line passes the bar.
Lines are kept in single precision, which scans twice as fast, and lie above the gain by what that can lose.
For a utility that is affine in t at fixed q (precision, F-beta, recall, every instance-wise one, coverage) the line is
the gain itself; for a convex one (Jaccard) it is the chord above it, for a concave one (G-mean) a secant extended.
"""

from typing import NamedTuple

import numpy as np

from tailwise.kernels.compiling import bundle, kernel, part, step
from tailwise.kernels.curvature import CONVEX, UNKNOWN
from tailwise.kernels.laws import (
    HITS,
    MISSES,
    Laws,
    convolved,
    direction_of,
    exclude,
    include,
    next_deconvolved,
)
from tailwise.kernels.nodes import Nodes, exact_add, exact_gain, exact_line, exact_own_gain
from tailwise.kernels.psi import call_formula

# Columns of State.counts. PSI is what the formulas give; the linear part and coverage follow from the others.
# FAILURE is prod (1 - eta) over the instances of the label, for coverage; the product itself may be too small for a
# number, so it is kept as MANTISSA * RESCALE ** SCALE.
T, Q, P, PSI, SCALE, MANTISSA, FAILURE = range(7)
N_COUNTS, N_COUNTS_WITHOUT_COVERAGE = 7, 4

# Columns of Terms.formulas and Terms.factors; the curvature is one of kernels/curvature.py.
ADDRESS, PARAMETERS, STRIDE = range(3)
COEFFICIENT, CURVATURE = range(2)

# A certain hit (eta = 1) would make the product zero for ever; 2^-53 less does not.
LARGEST_BELOW_ONE = 1.0 - 2.0**-53
RESCALE = 2.0**-500

# The line lies above the gain by more than single precision can take from it, here and when it is evaluated.
SLACK = 5e-7
# A steeper or higher line could leave the range of single precision, and is not used.
STEEPEST = 1e30
# The secant of a concave formula reaches back by this share of t: close to the tangent, and more than rounding sees.
SECANT = 1 / 64
# Probabilities that do not count.
NEGLIGIBLE = 1e-14
# What differences of psi lose in double precision.
ROUNDING = 1e-13


@bundle
class Terms(NamedTuple):
    """What a utility is made of; read-only. Arrays without entries switch a part off."""

    linear: np.ndarray  # float64 (m, 2): a, b
    formulas: np.ndarray  # int64 (F, 3): addresses of the formula and of its parameters, bytes from label to label
    factors: np.ndarray  # float64 (F, 2): coefficient, curvature
    weights: np.ndarray  # float64 (F, m): of each label; (F, 0) where all weigh the same
    coverage: np.ndarray  # float64 (m,): factor of each label; (0,) without coverage
    n_instances: float


@bundle
class State(NamedTuple):
    """The totals of a selection, what was decided elsewhere included; written by kernels."""

    counts: np.ndarray  # float64 (m, 4 or 7): t, q, p, psi; with coverage, failure probability in three numbers
    slopes: np.ndarray  # float32 (m,): of the lines
    offsets: np.ndarray  # float32 (m,): of the lines
    nodes: Nodes  # of the terms whose expectation is exact; none where there are no such terms
    laws: Laws  # of hits and misses, for the exact expectation of formulas; none where it is not wanted


@part
def formula_at(terms, f, j, t, q, p):
    """Formula f of label j, not yet multiplied by its coefficient."""
    parameters = terms.formulas[f, PARAMETERS] + terms.formulas[f, STRIDE] * j
    return call_formula(terms.formulas[f, ADDRESS], t, q, p, terms.n_instances, parameters)


@part
def coefficient_of(terms, f, j):
    weight = terms.weights[f, j] if terms.weights.shape[1] > 0 else 1.0
    return terms.factors[f, COEFFICIENT] * weight


@part
def failure_without(counts, j, e):
    """Probability that label j is right for none of its instances but one, of probability e."""
    return min(1.0, counts[j, FAILURE] / (1.0 - min(e, LARGEST_BELOW_ONE)))


@step
def count_failure(counts, j, e, count):
    """Bring the failure probability of label j up to date with one instance more (count 1) or less (-1)."""
    survival = 1.0 - min(e, LARGEST_BELOW_ONE)
    mantissa = counts[j, MANTISSA] * survival if count > 0.0 else counts[j, MANTISSA] / survival
    if mantissa < RESCALE:
        mantissa /= RESCALE
        counts[j, SCALE] += 1.0
    elif mantissa > 1.0 and counts[j, SCALE] > 0.0:
        mantissa *= RESCALE
        counts[j, SCALE] -= 1.0
    counts[j, MANTISSA] = mantissa
    counts[j, FAILURE] = min(1.0, mantissa) if counts[j, SCALE] == 0.0 else 0.0


@part
def psi_at(terms, state, j, t, q):
    """What the formulas give for label j."""
    psi = 0.0
    for f in range(terms.formulas.shape[0]):
        psi += coefficient_of(terms, f, j) * formula_at(terms, f, j, t, q, state.counts[j, P])
    return psi


@step
def psi_by_law(terms, state, j, e, count):
    """The expectation of the formulas, with one instance more (count 1), less (-1), or as it is (0)."""
    law, s, q = state.laws.probabilities, state.laws.slots[j], state.counts[j, Q] + count
    # An instance that is added leaves the misses, one that is taken out leaves the hits; the other side gains it.
    outer = MISSES if count > 0.0 else HITS
    x, direction = direction_of(e, law.shape[2])
    psi, last = 0.0, 0.0
    for _ in range(law.shape[2]):
        last = next_deconvolved(law, s, outer, x, e, last) if count != 0.0 else law[s, outer, x]
        if last > NEGLIGIBLE:
            for y in range(law.shape[2]):
                weight = last * convolved(law, s, 1 - outer, y, e if count != 0.0 else 0.0)
                if weight > NEGLIGIBLE:
                    t = np.float64(x if outer == HITS else y) + state.laws.known[s, HITS]
                    p = np.float64(x + y) + state.laws.known[s, HITS] + state.laws.known[s, MISSES]
                    for f in range(terms.formulas.shape[0]):
                        value = formula_at(terms, f, j, t, q, p)
                        psi += weight * coefficient_of(terms, f, j) * value
        x += direction
    return psi


@part
def has_law(state, j):
    return state.laws.slots.size > 0 and state.laws.slots[j] >= 0


@part
def psi_with(terms, state, j, e, count):
    """What the formulas give for label j, with one instance more (count 1), less (-1), or as it is (0)."""
    if has_law(state, j):
        psi = psi_by_law(terms, state, np.int64(j), e, count)  # one type, one compilation
    else:
        psi = psi_at(terms, state, j, max(0.0, state.counts[j, T] + count * e), state.counts[j, Q] + count)
    return psi


@part
def gain_of(terms, state, j, e):
    """What label j gains with one more instance of probability e."""
    counts = state.counts
    psi = psi_with(terms, state, j, e, 1.0)
    gain = terms.linear[j, 0] * e + terms.linear[j, 1]
    gain += psi - counts[j, PSI]
    if terms.coverage.size > 0:
        gain += terms.coverage[j] * counts[j, FAILURE] * e
    if state.nodes.largest.size > 0:
        gain += exact_gain(state.nodes, j, counts[j, T], e)
    return gain


@part
def own_gain_of(terms, state, j, e):
    """What label j would lose without one of its instances, of probability e."""
    counts = state.counts
    psi = psi_with(terms, state, j, e, -1.0)
    gain = terms.linear[j, 0] * e + terms.linear[j, 1] + (counts[j, PSI] - psi)
    if terms.coverage.size > 0:
        gain += terms.coverage[j] * failure_without(counts, j, e) * e
    if state.nodes.largest.size > 0:
        gain += exact_own_gain(state.nodes, j, counts[j, T], e)
    return gain


@step
def add_instance(terms, state, j, e, count):
    """Add an instance of probability e to label j (count 1) or take it out (-1); the line is left to refresh_line."""
    counts = state.counts
    counts[j, T] = max(0.0, counts[j, T] + count * e)
    counts[j, Q] += count
    if has_law(state, j):
        exclude(state.laws.probabilities, state.laws.slots[j], MISSES if count > 0.0 else HITS, e)
        include(state.laws.probabilities, state.laws.slots[j], HITS if count > 0.0 else MISSES, e)
    counts[j, PSI] = psi_with(terms, state, j, 0.0, 0.0)
    if terms.coverage.size > 0:
        count_failure(counts, j, e, count)
    if state.nodes.largest.size > 0:
        exact_add(state.nodes, j, e, count)


@step
def bound_formula(terms, f, j, t, q, p):
    """Slope and offset of a line above psi_f(t + e, q, p) for all e in [0, 1]."""
    at_t = formula_at(terms, f, j, t, q, p)
    curvature = terms.factors[f, CURVATURE]
    if curvature <= CONVEX:  # or a line
        return formula_at(terms, f, j, t + 1.0, q, p) - at_t, at_t
    # The concave ones are so while there is room for a true negative.
    if curvature == UNKNOWN or q + p > terms.n_instances:
        return 0.0, np.inf
    if t > 0.0:
        # Where t is tiny, the difference is what rounding left of it: its error, that of numbers up to 1, counts, too.
        step_back = SECANT * t
        fall = at_t - formula_at(terms, f, j, t - step_back, q, p)
        return (fall + ROUNDING * (1.0 + abs(at_t))) / step_back, at_t
    return 0.0, formula_at(terms, f, j, 1.0, q, p)


@step
def refresh_line(terms, state, j):
    """Bring the line of label j up to date with its counts."""
    counts = state.counts
    t, q, p = counts[j, T], counts[j, Q], counts[j, P]
    # What the linear part gains is its two factors, whatever t and q.
    slope, offset = terms.linear[j, 0], terms.linear[j, 1]
    for f in range(terms.formulas.shape[0]):
        formula_slope, formula_offset = bound_formula(terms, f, j, t, q + 1.0, p)
        slope += coefficient_of(terms, f, j) * formula_slope
        offset += coefficient_of(terms, f, j) * formula_offset
    offset = np.inf if has_law(state, j) else offset - counts[j, PSI]
    if terms.coverage.size > 0:
        slope += terms.coverage[j] * counts[j, FAILURE]
    if state.nodes.largest.size > 0:
        exact_slope, exact_offset = exact_line(state.nodes, np.int64(j), counts[j, T])
        slope += exact_slope
        offset += exact_offset
    # Where single precision cannot hold the line, an offset of infinity lets every candidate pass.
    if not (abs(slope) < STEEPEST and abs(offset) < STEEPEST):
        slope, offset = 0.0, np.inf
    state.slopes[j] = slope
    state.offsets[j] = offset + SLACK * (abs(slope) + abs(offset)) + ROUNDING * abs(counts[j, PSI])


# The same as calls, for kernels in which they stand in many places but not in the innermost loop: these compile faster.
call_gain_of = step(gain_of.py_func)
call_own_gain_of = step(own_gain_of.py_func)
call_add_instance = step(add_instance.py_func)
call_refresh_line = step(refresh_line.py_func)


@step
def refresh_labels(terms, state):
    counts = state.counts
    for j in range(counts.shape[0]):
        counts[j, PSI] = psi_with(terms, state, j, 0.0, 0.0)
        refresh_line(terms, state, j)


@step
def count_entries(labels, values, counts, uses_failure):
    for x in range(labels.size):
        j = labels[x]
        if j >= 0:
            counts[j, T] += values[x]
            counts[j, Q] += 1.0
            if uses_failure:
                count_failure(counts, j, np.float64(values[x]), 1.0)


@kernel
def refresh(terms, state):
    """Bring psi and line of all labels up to date with t, q, p and the failure probability."""
    refresh_labels(terms, state)


@kernel
def count_selected(labels, values, terms, state):
    """Add t, q and the failure probability of a selection to the totals; the rest is left to refresh.

    Shapes: labels, values (any,), of each slot, label -1 for none. Writes: state.counts.
    """
    count_entries(labels, values, state.counts, terms.coverage.size > 0)


@kernel
def add_impossible(terms, state, labels):
    """Add instances of probability 0, one to each label listed.

    Shapes: labels (any,), a label may be listed several times. Writes: state, lines included.
    """
    for x in range(labels.size):
        add_instance(terms, state, labels[x], 0.0, 1.0)
        refresh_line(terms, state, labels[x])
