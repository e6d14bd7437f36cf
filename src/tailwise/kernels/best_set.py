"""The inner maximum: the best set of instances of one label, when every instance has its price.

    max over S of  worth(S) - sum over i in S of price_i

At fixed q a set is worth the sum of its h_q(e), so its best value is that of the q largest h_q(e) - price.
With any fee mu >= 0 for a place in the set,

    best value at size q  <=  mu q + sum over i of max(0, h_q(e_i) - price_i - mu),

and this is convex in q, because h_q falls and bends upwards: over a range of sizes it is largest at one of the two
ends. Ranges whose bound exceeds the best value found are split (branch and bound), with the fee that is exact in the
middle; a label with thousands of candidates is looked at some ten times.
"""

from typing import NamedTuple

import numpy as np

from tailwise.kernels.compiling import part, reordering_step, step
from tailwise.kernels.objective import LARGEST_BELOW_ONE
from tailwise.kernels.quadrature import BASE, DECAY, WEIGHT, phi
from tailwise.kernels.ranking import kth_largest
from tailwise.kernels.worth import (
    BLOCK_RATIO,
    add_nodes,
    block_of,
    formula_at,
    line_of,
    node_line,
    products_at,
    row_of,
)

# A range is done when its bound is within this share of the best value; more where curves make it costly.
ENOUGH, ENOUGH_CURVED = 2e-4, 5e-4
# Steps to the best tangent, of which any is a valid one.
TANGENT_STEPS = 20
# Room for ranges that wait: each halving leaves one.
STACK = 256
# Chords over less of t than this share of q + p are taken for the curve itself.
FINE = 1e-3


class Workbench(NamedTuple):
    """Room for the candidates of one label; each thread has its own."""

    instances: np.ndarray  # int32 (largest column,)
    places: np.ndarray  # int64: where they stand in the columns
    values: np.ndarray  # float64: probabilities
    logs: np.ndarray  # float64: log 1/(1-e), for coverage
    prices: np.ndarray  # float64
    plain: np.ndarray  # float64: h(e) - price without the tangent
    net: np.ndarray  # float64: h(e) - price
    spare: np.ndarray  # float64
    is_member: np.ndarray  # bool: of the set that is looked at
    is_best: np.ndarray  # bool: of the best set so far
    ranges: np.ndarray  # float64 (STACK, 4): first and last size, least and largest t
    found: np.ndarray  # float64 (6,): see below


# Entries of Workbench.found: the upper bound; value, size, sum of probabilities and of logarithms of the best set;
# sum of probabilities of the set that was looked at last.
BOUND, VALUE, SIZE, SUM, LOGS, TOUCHED = range(6)
# Columns of Workbench.ranges.
FIRST, LAST, LOW, HIGH = range(4)


def make_workbench(largest_column):
    """Room for columns of so many candidates."""
    c = max(1, largest_column)
    return Workbench(
        np.empty(c, np.int32),
        np.empty(c, np.int64),
        np.empty(c),
        np.empty(c),
        np.empty(c),
        np.empty(c),
        np.empty(c),
        np.empty(c),
        np.empty(c, np.bool_),
        np.empty(c, np.bool_),
        np.empty((STACK, 4)),
        np.empty(6),
    )


@step
def load_candidates(worth, columns, j, bench):
    """Put the candidates of label j on the workbench, without their prices; returns how many there are."""
    start = columns.indptr[j]
    size = columns.indptr[j + 1] - start
    for x in range(size):
        bench.places[x], bench.instances[x] = start + x, columns.instances[start + x]
        bench.values[x] = columns.values[start + x]
    if worth.coverage > 0.0:
        for x in range(size):
            bench.logs[x] = -np.log1p(-min(bench.values[x], LARGEST_BELOW_ONE))
    return size


class Top(NamedTuple):
    """The largest positive numbers of an array: how many, their sum, the least of them."""

    size: int
    total: float
    least: float


