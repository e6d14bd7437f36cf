"""What a set of instances is worth to one label, for sets of any size: linear in the set once its size is fixed.

A set S of q instances with probabilities e is worth at most

    constant + sum over S of h(e),
    h(e) = slope * e + offset + sum over nodes r of w_r phi_r(e) + tangent * log(1/(1-e)),

and exactly that for what is linear at fixed q (precision, F-beta, recall, balanced accuracy, accuracy, all
instance-wise utilities; semi-empirical, or exact by quadrature). Jaccard bends upwards in t = sum e, so a chord between
two values of t lies above it; for formulas that bend otherwise it is a guess, good enough to look for better sets.
Coverage bends downwards in sum log(1/(1-e)), so a tangent lies above it.

The worth is what the set adds to what was decided elsewhere (`base`), which counts in t and q and in the nodes.
All slopes fall as q grows (a user's formula is looked at for every q), so at the least size of a range they hold for
the whole range. Nodes hold for a range of sizes, over which their integrands' decay grows fourfold: a *block*.
"""

from typing import NamedTuple

import numpy as np

from tailwise.kernels.compiling import bundle, kernel, part, step
from tailwise.kernels.curvature import AFFINE, PROPORTIONAL
from tailwise.kernels.label_state import CURVATURE, ROUNDING, Terms, coefficient_of
from tailwise.kernels.label_state import formula_at as bare_formula_at
from tailwise.kernels.nodes import DECAY, SUM, WEIGHT, Nodes, multiply_instance, phi

# Columns of Worth.base.
T0, Q0, P0 = range(3)

# A size that no set has.
MANY = 1 << 62

# Sizes at which a user's formula is checked: all up to here, then with growing steps; what rounding may do to a line.
ALL_SIZES, GROWTH = 64, 1.1
OFF_LINE = 1e-11

# What nodes of different blocks may differ by, as a share.
CARE = 1e-4

# Entries of Workbench.found: the block, and the number of candidates, whose phi are on the workbench.
KEPT_BLOCK, KEPT_SIZE = 6, 7


# Rows of Worth.curves: t * sum of weight * exp(q * log decay + t * rate) lies above the product nodes, since
# log 1/(1 - e + e s) <= e times that of the label's largest e, over the largest e.
CURVE_WEIGHT, LOG_DECAY, RATE = range(3)


@bundle
class Worth(NamedTuple):
    terms: Terms  # where a user's formula was found to be a line, its curvature says so
    base: np.ndarray  # float64 (m, 3): t and q of what was decided elsewhere, p
    reach: np.ndarray  # float64 (m,): the largest t that a set can have
    coverage: (
        np.ndarray
    )  # float64 (m,): the factor of each label, less what is covered elsewhere; (0,) without coverage
    blocks: np.ndarray  # int64 (m + 1,): where the blocks of a label start in nodes; (0,) without nodes
    ends: np.ndarray  # int64 (blocks,): the largest size in each block; ascending for each label
    nodes: Nodes  # a row for each block, nothing selected; a SUM only where something was decided elsewhere
    known: np.ndarray  # int64 (m,): how many blocks of a label hold its candidates so far; see hold_candidates
    curves: np.ndarray  # float64 (blocks, 3, R'): of the product nodes; see above
    has_nodes: bool
    is_complete: bool  # whether nodes hold for all sizes; else a label has one row, for sizes like its present one
    has_base: bool
    is_curved: bool  # whether some part is no line in t
    depends_on_size: bool  # whether h depends on the size of the set at all
    falls: bool  # whether h falls and bends upwards as the set grows, in all its parts


@part
def formula_at(worth, f, j, t, q):
    t, q = t + worth.base[j, T0], q + worth.base[j, Q0]
    return coefficient_of(worth.terms, f, j) * bare_formula_at(worth.terms, f, j, t, q, worth.base[j, P0])


@part
def coverage_of(worth, j):
    return worth.coverage[j] if worth.coverage.size > 0 else 0.0


