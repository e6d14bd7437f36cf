"""Label moves: one label takes its best set of instances, and the instances it takes or leaves swap one other label.

A row pass moves one instance at a time, and is stuck where a label should shrink from three instances to one: each of
them would lose by leaving alone. Here the label moves as a whole. The price of an instance is what it gains elsewhere
with the slot that the label leaves, or what it loses by giving its weakest label up; at these prices the best set is
found, and taken if the utility really rises.
"""

from typing import NamedTuple

import numpy as np

from tailwise.kernels.best_set import search_near_members
from tailwise.kernels.compiling import bundle, kernel, part, step
from tailwise.kernels.label_state import (
    ROUNDING,
    T,
    call_add_instance,
    call_gain_of,
    call_own_gain_of,
    call_refresh_line,
)
from tailwise.kernels.lanes import WIDE
from tailwise.kernels.row_lines import CHUNK, below, bits_reaching, hide_own, high_bar, next_of, take_lines
from tailwise.kernels.set_worth import hold_candidates, is_affordable, line_of_one
from tailwise.kernels.top_k import LANES, holds
from tailwise.kernels.workbench import VALUE, put, take_logs

# A label moves if that gains more than this share of what is at stake, since rounding gains nothing.
LEAST_GAIN = 1e-9


@bundle
class RowPrices(NamedTuple):
    """What a slot of each instance is worth at present."""

    weakest: np.ndarray  # float64 (n,): gain of the weakest label it has
    other: np.ndarray  # float64 (n,): gain of the best label it does not have; minus infinity where there is none
    other_position: np.ndarray  # int32 (n,): that label's place in the row, -1 for none
    changed: np.ndarray  # int32 (n,): number of the last pass before which one of them changed


@bundle
class Visits(NamedTuple):
    """When labels last looked for a better set and found none."""

    passes: np.ndarray  # int32 (m,): number of that pass, -1 where there is none
    t: np.ndarray  # float64 (m,): their expected true positives then, which tell one set of members from another


@bundle
class Undo(NamedTuple):
    """Swaps of one label move, in order, so that they can be taken back."""

    instances: np.ndarray  # int32 (largest column,)
    slots: np.ndarray  # int32
    before: np.ndarray  # int32: position that stood in the slot


def make_row_prices(n_instances):
    """Prices, not known yet."""
    positions, changed = np.full(n_instances, -1, np.int32), np.zeros(n_instances, np.int32)
    return RowPrices(np.empty(n_instances), np.empty(n_instances), positions, changed)


def make_visits(n_labels):
    """No label has looked yet."""
    return Visits(np.full(n_labels, -1, np.int32), np.empty(n_labels))


def make_undo(largest_column):
    """Room for the swaps of the label with the most candidates."""
    return Undo(*(np.empty(max(1, largest_column), np.int32) for _ in range(3)))


@step
def find_weakest(rows, terms, state, chosen, i, budget):
    """Slot of the label that instance i would miss least, and its gain."""
    labels, values, start = rows.labels, rows.values, rows.indptr[i]
    slot, weakest = -1, np.inf
    for c in range(budget):
        x = start + chosen[i, c]
        gain = call_own_gain_of(terms, state, labels[x], np.float64(values[x]))
        if gain < weakest:
            slot, weakest = c, gain
    return slot, weakest


@step
def find_other(rows, terms, state, chosen, i, budget, hint, lines, lanes):
    """Position of the best label that instance i does not have, and its gain; `hint` is a likely one, or -1."""
    start, stop = rows.indptr[i], rows.indptr[i + 1]
    position, best = np.int32(-1), -np.inf
    if hint >= 0 and not holds(chosen, i, budget, hint):
        position = hint
        best = call_gain_of(terms, state, rows.labels[start + hint], np.float64(rows.values[start + hint]))
    for first in range(start, stop, CHUNK):
        size = min(CHUNK, stop - first)
        take_lines(rows, state, first, size, lines)
        hide_own(chosen, i, budget, first - start, size, lines)
        low, is_done = high_bar(lines, size, 1, below(best), lanes), False
        while not is_done:  # the highest line first: it raises the bar, which then spares most of the others
            for part_first in range(0, size, WIDE):
                bits = bits_reaching(lines, part_first, size, low)
                while bits != 0:
                    place, bits = next_of(bits)
                    x = first + part_first + place
                    if lines[part_first + place] >= below(best):
                        gain = call_gain_of(terms, state, rows.labels[x], np.float64(rows.values[x]))
                        if gain > best:
                            position, best = np.int32(x - start), gain
            is_done, low = low <= below(best), below(best)
    return position, best