@reordering_step
def sum_above(net, size, fee):
    """Sum of what the first `size` numbers exceed the fee by."""
    total = 0.0
    for x in range(size):
        total += max(0.0, net[x] - fee)
    return total


@reordering_step
def sum_line_above(values, prices, size, slope, offset):
    """The same for slope * value + offset - price."""
    total = 0.0
    for x in range(size):
        total += max(0.0, slope * values[x] + offset - prices[x])
    return total


@step
def find_top(net, size, most, spare):
    """At most `most` of the positive ones among the first `size` numbers."""
    count = 0
    for x in range(size):  # no branch: which are positive is hard to foresee
        spare[count] = net[x]
        count += net[x] > 0.0
    if count <= most:
        return Top(count, sum_above(net, size, 0.0), 0.0)
    least = kth_largest(spare, count, most)
    return Top(most, sum_above(net, size, least) + most * least, least)


@step
def mark_top(net, size, top, is_member):
    """Mark the numbers of the top; ties at its end: the first ones."""
    n_above = 0
    for x in range(size):
        is_member[x] = net[x] > top.least
        n_above += is_member[x]
    x = 0
    while n_above < top.size:
        if net[x] == top.least:
            is_member[x] = True
            n_above += 1
        x += 1


@reordering_step
def sum_members(is_member, numbers, size):
    total = 0.0
    for x in range(size):
        total += numbers[x] if is_member[x] else 0.0
    return total


@step
def count_members(is_member, size):
    count = 0
    for x in range(size):
        count += is_member[x]
    return count


@step
def node_value(worth, j, bench, size, q):
    """What the linear nodes give the marked set of q instances."""
    nodes, row, n_plain = worth.quadrature.linear, row_of(worth, j, block_of(q)), worth.quadrature.n_plain
    value = 0.0
    for r in range(nodes.shape[2]):
        total = 0.0
        for x in range(size):
            if bench.is_member[x]:
                total += phi(bench.values[x] if r < n_plain else 1.0 - bench.values[x], nodes[row, BASE, r])
        value += nodes[row, WEIGHT, r] * np.exp(q * np.log(nodes[row, DECAY, r])) * total
    return value


@step
def value_of_members(worth, j, bench, size):
    """Worth of the marked set less its prices, of product nodes at most; an empty set is worth nothing."""
    q = np.float64(count_members(bench.is_member, size))
    if q == 0.0:
        return 0.0
    t = sum_members(bench.is_member, bench.values, size)
    value = -sum_members(bench.is_member, bench.prices, size)
    value += worth.linear[j, 0] * t + worth.linear[j, 1] * q
    for f in range(worth.formulas.size):
        value += formula_at(worth, f, j, t, q) - formula_at(worth, f, j, 0.0, 0.0)
    if worth.coverage > 0.0:
        value += worth.coverage * (1.0 - np.exp(-sum_members(bench.is_member, bench.logs, size)))
    if worth.has_nodes:
        value += node_value(worth, j, bench, size, q) + products_at(worth, j, block_of(q), q, t)
    return value


@step
def start_from_members(worth, j, bench, size):
    """Take the marked set for the best so far."""
    bench.found[VALUE] = value_of_members(worth, j, bench, size)
    for x in range(size):
        bench.is_best[x] = bench.is_member[x]
    bench.found[SIZE] = count_members(bench.is_member, size)
    bench.found[SUM] = sum_members(bench.is_member, bench.values, size)
    bench.found[LOGS] = sum_members(bench.is_member, bench.logs, size) if worth.coverage > 0.0 else 0.0


@step
def keep_if_better(worth, j, bench, size, top):
    """Note the set of a bound, if its true value is the best so far."""
    mark_top(bench.net, size, top, bench.is_member)
    if value_of_members(worth, j, bench, size) > bench.found[VALUE]:
        start_from_members(worth, j, bench, size)