@part
def row_of(worth, j, b):
    """Row of block b of label j in the nodes."""
    return worth.blocks[j] + b


@part
def block_of(worth, j, q):
    """Number of the block of label j that holds size q."""
    b = 0
    if worth.has_nodes:
        while q > worth.ends[row_of(worth, j, b)]:
            b += 1
    return b


@part
def end_of_block(worth, j, q):
    """The largest size in the block of label j that holds size q."""
    return worth.ends[row_of(worth, j, block_of(worth, j, q))] if worth.has_nodes else MANY


@step
def affine_formula(worth, f, j, first, last):
    """Largest slope in t and largest value at t = 0, over sizes first to last; above that of an empty set."""
    slope, constant = -np.inf, -np.inf
    for q in range(first, last + 1):
        t = min(np.float64(q), worth.reach[j])
        at_0 = formula_at(worth, f, j, 0.0, np.float64(q))
        constant = max(constant, at_0)
        slope = max(slope, (formula_at(worth, f, j, t, np.float64(q)) - at_0) / t if t > 0.0 else 0.0)
    return slope, constant - formula_at(worth, f, j, 0.0, 0.0)


@part
def product_at(worth, j, b, r, q, t):
    """At most what product node r gives a set of q instances that sum to t. Each of its factors is at most 1."""
    row = row_of(worth, j, b)
    power = q * worth.curves[row, LOG_DECAY, r] + t * worth.curves[row, RATE, r]
    return (t + worth.base[j, T0]) * worth.curves[row, CURVE_WEIGHT, r] * np.exp(min(0.0, power))


@step
def products_at(worth, j, b, q, t):
    """At most what the product nodes give a set of q instances that sum to t."""
    value = 0.0
    for r in range(worth.curves.shape[2]):
        value += product_at(worth, j, b, r, q, t)
    return value


@step
def curve_at(worth, j, b, q, t):
    """At most what is no line in t gives a set of q instances that sum to t."""
    value = products_at(worth, j, b, q, t) if worth.has_nodes else 0.0
    for f in range(worth.terms.formulas.shape[0]):
        if worth.terms.factors[f, CURVATURE] > AFFINE:
            value += formula_at(worth, f, j, t, q)
    return value


@part
def convex_slope(worth, j, b, r, q, low, end):
    """Slope of the chord of product node r from t = low to t = end, where it is convex; rounding does not lower it."""
    at_end, at_low = product_at(worth, j, b, r, q, end), product_at(worth, j, b, r, q, low)
    # A chord is no steeper than the curve at its end, which is what counts where the two ends nearly meet.
    steepest = at_end * (1.0 / (end + worth.base[j, T0]) + worth.curves[row_of(worth, j, b), RATE, r])
    return min(steepest, (at_end - at_low + ROUNDING * at_end) / (end - low))


@step
def product_slope(worth, j, b, q, low, high):
    """Slope of lines that meet the product nodes at t = low and lie above them up to t = high.

    A node is convex in t until its factor is 1, and a line from there on, less steep than the chord to that point.
    """
    slope, row = 0.0, row_of(worth, j, b)
    for r in range(worth.curves.shape[2]):
        rate, end = worth.curves[row, RATE, r], high
        if rate > 0.0:
            end = min(high, -q * worth.curves[row, LOG_DECAY, r] / rate)
        beyond = worth.curves[row, CURVE_WEIGHT, r] if end < high else 0.0
        slope += max(beyond, convex_slope(worth, j, b, r, q, low, end)) if end > low else beyond
    return slope


@step
def curve_slope(worth, j, b, q, low, high):
    """Slope of a line that meets what is no line in t at t = low, and lies above it up to t = high."""
    slope = product_slope(worth, j, b, q, low, high) if worth.has_nodes else 0.0
    for f in range(worth.terms.formulas.shape[0]):
        if worth.terms.factors[f, CURVATURE] > AFFINE:
            slope += (formula_at(worth, f, j, high, q) - formula_at(worth, f, j, low, q)) / (high - low)
    return slope


