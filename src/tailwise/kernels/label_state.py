"""A utility on one batch as kernels see it: totals per label, the value they give, and the gain of one more instance.

The utility of label j is a_j t + b_j q + sum_f c_f psi_f(t, q, p_j) + c (1 - prod over S_j of (1 - eta_i)).
Adding an instance with probability e changes it by the *gain*. For every label a *line* is kept with

    gain(e) <= slope * e + offset        for all e in [0, 1],

so that a scan over candidates reads two numbers a label and evaluates the utility only where the line passes the bar.
Lines are kept in single precision, which scans twice as fast, and lie above the gain by what that can lose.
For a utility that is affine in t at fixed q (precision, F-beta, recall, every instance-wise one, coverage) the line is
the gain itself; for a convex one (Jaccard) it is the chord above it, for a concave one (G-mean) a secant extended.
"""

from typing import NamedTuple

import numpy as np

from tailwise.kernels.compiling import kernel, part, step
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
from tailwise.kernels.nodes import Quadrature, exact_add, exact_gain, exact_line, exact_own_gain
from tailwise.kernels.psi import call_formula

# Columns of Objective.totals. PSI is what the formulas give; the linear part and coverage follow from the others.
# FAILURE is prod (1 - eta) over the instances of the label; the product itself may be too small for a number, so it is
# kept as MANTISSA * RESCALE ** SCALE.
T, Q, SCALE, MANTISSA, FAILURE, P, PSI = range(7)
N_TOTALS = 7

# Columns of Objective.factors, and how a formula bends in t at fixed q and p.
COEFFICIENT, PARAMETER, CURVATURE = range(3)
CONVEX, CONCAVE, UNKNOWN = 0.0, 1.0, 2.0

# A certain hit (eta = 1) would make the product zero for ever; 2^-53 less does not.
LARGEST_BELOW_ONE = 1.0 - 2.0**-53
RESCALE = 2.0**-500

# The line lies above the gain by more than single precision can take from it, here and when it is evaluated.
SLACK = 5e-7
# A steeper or higher line could leave the range of single precision, and is not used.
STEEPEST = 1e30
# Probabilities that do not count.
NEGLIGIBLE = 1e-14
# What differences of psi lose in double precision.
ROUNDING = 1e-13


class Objective(NamedTuple):
    totals: np.ndarray  # float64 (m, N_TOTALS): t, q, failure probability in three numbers, p, psi
    slopes: np.ndarray  # float32 (m,): of the lines
    offsets: np.ndarray  # float32 (m,): of the lines
    linear: np.ndarray  # float64 (m, 2): a, b
    formulas: np.ndarray  # int64 (F,): addresses
    factors: np.ndarray  # float64 (F, 3): coefficient, parameter, curvature
    coverage: float
    n_instances: float
    quadrature: Quadrature  # of the terms whose expectation is exact; without nodes where there are none
    laws: Laws  # of hits and misses, for the exact expectation of formulas; without slots where it is not wanted


@part
def formula_at(objective, f, t, q, p):
    return call_formula(objective.formulas[f], t, q, p, objective.n_instances, objective.factors[f, PARAMETER])


@part
def failure_without(totals, j, e):
    """Probability that label j is right for none of its instances but one, of probability e."""
    return min(1.0, totals[j, FAILURE] / (1.0 - min(e, LARGEST_BELOW_ONE)))


@part
def count_failure(totals, j, e, count):
    """Bring the failure probability of label j up to date with one instance more (count 1) or less (-1)."""
    survival = 1.0 - min(e, LARGEST_BELOW_ONE)
    mantissa = totals[j, MANTISSA] * survival if count > 0.0 else totals[j, MANTISSA] / survival
    if mantissa < RESCALE:
        mantissa /= RESCALE
        totals[j, SCALE] += 1.0
    elif mantissa > 1.0 and totals[j, SCALE] > 0.0:
        mantissa *= RESCALE
        totals[j, SCALE] -= 1.0
    totals[j, MANTISSA] = mantissa
    totals[j, FAILURE] = min(1.0, mantissa) if totals[j, SCALE] == 0.0 else 0.0


@part
def psi_at(objective, j, t, q):
    """What the formulas give for label j."""
    psi = 0.0
    for f in range(objective.formulas.size):
        psi += objective.factors[f, COEFFICIENT] * formula_at(objective, f, t, q, objective.totals[j, P])
    return psi


@step
def psi_by_law(objective, j, e, count):
    """The expectation of the formulas, with one instance more (count 1), less (-1), or as it is (0)."""
    law, s, q = objective.laws.probabilities, objective.laws.slots[j], objective.totals[j, Q] + count
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
                    t = np.float64(x if outer == HITS else y)
                    for f in range(objective.formulas.size):
                        psi += (
                            weight
                            * objective.factors[f, COEFFICIENT]
                            * formula_at(objective, f, t, q, np.float64(x + y))
                        )
        x += direction
    return psi


@part
def has_law(objective, j):
    return objective.laws.slots.size > 0 and objective.laws.slots[j] >= 0


@part
def psi_with(objective, j, e, count):
    """What the formulas give for label j, with one instance more (count 1), less (-1), or as it is (0)."""
    if has_law(objective, j):
        psi = psi_by_law(objective, np.int64(j), e, count)  # one type, one compilation
    else:
        psi = psi_at(objective, j, max(0.0, objective.totals[j, T] + count * e), objective.totals[j, Q] + count)
    return psi


