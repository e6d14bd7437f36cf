"""Sets of instances of one label on a workbench: the largest numbers of an array, and what a marked set is worth."""

from typing import NamedTuple

import numpy as np

from tailwise.kernels.compiling import bundle, part, reordering_step, step
from tailwise.kernels.label_state import LARGEST_BELOW_ONE
from tailwise.kernels.nodes import phi
from tailwise.kernels.set_worth import (
    base_at_nodes,
    block_of,
    coverage_of,
    forget_phis,
    formula_at,
    products_at,
    row_of,
    take_weights,
)
from tailwise.kernels.top_k import kth_largest

# Entries of Workbench.found: the upper bound; value, size, sum of probabilities and of logarithms of the best set;
# sum of probabilities of the set that was looked at last. Two more are of kernels/set_worth.py.
BOUND, VALUE, SIZE, SUM, LOGS, TOUCHED = range(6)
# Columns of Workbench.ranges: sizes; least and largest t, or what the best sets of the two sizes are worth at most; and
# the fees of these sets.
FIRST, LAST, LOW, HIGH, FEE_FIRST, FEE_LAST = range(6)
AT_FIRST, AT_LAST = LOW, HIGH


@part
def put(bench, x, columns, place, price):
    """Put the candidate at a place in the columns on the workbench, as number x."""
    bench.places[x], bench.instances[x] = place, columns.instances[place]
    bench.values[x], bench.prices[x] = columns.values[place], price


@step
def take_logs(worth, j, bench, size):
    """Prepare the candidates on the workbench for coverage, if it counts."""
    if coverage_of(worth, j) > 0.0:
        for x in range(size):
            bench.logs[x] = -np.log1p(-min(bench.values[x], LARGEST_BELOW_ONE))


@bundle
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
    b = block_of(worth, j, q)
    linear, row, n_plain = worth.nodes.linear, row_of(worth, j, b), worth.nodes.n_plain
    value = 0.0
    take_weights(worth, j, b, q, bench)
    for r in range(linear.shape[2]):
        total, base = 0.0, linear[row, worth.nodes.base, r]
        for x in range(size):
            if bench.is_member[x]:
                total += phi(bench.values[x] if r < n_plain else 1.0 - bench.values[x], base)
        value += bench.weights[r] * total
    return value


@step
def value_of_members(worth, j, bench, size):
    """Worth of the marked set less its prices, of product nodes at most; an empty set is worth nothing."""
    q = np.float64(count_members(bench.is_member, size))
    if q == 0.0:
        return 0.0
    t = sum_members(bench.is_member, bench.values, size)
    value = -sum_members(bench.is_member, bench.prices, size)
    value += worth.terms.linear[j, 0] * t + worth.terms.linear[j, 1] * q
    for f in range(worth.terms.formulas.shape[0]):
        value += formula_at(worth, f, j, t, q) - formula_at(worth, f, j, 0.0, 0.0)
    if coverage_of(worth, j) > 0.0:
        value += coverage_of(worth, j) * (1.0 - np.exp(-sum_members(bench.is_member, bench.logs, size)))
    if worth.has_nodes:
        b = block_of(worth, j, q)
        value += node_value(worth, j, bench, size, q) + products_at(worth, j, b, q, t)
        if worth.has_base:
            value += base_at_nodes(worth, j, b, q) - products_at(worth, j, b, 0.0, 0.0)
    return value


@step
def keep_members(worth, j, bench, size, value):
    """Take the marked set for the best so far."""
    bench.found[VALUE] = value
    for x in range(size):
        bench.is_best[x] = bench.is_member[x]
    bench.found[SIZE] = count_members(bench.is_member, size)
    bench.found[SUM] = sum_members(bench.is_member, bench.values, size)
    bench.found[LOGS] = sum_members(bench.is_member, bench.logs, size) if coverage_of(worth, j) > 0.0 else 0.0


@step
def keep_if_better(worth, j, bench, size, q, top, bound):
    """Note the set of a bound for size q, if its true value is the best so far."""
    if worth.falls and coverage_of(worth, j) == 0.0 and top.size == q:  # then the bound is the value of the set
        if bound > bench.found[VALUE]:
            mark_top(bench.net, size, top, bench.is_member)
            keep_members(worth, j, bench, size, bound)
        return
    mark_top(bench.net, size, top, bench.is_member)
    value = value_of_members(worth, j, bench, size)
    if value > bench.found[VALUE]:
        keep_members(worth, j, bench, size, value)


@step
def move_to_front(bench, size):
    """Put the candidates with a positive net value first; returns how many they are."""
    forget_phis(bench)
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