@step
def base_at_nodes(worth, j, b, q):
    """What a set of q instances, whatever they are, changes in the worth of what was decided elsewhere."""
    linear, row, value = worth.nodes.linear, row_of(worth, j, b), 0.0
    for r in range(linear.shape[2]):
        value += linear[row, WEIGHT, r] * linear[row, SUM, r] * np.expm1(q * np.log(linear[row, DECAY, r]))
    return value


@step
def line_of(worth, j, q, first, last, low, high):
    """Constant, slope and offset of h for sets of q instances, out of a range of sizes with low <= t <= high.

    What falls and bends upwards as q grows is taken at q itself, the rest at its largest over the range: so a sum of
    positive parts of h is convex in q, and largest at an end of the range.
    """
    constant, slope, offset = 0.0, worth.terms.linear[j, 0], worth.terms.linear[j, 1]
    for f in range(worth.terms.formulas.shape[0]):
        if worth.terms.factors[f, CURVATURE] == PROPORTIONAL:
            at_0 = formula_at(worth, f, j, 0.0, np.float64(q))
            slope += formula_at(worth, f, j, 1.0, np.float64(q)) - at_0
            constant += at_0 - formula_at(worth, f, j, 0.0, 0.0) if worth.has_base else 0.0
        elif worth.terms.factors[f, CURVATURE] == AFFINE:
            formula_slope, formula_constant = affine_formula(worth, f, j, first, last)
            slope += formula_slope
            constant += formula_constant
    if worth.is_curved and high > low:
        b, size = block_of(worth, j, first), np.float64(first)
        chord = curve_slope(worth, j, b, size, low, high)
        slope += chord
        constant += curve_at(worth, j, b, size, low) - chord * low
        constant -= curve_at(worth, j, b, 0.0, 0.0) if worth.has_base else 0.0
    if worth.has_nodes and worth.has_base:
        constant += base_at_nodes(worth, j, block_of(worth, j, first), np.float64(q))
    return constant, slope, offset


@step
def take_weights(worth, j, b, q, bench):
    """Write the weights of the nodes for sets of q instances to the workbench: powers of the decays, by squaring."""
    linear, row, weights, powers = worth.nodes.linear, row_of(worth, j, b), bench.weights, bench.powers
    for r in range(weights.size):
        weights[r], powers[r] = linear[row, WEIGHT, r], linear[row, DECAY, r]
    left = np.int64(q)
    while left > 0:
        if left & 1:
            for r in range(weights.size):
                weights[r] *= powers[r]
        left >>= 1
        if left > 0:
            for r in range(weights.size):
                powers[r] *= powers[r]


@step
def keep_phis(worth, j, b, bench, size):
    """Write phi of `size` instances at the nodes of a block to the workbench, unless they are there."""
    if bench.found[KEPT_BLOCK] == b and bench.found[KEPT_SIZE] >= size:
        return
    bench.found[KEPT_BLOCK], bench.found[KEPT_SIZE] = b, size
    linear, row, values, phis = worth.nodes.linear, row_of(worth, j, b), bench.values, bench.phis
    for r in range(worth.nodes.n_plain):
        base = linear[row, worth.nodes.base, r]
        for x in range(size):
            phis[r, x] = phi(values[x], base)
    for r in range(worth.nodes.n_plain, linear.shape[2]):
        base = linear[row, worth.nodes.base, r]
        for x in range(size):
            phis[r, x] = phi(1.0 - values[x], base)


@step
def add_nodes(worth, j, b, q, bench, size):
    """Add to bench.net what the nodes give to each of `size` instances, in a set of q."""
    linear, row, n_plain = worth.nodes.linear, row_of(worth, j, b), worth.nodes.n_plain
    values, net, phis = bench.values, bench.net, bench.phis
    take_weights(worth, j, b, q, bench)
    if size <= phis.shape[1]:
        keep_phis(worth, j, b, bench, size)
        for r in range(linear.shape[2]):
            weight = bench.weights[r]
            for x in range(size):
                net[x] += weight * phis[r, x]
        return
    for r in range(linear.shape[2]):
        weight, base = bench.weights[r], linear[row, worth.nodes.base, r]
        if r < n_plain:
            for x in range(size):
                net[x] += weight * phi(values[x], base)
        else:
            for x in range(size):
                net[x] += weight * phi(1.0 - values[x], base)