@step
def price_row(rows, terms, state, chosen, budgets, i, prices, lines, lanes):
    """Bring the prices of instance i up to date."""
    prices.weakest[i] = find_weakest(rows, terms, state, chosen, i, budgets[i])[1]
    position, gain = find_other(rows, terms, state, chosen, i, budgets[i], prices.other_position[i], lines, lanes)
    prices.other_position[i], prices.other[i] = position, gain


@kernel
def price_rows(rows, terms, state, chosen, budgets, prices, first, last):
    """Bring the prices of instances first to last up to date.

    Shapes: chosen (n, k), positions within the row; budgets (n,), how many labels each row has. Writes: prices.
    """
    lines, lanes = np.empty(CHUNK, np.float32), np.empty(LANES, np.float32)
    for i in range(first, last):
        price_row(rows, terms, state, chosen, budgets, i, prices, lines, lanes)


@step
def load_column(columns, chosen, budgets, prices, j, slope, offset, bench):
    """Put the instances that have label j on the workbench, marked, and those that may be worth it; returns how many.

    The line says what an instance can add at most.
    """
    size = 0
    for place in range(columns.indptr[j], columns.indptr[j + 1]):
        i = columns.instances[place]
        is_member = holds(chosen, i, budgets[i], columns.positions[place])
        price = prices.other[i] if is_member else prices.weakest[i]
        put(bench, size, columns, place, price)
        bench.is_member[size] = is_member
        size += is_member or is_affordable(slope, offset, bench.values[size], price)
    return size


@step
def has_news(columns, chosen, budgets, prices, j, slope, offset, visited):
    """Whether a price changed after a pass, of an instance that has label j or may be worth it."""
    found, place, last = False, columns.indptr[j], columns.indptr[j + 1]
    while place < last and not found:
        i = columns.instances[place]
        if prices.changed[i] > visited:
            found = is_affordable(slope, offset, np.float64(columns.values[place]), prices.weakest[i])
            found = found or holds(chosen, i, budgets[i], columns.positions[place])
        place += 1
    return found


@step
def propose_label(worth, counts, columns, chosen, budgets, prices, j, visits, bench, is_wanted):
    """Whether label j has a better set at the present prices; if so, it is marked in is_wanted."""
    hold_candidates(worth, columns, j, 1)
    slope, offset = line_of_one(worth, j, bench)
    has_looked = visits.passes[j] >= 0 and visits.t[j] == counts[j, T]
    if has_looked and not has_news(columns, chosen, budgets, prices, j, slope, offset, visits.passes[j]):
        return False
    size = load_column(columns, chosen, budgets, prices, j, slope, offset, bench)
    hold_candidates(worth, columns, j, size)
    take_logs(worth, j, bench, size)
    present = search_near_members(worth, j, bench, size, slope, offset)
    if not bench.found[VALUE] > present + LEAST_GAIN * abs(present):
        return False
    is_wanted[columns.indptr[j] : columns.indptr[j + 1]] = False
    for x in range(size):
        is_wanted[bench.places[x]] = bench.is_best[x]
    return True


@kernel
def propose_labels(
    worth, counts, columns, chosen, budgets, prices, labels, visits, now, bench, is_wanted, moves, first, last
):
    """The labels of a group, from first to last, propose their best sets, if there is news for them.

    Shapes: counts, those of the state; labels, moves (group,); is_wanted (nnz,), by columns. Reads: worth, of all sets
    or of those of about the sizes that labels have. Writes: moves, whether a label wants to change; is_wanted, for
    those; visits, pass number `now` for the others.
    """
    for r in range(first, last):
        j = labels[r]
        moves[r] = propose_label(worth, counts, columns, chosen, budgets, prices, j, visits, bench, is_wanted)
        visits.passes[j], visits.t[j] = -1 if moves[r] else now, counts[j, T]