@part
def exceeds(worth, bench, bound):
    """Whether a range with this bound may hold a set that is better by more than enough."""
    enough = ENOUGH_CURVED if worth.is_curved else ENOUGH
    return bound > bench.found[VALUE] + enough * abs(bench.found[VALUE])


@step
def fill_net(worth, j, bench, size, r, q, tangent):
    """Write h_q(e) - price of every candidate into bench.net; returns the constant."""
    first, last, low, high = bench.ranges[r]
    constant, slope, offset = line_of(worth, j, q, int(first), int(last), low, high)
    values, prices, net = bench.values, bench.prices, bench.net
    for x in range(size):
        net[x] = slope * values[x] + offset - prices[x]
    if tangent > 0.0:
        for x in range(size):
            net[x] += tangent * bench.logs[x]
    if worth.has_nodes:
        add_nodes(worth, j, block_of(first), np.float64(q), values, size, net)
    return constant


@part
def bound_at(worth, j, bench, size, r, q, fee, tangent):
    """The bound for size q that a fee gives. Where it is enough, by a line above the nodes, which costs less."""
    bound = np.inf
    if tangent == 0.0:
        constant, slope, offset = line_of(
            worth,
            j,
            q,
            int(bench.ranges[r, FIRST]),
            int(bench.ranges[r, LAST]),
            bench.ranges[r, LOW],
            bench.ranges[r, HIGH],
        )
        if worth.has_nodes:
            node_slope, node_offset = node_line(worth, j, block_of(bench.ranges[r, FIRST]), np.float64(q))
            slope += node_slope
            offset += node_offset
        bound = constant + fee * q + sum_line_above(bench.values, bench.prices, size, slope, offset - fee)
    if tangent > 0.0 or (worth.has_nodes and exceeds(worth, bench, bound)):
        constant = fill_net(worth, j, bench, size, r, q, tangent)
        bound = constant + fee * q + sum_above(bench.net, size, fee)
    return bound


@step
def bound_range(worth, j, bench, size, r, middle, tangent, at_zero):
    """An upper bound for the sets in range r; the best set of the middle size is noted on the way.

    Coverage is bounded by a tangent, with this slope and this value where it begins.
    """
    constant = fill_net(worth, j, bench, size, r, middle, tangent)
    top = find_top(bench.net, size, middle, bench.spare)
    bound = at_zero + constant + top.total
    if exceeds(worth, bench, bound):
        keep_if_better(worth, j, bench, size, top)
        bench.found[TOUCHED] = sum_members(bench.is_member, bench.values, size)
    first, last = int(bench.ranges[r, FIRST]), int(bench.ranges[r, LAST])
    if first < last and worth.depends_on_size:
        bound = at_zero + bound_at(worth, j, bench, size, r, first, top.least, tangent)
        if exceeds(worth, bench, bound):  # then the range is split anyway, and the other end does not matter
            return np.inf
        bound = max(bound, at_zero + bound_at(worth, j, bench, size, r, last, top.least, tangent))
    return bound


@step
def bound_by_tangents(worth, j, bench, size, r, middle):
    """The least bound that a tangent to coverage gives: where it touches at the sum of logarithms of its own set.

    1 - exp(-x) <= 1 - y + y log y + y x for every y in (0, 1], with equality at y = exp(-x).
    """
    low, high, y, least = 0.0, 1.0, np.exp(-bench.found[LOGS]), np.inf
    for _ in range(TANGENT_STEPS):
        at_zero = 1.0 - y + y * np.log(y) if y > 0.0 else 1.0
        bound = bound_range(worth, j, bench, size, r, middle, worth.coverage * y, worth.coverage * at_zero)
        least = min(least, bound)
        if not exceeds(worth, bench, least):
            break
        fill_net(worth, j, bench, size, r, middle, worth.coverage * y)
        mark_top(bench.net, size, find_top(bench.net, size, middle, bench.spare), bench.is_member)
        reached = np.exp(-sum_members(bench.is_member, bench.logs, size))
        if reached == y:
            break
        # A set that goes beyond the point where the tangent touches wants a flatter one.
        if reached < y:
            high = y
        else:
            low = y
        is_between = 0.9 * low + 0.1 * high < reached < 0.1 * low + 0.9 * high
        y = reached if is_between else 0.5 * (low + high)
    return least


