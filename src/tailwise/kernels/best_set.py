"""The inner maximum: the best set of instances of one label, when every instance has its price.

    max over S of  worth(S) - sum over i in S of price_i

At fixed q a set is worth the sum of its h_q(e), so its best value is that of the q largest h_q(e) - price.
With any fee mu >= 0 for a place in the set,

    best value at size q  <=  mu q + sum over i of max(0, h_q(e_i) - price_i - mu),

and this is convex in q, because h_q falls and bends upwards: over a range of sizes it is largest at one of the two
ends. Ranges whose bound exceeds the best value found are split (branch and bound), with the fee that is exact in the
middle. Where the worth has no curves and no tangents, kernels/falling_worth.py needs fewer looks.
"""

import numpy as np

from tailwise.kernels.compiling import step
from tailwise.kernels.falling_worth import ENOUGH, exceeds, fill_net, search_falling
from tailwise.kernels.set_worth import (
    P0,
    block_of,
    coverage_of,
    curve_at,
    end_of_block,
    forget_phis,
    line_of,
    node_line,
)
from tailwise.kernels.workbench import (
    BOUND,
    FEE_FIRST,
    FIRST,
    HIGH,
    LAST,
    LOGS,
    LOW,
    SIZE,
    SUM,
    TOUCHED,
    VALUE,
    find_top,
    keep_if_better,
    keep_members,
    mark_top,
    move_to_front,
    sum_above,
    sum_line_above,
    sum_members,
    value_of_members,
)

# Moves look at all sizes up to this, and stop where this many sizes in turn are no better.
FEW, PATIENCE = 3, 4
# Steps to the best tangent, of which any is a valid one.
TANGENT_STEPS = 20
# Chords over less of t than this share of q + p are taken for the curve itself.
FINE = 1e-3
# And chords that are not above the curve by this share of what is left to prove: then it is tangents that are.
CHORD_SHARE = 0.1


@step
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
            b = block_of(worth, j, bench.ranges[r, FIRST])
            node_slope, node_offset = node_line(worth, j, b, np.float64(q), bench)
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
        keep_if_better(worth, j, bench, size, middle, top, bound)
        if worth.is_curved:
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
    factor, low, high, y, least = coverage_of(worth, j), 0.0, 1.0, np.exp(-bench.found[LOGS]), np.inf
    for _ in range(TANGENT_STEPS):
        at_zero = 1.0 - y + y * np.log(y) if y > 0.0 else 1.0
        bound = bound_range(worth, j, bench, size, r, middle, factor * y, factor * at_zero)
        least = min(least, bound)
        if not exceeds(worth, bench, least):
            break
        fill_net(worth, j, bench, size, r, middle, factor * y)
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


@step
def push_range(bench, n_ranges, first, last, low, high):
    bench.ranges[n_ranges, FIRST], bench.ranges[n_ranges, LAST] = first, last
    bench.ranges[n_ranges, LOW], bench.ranges[n_ranges, HIGH] = low, high
    return n_ranges + 1


@step
def is_worth_halving(worth, j, bench, r, bound):
    """Whether chords over half of the range in t would bring the bound down.

    Beside coverage they often would not: where tangents are what the bound is above the best set by.
    """
    first, _, low, high = bench.ranges[r, :FEE_FIRST]
    if not worth.is_curved or high - low <= FINE * (first + worth.base[j, P0]):
        return False
    if coverage_of(worth, j) == 0.0:
        return True
    b = block_of(worth, j, first)
    at_ends = curve_at(worth, j, b, first, low) + curve_at(worth, j, b, first, high)
    above = 0.5 * at_ends - curve_at(worth, j, b, first, 0.5 * (low + high))
    return above > CHORD_SHARE * (bound - bench.found[VALUE])


@step
def split_range(worth, j, bench, r, middle, bound):
    """Halve range r, by size or by t, and put the halves in its place; returns the number of ranges."""
    first, last, low, high = bench.ranges[r, :FEE_FIRST]
    halves_t = is_worth_halving(worth, j, bench, r, bound)
    if last > first and (last - first >= high - low or not halves_t):
        r = push_range(bench, r, middle + 1.0, last, low, high)
        return push_range(bench, r, first, middle, low, high)
    if halves_t:
        # At the t of the set that was found the next chords touch the curve, so that they tell its true value.
        t = bench.found[TOUCHED]
        cut = t if 0.95 * low + 0.05 * high < t < 0.05 * low + 0.95 * high else 0.5 * (low + high)
        r = push_range(bench, r, first, last, cut, high)
        return push_range(bench, r, first, last, low, cut)
    return r


@step
def push_ranges(worth, j, bench, n_ranges, first, last):
    """All sizes from first to last, block by block where nodes are used."""
    while first <= last:
        end = min(last, end_of_block(worth, j, first))
        n_ranges = push_range(bench, n_ranges, first, end, 0.0, min(worth.reach[j], np.float64(end)))
        first = end + 1
    return n_ranges


