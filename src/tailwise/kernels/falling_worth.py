"""The best set of instances where worth falls as sets grow, and is a line for each size: most utilities.

As in kernels/best_set.py, a fee mu for a place bounds the best value at a size. Here the fee goes along a line from the
one that is exact at the first size of a range, q1, to that of the last, q2. The sum of what exceeds price and fee is
still convex in q, so that it lies below its chord, and

    best value at size q  <=  chord of the best values at q1 and q2  +  (mu1 - mu2) / (q2 - q1) (q - q1) (q2 - q).

So one look at a size serves the ranges on both sides; a label with thousands of candidates is looked at some ten times.
"""

import numpy as np

from tailwise.kernels.compiling import part, step
from tailwise.kernels.set_worth import add_nodes, block_of, end_of_block, line_of
from tailwise.kernels.workbench import (
    AT_FIRST,
    AT_LAST,
    BOUND,
    FEE_FIRST,
    FEE_LAST,
    FIRST,
    LAST,
    VALUE,
    find_top,
    keep_if_better,
    move_to_front,
)

# A range is done when its bound is within this share of the best value; more where curves make it costly.
ENOUGH, ENOUGH_CURVED = 2e-4, 5e-4
# A range is split at least this share of it away from its ends, so that few ranges wait at any time.
LEAST_PART = 0.125


@part
def exceeds(worth, bench, bound):
    """Whether a range with this bound may hold a set that is better by more than enough."""
    enough = ENOUGH_CURVED if worth.is_curved else ENOUGH
    return bound > bench.found[VALUE] + enough * abs(bench.found[VALUE])


@step
def fill_net(worth, j, bench, size, r, q, tangent):
    """Write h_q(e) - price of every candidate into bench.net; returns the constant.

    Callers give r as np.int64, since literal numbers are compiled apart.
    """
    first, last, low, high = bench.ranges[r, :FEE_FIRST]
    constant, slope, offset = line_of(worth, j, q, int(first), int(last), low, high)
    values, prices, net = bench.values, bench.prices, bench.net
    for x in range(size):
        net[x] = slope * values[x] + offset - prices[x]
    if tangent > 0.0:
        for x in range(size):
            net[x] += tangent * bench.logs[x]
    if worth.has_nodes:
        add_nodes(worth, j, block_of(worth, j, first), np.float64(q), bench, size)
    return constant


@step
def look_at(worth, j, bench, size, q):
    """What the best set of q instances is worth, at most, and its fee; it is noted, and row 0 of the ranges used."""
    bench.ranges[0, FIRST], bench.ranges[0, LAST] = q, q
    constant = fill_net(worth, j, bench, size, np.int64(0), q, 0.0)
    top = find_top(bench.net, size, q, bench.spare)
    bound = constant + top.total
    if bound > bench.found[VALUE]:
        keep_if_better(worth, j, bench, size, q, top, bound)
    bench.found[BOUND] = max(bench.found[BOUND], bound)
    return bound, top.least


@step
def peak_between(bench, r):
    """The largest bound for the sizes between the ends of range r, and at which share of the range it is reached."""
    first, last, at_first, at_last, fee_first, fee_last = bench.ranges[r]
    rise, bulge = at_last - at_first, (fee_first - fee_last) * (last - first)
    if last - first < 2.0 or not bulge > 0.0:
        return max(at_first, at_last) if last - first >= 2.0 else -np.inf, 0.5
    share = min(1.0, max(0.0, 0.5 + 0.5 * rise / bulge))
    return at_first + share * rise + bulge * share * (1.0 - share), share


@step
def push_between(bench, n_ranges, ends, values, fees):
    bench.ranges[n_ranges, FIRST], bench.ranges[n_ranges, LAST] = ends
    bench.ranges[n_ranges, AT_FIRST], bench.ranges[n_ranges, AT_LAST] = values
    bench.ranges[n_ranges, FEE_FIRST], bench.ranges[n_ranges, FEE_LAST] = fees
    return n_ranges + 1


@step
def search_between(worth, j, bench, size, ends, values, fees):
    """Branch and bound over the sizes between two of the same block that were looked at."""
    n_ranges = push_between(bench, np.int64(1), ends, values, fees)
    while n_ranges > 1:
        n_ranges -= 1
        bound, share = peak_between(bench, n_ranges)
        if not exceeds(worth, bench, bound):
            bench.found[BOUND] = max(bench.found[BOUND], bound)
            continue
        first, last, at_first, at_last, fee_first, fee_last = bench.ranges[n_ranges]
        share = min(1.0 - LEAST_PART, max(LEAST_PART, share))
        middle = min(last - 1.0, max(first + 1.0, np.floor(first + share * (last - first))))
        at, fee = look_at(worth, j, bench, size, int(middle))
        n_ranges = push_between(bench, n_ranges, (first, middle), (at_first, at), (fee_first, fee))
        n_ranges = push_between(bench, n_ranges, (middle, last), (at, at_last), (fee, fee_last))


@step
def search_smaller(worth, j, bench, size, q, at_q, fee_q):
    """Search all sizes up to q, which was looked at, block by block."""
    first = 1
    while first < q:
        at_first, fee_first = look_at(worth, j, bench, size, first)
        last, at_last, fee_last = end_of_block(worth, j, first), at_q, fee_q
        if last < q:
            at_last, fee_last = look_at(worth, j, bench, size, last)
        last = min(last, q)
        ends = np.float64(first), np.float64(last)
        search_between(worth, j, bench, size, ends, (at_first, at_last), (fee_first, fee_last))
        first = last + 1


@step
def search_larger(worth, j, bench, size, q, at_q, fee_q):
    """Search all sizes from q on, which was looked at, block by block."""
    while q < size:
        last = min(size, end_of_block(worth, j, q))
        if last > q:
            at_last, fee_last = look_at(worth, j, bench, size, last)
            ends = np.float64(q), np.float64(last)
            search_between(worth, j, bench, size, ends, (at_q, at_last), (fee_q, fee_last))
        q = last + 1
        if q <= size:
            at_q, fee_q = look_at(worth, j, bench, size, q)


@step
def search_falling(worth, j, bench, size, guess):
    """Look for a better set where worth falls as sets grow, and is a line for each size."""
    guess = min(max(guess, 1), size)
    at_guess, fee = look_at(worth, j, bench, size, guess)
    search_smaller(worth, j, bench, size, guess, at_guess, fee)
    # A set with more instances than are worth their price is worse than without the others. So beyond the guess
    # only those that are worth it there matter.
    bench.ranges[0, FIRST], bench.ranges[0, LAST] = guess, guess
    fill_net(worth, j, bench, size, np.int64(0), guess, 0.0)
    search_larger(worth, j, bench, move_to_front(bench, size), guess, at_guess, fee)