@step
def node_line(worth, j, b, q, bench):
    """Slope and offset of a line above what the nodes give."""
    linear, row, n_plain = worth.nodes.linear, row_of(worth, j, b), worth.nodes.n_plain
    largest = worth.nodes.largest[j]
    slope, offset = 0.0, 0.0
    take_weights(worth, j, b, q, bench)
    for r in range(n_plain):
        slope += bench.weights[r] * phi(largest, linear[row, worth.nodes.base, r])
    for r in range(n_plain, linear.shape[2]):
        offset += bench.weights[r] * phi(1.0 - largest, linear[row, worth.nodes.base, r])
    return slope / max(largest, 1e-300), offset


@part
def forget_phis(bench):
    """Say that the candidates on the workbench are others than before, or in another order."""
    bench.found[KEPT_BLOCK] = -1.0


@step
def hold_candidates(worth, columns, j, size):
    """Multiply the candidates of label j into the nodes of the blocks of all sets up to this size, once.

    The nodes of large sets are rarely looked at. Writes: worth.nodes and worth.known, of label j only.
    """
    if worth.has_nodes and size > 0:
        n_blocks = block_of(worth, j, size) + 1
        for b in range(worth.known[j], n_blocks):
            for x in range(columns.indptr[j], columns.indptr[j + 1]):
                multiply_instance(worth.nodes, row_of(worth, j, b), np.float64(columns.values[x]))
        worth.known[j] = max(worth.known[j], n_blocks)


@step
def line_of_one(worth, j, bench):
    """Slope and offset of a line above what one more instance adds to any set; an infinite one if there is none.

    What falls as sets grow adds most to the empty set.
    """
    if not worth.falls:
        return 0.0, np.inf
    _, slope, offset = line_of(worth, j, 1, 1, 1, 0.0, 0.0)
    if worth.has_nodes:
        node_slope, node_offset = node_line(worth, j, 0, 1.0, bench)
        slope += node_slope
        offset += node_offset
    return slope + coverage_of(worth, j), offset


@part
def is_affordable(slope, offset, e, price):
    """Whether an instance may be worth its price, by a line above what it can add; rounding aside."""
    return slope * e + offset + CARE * (abs(slope) * e + abs(offset)) > price


@step
def next_size(q):
    return q + 1 if q < ALL_SIZES else np.int64(q * GROWTH)


@kernel
def find_bend(worth, indptr, f):
    """A label, size and t where formula f is not on the line between its ends in t; label -1 where there is none."""
    for j in range(indptr.size - 1):
        q = 1
        while q <= indptr[j + 1] - indptr[j]:
            size, reach = np.float64(q), min(np.float64(q), worth.reach[j])
            low, high = formula_at(worth, f, j, 0.0, size), formula_at(worth, f, j, reach, size)
            for share in (0.11, 0.37, 0.5, 0.83):
                off = formula_at(worth, f, j, share * reach, size) - ((1.0 - share) * low + share * high)
                if not abs(off) <= OFF_LINE * (abs(low) + abs(high)):
                    return j, size, share * reach
            q = next_size(q)
    return -1, 0.0, 0.0


@kernel
def find_rise(worth, indptr, f):
    """A label, size and t where formula f rises with the size at fixed t; label -1 where there is none."""
    for j in range(indptr.size - 1):
        q = 0
        while q <= indptr[j + 1] - indptr[j]:
            for share in (0.0, 0.5, 1.0):
                t, size = share * min(np.float64(q), worth.reach[j]), np.float64(q)
                now = formula_at(worth, f, j, t, size)
                if formula_at(worth, f, j, t, size + 1.0) > now + OFF_LINE * abs(now):
                    return j, size, t
            q = next_size(q)
    return -1, 0.0, 0.0