@part
def push_range(bench, n_ranges, first, last, low, high):
    bench.ranges[n_ranges, FIRST], bench.ranges[n_ranges, LAST] = first, last
    bench.ranges[n_ranges, LOW], bench.ranges[n_ranges, HIGH] = low, high
    return n_ranges + 1


@step
def split_range(worth, j, bench, r, middle):
    """Halve range r, by size or by t, and put the halves in its place; returns the number of ranges."""
    first, last, low, high = bench.ranges[r]
    if last > first and (last - first >= high - low or not worth.is_curved):
        r = push_range(bench, r, middle + 1.0, last, low, high)
        return push_range(bench, r, first, middle, low, high)
    if worth.is_curved and high - low > FINE * (first + worth.p[j]):
        # At the t of the set that was found the next chords touch the curve, so that they tell its true value.
        t = bench.found[TOUCHED]
        cut = t if 0.95 * low + 0.05 * high < t < 0.05 * low + 0.95 * high else 0.5 * (low + high)
        r = push_range(bench, r, first, last, cut, high)
        return push_range(bench, r, first, last, low, cut)
    return r


@part
def push_ranges(worth, j, bench, n_ranges, first, last):
    """All sizes from first to last, block by block where nodes are used."""
    while first <= last:
        end = min(last, BLOCK_RATIO ** (block_of(first) + 1) - 1) if worth.has_nodes else last
        n_ranges = push_range(bench, n_ranges, first, end, 0.0, min(worth.reach[j], np.float64(end)))
        first = end + 1
    return n_ranges


@step
def search_ranges(worth, j, bench, size, n_ranges):
    """Branch and bound over the ranges that wait."""
    while n_ranges > 0:
        r = n_ranges - 1
        middle = np.floor(np.sqrt(bench.ranges[r, FIRST] * bench.ranges[r, LAST]))
        if worth.coverage > 0.0:
            bound = bound_by_tangents(worth, j, bench, size, r, int(middle))
        else:
            bound = bound_range(worth, j, bench, size, r, int(middle), 0.0, 0.0)
        n_ranges = split_range(worth, j, bench, r, middle) if exceeds(worth, bench, bound) else r
        if n_ranges == r:
            bench.found[BOUND] = max(bench.found[BOUND], bound)


@step
def move_to_front(bench, size):
    """Put the candidates with a positive net value first; returns how many they are."""
    n_positive = 0
    for x in range(size):
        if bench.net[x] > 0.0:
            y = n_positive
            n_positive += 1
            bench.instances[x], bench.instances[y] = bench.instances[y], bench.instances[x]
            bench.places[x], bench.places[y] = bench.places[y], bench.places[x]
            bench.values[x], bench.values[y] = bench.values[y], bench.values[x]
            bench.logs[x], bench.logs[y] = bench.logs[y], bench.logs[x]
            bench.prices[x], bench.prices[y] = bench.prices[y], bench.prices[x]
            bench.net[x], bench.net[y] = bench.net[y], bench.net[x]
            bench.is_best[x], bench.is_best[y] = bench.is_best[y], bench.is_best[x]
    return n_positive