@part
def gain_of(objective, j, e):
    """What label j gains with one more instance of probability e."""
    totals = objective.totals
    psi = psi_with(objective, j, e, 1.0)
    gain = objective.linear[j, 0] * e + objective.linear[j, 1]
    gain += (psi - totals[j, PSI]) + objective.coverage * totals[j, FAILURE] * e
    if objective.quadrature.largest.size > 0:
        gain += exact_gain(objective.quadrature, j, totals[j, T], e)
    return gain


@part
def own_gain_of(objective, j, e):
    """What label j would lose without one of its instances, of probability e."""
    totals = objective.totals
    psi = psi_with(objective, j, e, -1.0)
    gain = objective.linear[j, 0] * e + objective.linear[j, 1] + (totals[j, PSI] - psi)
    if objective.coverage > 0.0:
        gain += objective.coverage * failure_without(totals, j, e) * e
    if objective.quadrature.largest.size > 0:
        gain += exact_own_gain(objective.quadrature, j, totals[j, T], e)
    return gain


@part
def add_instance(objective, j, e, count):
    """Add an instance of probability e to label j (count 1) or take it out (-1); the line is left to refresh_line."""
    totals = objective.totals
    totals[j, T] = max(0.0, totals[j, T] + count * e)
    totals[j, Q] += count
    if has_law(objective, j):
        exclude(objective.laws.probabilities, objective.laws.slots[j], MISSES if count > 0.0 else HITS, e)
        include(objective.laws.probabilities, objective.laws.slots[j], HITS if count > 0.0 else MISSES, e)
    totals[j, PSI] = psi_with(objective, j, 0.0, 0.0)
    if objective.coverage > 0.0:
        count_failure(totals, j, e, count)
    if objective.quadrature.largest.size > 0:
        exact_add(objective.quadrature, j, e, count)


@part
def bound_formula(objective, f, t, q, p):
    """Slope and offset of a line above psi_f(t + e, q, p) for all e in [0, 1]."""
    at_t = formula_at(objective, f, t, q, p)
    curvature = objective.factors[f, CURVATURE]
    if curvature == CONVEX:
        return formula_at(objective, f, t + 1.0, q, p) - at_t, at_t
    # The concave ones are so while there is room for a true negative.
    if curvature == UNKNOWN or q + p > objective.n_instances:
        return 0.0, np.inf
    if t > 0.0:
        # Where t is tiny, the difference is what rounding left of it: its error counts, too.
        return (at_t - formula_at(objective, f, 0.5 * t, q, p) + ROUNDING * abs(at_t)) / (0.5 * t), at_t
    return 0.0, formula_at(objective, f, 1.0, q, p)


@part
def refresh_line(objective, j):
    """Bring the line of label j up to date with its totals."""
    totals = objective.totals
    t, q, p = totals[j, T], totals[j, Q], totals[j, P]
    # What the linear part gains is its two factors, whatever t and q.
    slope, offset = objective.linear[j, 0], objective.linear[j, 1]
    for f in range(objective.formulas.size):
        formula_slope, formula_offset = bound_formula(objective, f, t, q + 1.0, p)
        slope += objective.factors[f, COEFFICIENT] * formula_slope
        offset += objective.factors[f, COEFFICIENT] * formula_offset
    offset = np.inf if has_law(objective, j) else offset - totals[j, PSI]
    slope += objective.coverage * totals[j, FAILURE]
    if objective.quadrature.largest.size > 0:
        exact_slope, exact_offset = exact_line(objective.quadrature, np.int64(j), totals[j, T])
        slope += exact_slope
        offset += exact_offset
    # Where single precision cannot hold the line, an offset of infinity lets every candidate pass.
    if not (abs(slope) < STEEPEST and abs(offset) < STEEPEST):
        slope, offset = 0.0, np.inf
    objective.slopes[j] = slope
    objective.offsets[j] = offset + SLACK * (abs(slope) + abs(offset)) + ROUNDING * abs(totals[j, PSI])


# The same as calls, for kernels in which they stand in many places but not in the innermost loop: these compile faster.
call_gain_of = step(gain_of.py_func)
call_own_gain_of = step(own_gain_of.py_func)
call_add_instance = step(add_instance.py_func)
call_refresh_line = step(refresh_line.py_func)


@step
def refresh_labels(objective):
    totals = objective.totals
    for j in range(totals.shape[0]):
        totals[j, PSI] = psi_with(objective, j, 0.0, 0.0)
        refresh_line(objective, j)


@step
def count_rows(rows, chosen, totals, uses_failure):
    labels, values = rows.labels, rows.values
    for i in range(chosen.shape[0]):
        for c in range(chosen.shape[1]):
            if chosen[i, c] >= 0:
                x = rows.indptr[i] + chosen[i, c]
                j = labels[x]
                totals[j, T] += values[x]
                totals[j, Q] += 1.0
                if uses_failure:
                    count_failure(totals, j, np.float64(values[x]), 1.0)


@kernel
def refresh(objective):
    """Bring psi and line of all labels up to date with t, q, p and the failure probability."""
    refresh_labels(objective)


@kernel
def count_selected(rows, chosen, objective):
    """Set t, q and the failure probability from scratch; the rest is left to refresh.

    Shapes: chosen (n, k), positions within the row, -1 for none. Writes: objective.totals.
    """
    objective.totals[:, : SCALE + 1] = 0.0
    objective.totals[:, MANTISSA : FAILURE + 1] = 1.0
    count_rows(rows, chosen, objective.totals, objective.coverage > 0.0)


@kernel
def add_impossible(objective, labels):
    """Add instances of probability 0, one to each label listed.

    Shapes: labels (any,), a label may be listed several times. Writes: objective, lines included.
    """
    for x in range(labels.size):
        add_instance(objective, labels[x], 0.0, 1.0)
        refresh_line(objective, labels[x])