@step
def swap(rows, terms, state, chosen, i, slot, position):
    """Instance i puts another label into a slot; returns what the utility gains."""
    start = rows.indptr[i]
    old, new = start + chosen[i, slot], start + position
    old_value, new_value = np.float64(rows.values[old]), np.float64(rows.values[new])
    gain = -call_own_gain_of(terms, state, rows.labels[old], old_value)
    call_add_instance(terms, state, rows.labels[old], old_value, -1.0)
    gain += call_gain_of(terms, state, rows.labels[new], new_value)
    call_add_instance(terms, state, rows.labels[new], new_value, 1.0)
    chosen[i, slot] = position
    return gain


@part
def slot_of(chosen, i, budget, position):
    slot = -1
    for c in range(budget):
        if chosen[i, c] == position:
            slot = c
    return slot


@step
def try_swaps(rows, terms, state, columns, chosen, budgets, prices, j, is_wanted, undo):
    """Swap instances in and out of label j as it wants; returns what that gains beyond rounding, and how many moved."""
    change, scale, count = 0.0, 0.0, 0
    for x in range(columns.indptr[j], columns.indptr[j + 1]):
        i, position = columns.instances[x], columns.positions[x]
        slot = slot_of(chosen, i, budgets[i], position)
        if is_wanted[x] == (slot >= 0):
            continue
        if is_wanted[x]:
            slot = find_weakest(rows, terms, state, chosen, i, budgets[i])[0]
        else:
            position = prices.other_position[i]
        # The best other label may have come to the instance since it was priced.
        if slot >= 0 and position >= 0 and not holds(chosen, i, budgets[i], position):
            undo.instances[count], undo.slots[count], undo.before[count] = i, slot, chosen[i, slot]
            count += 1
            gain = swap(rows, terms, state, chosen, i, slot, position)
            change += gain
            scale += abs(gain)
    return change - ROUNDING * scale, count


@step
def refresh_lines(rows, terms, state, chosen, undo, count):
    """Bring the lines of all labels that were swapped up to date."""
    for u in range(count):
        start = rows.indptr[undo.instances[u]]
        call_refresh_line(terms, state, rows.labels[start + undo.before[u]])
        call_refresh_line(terms, state, rows.labels[start + chosen[undo.instances[u], undo.slots[u]]])


@step
def move_label(rows, terms, state, columns, chosen, budgets, prices, j, now, is_wanted, undo, lines, lanes):
    """Label j takes the set that it wants, if the utility rises; returns whether it did."""
    change, count = try_swaps(rows, terms, state, columns, chosen, budgets, prices, j, is_wanted, undo)
    if not change > 0.0:
        for u in range(count - 1, -1, -1):
            swap(rows, terms, state, chosen, undo.instances[u], undo.slots[u], undo.before[u])
        return False
    refresh_lines(rows, terms, state, chosen, undo, count)
    for u in range(count):
        price_row(rows, terms, state, chosen, budgets, np.int64(undo.instances[u]), prices, lines, lanes)
        prices.changed[undo.instances[u]] = now + 1  # also for labels that were visited in this pass
    return True


@kernel
def settle_labels(rows, terms, state, columns, chosen, budgets, prices, labels, now, is_wanted, moves, undo):
    """Move the labels of a group, one by one, where that raises the utility; returns how many moved.

    Writes: chosen, the state, prices. Assumes: propose_labels has filled the rest.
    """
    lines, lanes, n_moved = np.empty(CHUNK, np.float32), np.empty(LANES, np.float32), 0
    for r in range(labels.size):
        if moves[r]:
            j = labels[r]
            n_moved += move_label(
                rows, terms, state, columns, chosen, budgets, prices, j, now, is_wanted, undo, lines, lanes
            )
    return n_moved