@step
def search_from_best(worth, j, bench, size, guess):
    """Look for a better set than the best so far."""
    if not worth.depends_on_size:
        search_ranges(worth, j, bench, size, push_range(bench, 0, size, size, 0.0, 0.0))
    elif worth.falls:
        guess = min(max(guess, 1), size)
        search_ranges(worth, j, bench, size, push_ranges(worth, j, bench, 0, guess, guess))
        # A set with more instances than are worth their price is worse than without the others. So beyond the guess
        # only those that are worth it there matter.
        bench.ranges[0, FIRST], bench.ranges[0, LAST] = guess, guess
        fill_net(worth, j, bench, size, 0, guess, worth.coverage)
        n_positive = move_to_front(bench, size)
        search_ranges(worth, j, bench, n_positive, push_ranges(worth, j, bench, 0, guess + 1, n_positive))
        search_ranges(worth, j, bench, size, push_ranges(worth, j, bench, 0, 1, guess - 1))
    else:
        search_ranges(worth, j, bench, size, push_ranges(worth, j, bench, 0, 1, size))


@step
def keep_promising(worth, j, bench, size):
    """Put those first that are in the best sets of the least and of about the largest size to be expected.

    Members stay. Returns how many are left: a few times the size of the present set.
    """
    most = 2 * int(bench.found[SIZE]) + 8
    if size <= 2 * most:
        return size
    bench.ranges[0, LOW], bench.ranges[0, HIGH] = 0.0, 0.0
    for x in range(size):
        bench.is_member[x] = bench.is_best[x]
    for q in (1, most):
        bench.ranges[0, FIRST], bench.ranges[0, LAST] = q, q
        fill_net(worth, j, bench, size, 0, q, worth.coverage)
        top = find_top(bench.net, size, most, bench.spare)
        for x in range(size):
            bench.is_member[x] |= bench.net[x] > top.least
    for x in range(size):
        bench.net[x] = 1.0 if bench.is_member[x] else 0.0
    return move_to_front(bench, size)


@step
def look_near(worth, j, bench, size, q):
    """Look at the best sets of q instances that a line close to the best set so far gives; returns if one is better."""
    best, t, logs = bench.found[VALUE], bench.found[SUM], bench.found[LOGS]
    bench.ranges[0, FIRST], bench.ranges[0, LAST] = q, q
    bench.ranges[0, LOW], bench.ranges[0, HIGH] = 0.8 * t, 1.2 * t + 0.1
    fill_net(worth, j, bench, size, 0, q, worth.coverage * np.exp(-logs))
    keep_if_better(worth, j, bench, size, find_top(bench.net, size, q, bench.spare))
    return bench.found[VALUE] > best + ENOUGH * abs(best)


@step
def search_near_members(worth, j, bench, n_candidates):
    """Look for a better set than the marked one, of about its size; a search for moves, that proves nothing.

    Writes: as search_best_set, but for the bound; without a better set, bench.found[VALUE] is that of the members.
    """
    start_from_members(worth, j, bench, n_candidates)
    size = keep_promising(worth, j, bench, n_candidates)
    if worth.falls:
        search_from_best(worth, j, bench, size, int(bench.found[SIZE]))
        return
    guess = min(max(1, int(bench.found[SIZE])), size)
    if not worth.depends_on_size:
        for _ in range(TANGENT_STEPS):
            if not look_near(worth, j, bench, size, size):
                break
        return
    look_near(worth, j, bench, size, guess)
    for direction in (-1, 1):
        n_worse, distance = 0, 1
        while n_worse < 2 and 1 <= guess + direction * distance <= size:
            n_worse = 0 if look_near(worth, j, bench, size, guess + direction * distance) else n_worse + 1
            distance *= 2
    # And the empty set, which is worth nothing.
    if bench.found[VALUE] < 0.0:
        bench.found[VALUE] = 0.0
        bench.is_best[:size] = False


@step
def search_best_set(worth, j, bench, size, guess):
    """Find the best set among the first `size` candidates of the workbench; `guess` is a likely size.

    Writes: bench.found and bench.is_best; the candidates may be put in another order.
    """
    bench.found[:] = 0.0
    bench.is_best[:size] = False
    if size > 0:
        search_from_best(worth, j, bench, size, guess)
    bench.found[BOUND] = max(bench.found[BOUND], bench.found[VALUE])