@step
def search_ranges(worth, j, bench, size, n_ranges):
    """Branch and bound over the ranges that wait."""
    while n_ranges > 0:
        r = n_ranges - 1
        middle = np.floor(np.sqrt(bench.ranges[r, FIRST] * bench.ranges[r, LAST]))
        if coverage_of(worth, j) > 0.0:
            bound = bound_by_tangents(worth, j, bench, size, r, int(middle))
        else:
            bound = bound_range(worth, j, bench, size, r, int(middle), 0.0, 0.0)
        n_ranges = split_range(worth, j, bench, r, middle, bound) if exceeds(worth, bench, bound) else r
        if n_ranges == r:
            bench.found[BOUND] = max(bench.found[BOUND], bound)


@step
def search_from_best(worth, j, bench, size, guess):
    """Look for a better set than the best so far."""
    if not worth.depends_on_size:
        search_ranges(worth, j, bench, size, push_range(bench, 0, size, size, 0.0, 0.0))
    elif worth.falls and coverage_of(worth, j) == 0.0:
        search_falling(worth, j, bench, size, guess)
    elif worth.falls:
        guess = min(max(guess, 1), size)
        search_ranges(worth, j, bench, size, push_ranges(worth, j, bench, 0, guess, guess))
        # A set with more instances than are worth their price is worse than without the others. So beyond the guess
        # only those that are worth it there matter.
        bench.ranges[0, FIRST], bench.ranges[0, LAST] = guess, guess
        fill_net(worth, j, bench, size, np.int64(0), guess, coverage_of(worth, j))
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
        fill_net(worth, j, bench, size, np.int64(0), q, coverage_of(worth, j))
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
    constant = fill_net(worth, j, bench, size, np.int64(0), q, coverage_of(worth, j) * np.exp(-logs))
    top = find_top(bench.net, size, q, bench.spare)
    # Without curves and tangents this is the value of the set.
    if worth.is_curved or coverage_of(worth, j) > 0.0 or constant + top.total > best:
        keep_if_better(worth, j, bench, size, q, top, constant + top.total)
    return bench.found[VALUE] > best + ENOUGH * abs(best)


@step
def look_at_smaller(worth, j, bench, size, guess):
    """Look at sets that are smaller than the guess by one, two, four ..., and at those of a few instances."""
    distance = 1
    while distance < guess - FEW:
        look_near(worth, j, bench, size, guess - distance)
        distance *= 2
    for q in range(min(FEW, guess - 1), 0, -1):
        look_near(worth, j, bench, size, q)


@step
def look_at_larger(worth, j, bench, size, guess):
    """Look at sets that are larger than the guess by one, two, four ..., until some in turn are no better."""
    n_worse, distance = 0, 1
    while n_worse < PATIENCE and guess + distance <= size:
        n_worse = 0 if look_near(worth, j, bench, size, guess + distance) else n_worse + 1
        distance *= 2


@step
def is_settled(bench, size, slope, offset):
    """Whether it is plain that no set is better than the best so far, of at most one instance.

    No set is worth more than the sum of what a line above single instances exceeds their prices by.
    """
    if bench.found[SIZE] > 1.0 or offset == np.inf:
        return False
    return sum_line_above(bench.values, bench.prices, size, slope, offset) <= max(0.0, bench.found[VALUE])


@step
def search_near_members(worth, j, bench, n_candidates, slope, offset):
    """Look for a better set than the marked one: for moves, it proves nothing; returns the value of the marked one.

    The line lies above what an instance can add. All sizes are searched if the worth holds for all. Writes: as
    search_best_set, except for the bound.
    """
    forget_phis(bench)
    keep_members(worth, j, bench, n_candidates, value_of_members(worth, j, bench, n_candidates))
    present = bench.found[VALUE]
    if is_settled(bench, n_candidates, slope, offset):
        return present
    size = keep_promising(worth, j, bench, n_candidates)
    guess = min(max(1, int(bench.found[SIZE])), size)
    if worth.falls and worth.is_complete:
        search_from_best(worth, j, bench, size, guess)
        return present
    look_near(worth, j, bench, size, guess)
    look_at_smaller(worth, j, bench, size, guess)
    look_at_larger(worth, j, bench, size, guess)
    # And the empty set, which is worth nothing.
    if bench.found[VALUE] < 0.0:
        bench.found[VALUE] = 0.0
        bench.is_best[:size] = False
    return present


@step
def search_best_set(worth, j, bench, size, guess):
    """Find the best set among the first `size` candidates of the workbench; `guess` is a likely size.

    Writes: bench.found and bench.is_best; the candidates may be put in another order.
    """
    bench.found[:] = 0.0
    forget_phis(bench)
    bench.is_best[:size] = False
    if size > 0:
        search_from_best(worth, j, bench, size, guess)
    bench.found[BOUND] = max(bench.found[BOUND], bench.found[VALUE])
