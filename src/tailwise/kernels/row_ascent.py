"""Block coordinate ascent over instances, in groups (paper, Algorithm 1; the sparse one of the appendix).

The instances of a group propose their best labels in parallel, all against the same totals. Then the proposals are
looked at one by one, in order: a row moves only if the utility, with all that moved before it, really rises. So the
utility never falls, whatever the size of a group; a group of one is the paper's algorithm.
"""

from typing import NamedTuple

import numpy as np

from tailwise.kernels.compiling import bundle, kernel, part, step
from tailwise.kernels.label_state import ROUNDING, add_instance, gain_of, own_gain_of, refresh_line
from tailwise.kernels.lanes import WIDE
from tailwise.kernels.nodes import MANY_LABELS
from tailwise.kernels.row_lines import (
    CHUNK,
    below,
    bits_reaching,
    fetch_label,
    fetch_row,
    hide_own,
    high_bar,
    next_of,
    take_lines,
)
from tailwise.kernels.top_k import LANES, holds, insert


@bundle
class Moves(NamedTuple):
    """What the rows of a group propose. Labels and probabilities are copied here, close together in memory."""

    positions: np.ndarray  # int32 (group, k): the whole new row, -1 for an empty slot
    counts: np.ndarray  # int32 (group, 2): labels to leave, labels to take
    labels: np.ndarray  # int32 (group, 2, k)
    values: np.ndarray  # float64 (group, 2, k)


@bundle
class Touched(NamedTuple):
    """The labels whose totals a group changed, each once."""

    labels: np.ndarray  # int32 (at most m,)
    is_listed: np.ndarray  # bool (m,)
    size: np.ndarray  # int64 (1,)


LEAVE, TAKE = 0, 1

# Columns of `slots`: how many labels an instance must take, and how many it may; the rest only where they gain.
LEAST, MOST = 0, 1

# How many rows ahead memory is asked for what a proposal will read, and what settling will.
ROWS_AHEAD, MOVES_AHEAD = 1, 8


@part
def bar_of(size, least, most, weakest):
    """What one more label must gain for a row that has `size` labels, the weakest of them with this gain."""
    # An empty slot that must be taken is taken at any loss, one that may be at none.
    return weakest if size >= most else -np.inf if size < least else min(weakest, 0.0)


@part
def find_bar(rows, terms, state, chosen, i, least, most, gains):
    """Gains of the labels that instance i has, and what a rival must gain."""
    labels, values, start = rows.labels, rows.values, rows.indptr[i]
    size, weakest = 0, np.inf
    while size < most and chosen[i, size] >= 0:
        x = start + chosen[i, size]
        gain = own_gain_of(terms, state, labels[x], np.float64(values[x]))
        gains[size] = gain
        weakest = gain if gain < weakest else weakest
        size += 1
    return bar_of(size, least, most, weakest)


@part
def rank_own_labels(chosen, i, budget, gains, positions, r):
    """Put the labels that instance i has into row r, in order of their gains; returns how many they are."""
    size = 0
    while size < budget and chosen[i, size] >= 0:
        insert(gains, positions, r, size, budget, gains[size], chosen[i, size])
        size += 1
    return size


@part
def without_losses(gains, size, least):
    """How many of `size` labels, best first, are left without those that lose and need not be taken."""
    while size > least and not gains[size - 1] > 0.0:
        size -= 1
    return size


@part
def take_rivals(rows, terms, state, chosen, i, least, most, first, lines, lanes, gains, positions, r, size, bar):
    """Put those of the candidates from `first` on into row r that gain more than what is there; how many, the bar.

    The highest lines come first: they raise the bar, which then spares most of the others.
    """
    n_lines = min(CHUNK, rows.indptr[i + 1] - rows.indptr[i] - first)
    take_lines(rows, state, rows.indptr[i] + first, n_lines, lines)
    hide_own(chosen, i, most, first, n_lines, lines)
    low, high = high_bar(lines, n_lines, most, below(bar), lanes), np.float32(np.nan)  # nothing was visited yet
    for _ in range(2):  # the highest lines, then the others that reach the bar
        for part_first in range(0, n_lines, WIDE):
            bits = bits_reaching(lines, part_first, n_lines, low)
            while bits != 0:
                place, bits = next_of(bits)
                x = part_first + place
                if lines[x] >= below(bar) and not lines[x] >= high:
                    position = first + x
                    entry = rows.indptr[i] + position
                    gain = gain_of(terms, state, rows.labels[entry], np.float64(rows.values[entry]))
                    if not gain < bar:  # so that a slot that must be taken is taken even by what is no number
                        if size < 0:
                            size = rank_own_labels(chosen, i, most, gains, positions, r)
                        insert(gains, positions, r, size, most, gain, np.int32(position))
                        size = min(size + 1, most)
                        bar = bar_of(size, least, most, gains[size - 1])
        if low <= below(bar):
            break
        low, high = below(bar), low
    return size, bar


@part
def find_best_labels(rows, terms, state, chosen, i, least, most, lines, lanes, gains, positions, r):
    """Put the best labels of instance i, its own share of the totals left out, into row r.

    Returns how many they are; -1 where an instance that must fill all its slots has them already.
    """
    bar = find_bar(rows, terms, state, chosen, i, least, most, gains)
    size = -1  # until a rival is found, as none is for most rows in most passes
    for first in range(0, rows.indptr[i + 1] - rows.indptr[i], CHUNK):
        size, bar = take_rivals(
            rows, terms, state, chosen, i, least, most, first, lines, lanes, gains, positions, r, size, bar
        )
    if least < most:
        if size < 0:
            size = rank_own_labels(chosen, i, most, gains, positions, r)
        size = without_losses(gains, size, least)
    return size


@part
def note_swap(rows, i, moves, r, side, position):
    x = rows.indptr[i] + position
    c = moves.counts[r, side]
    moves.labels[r, side, c] = rows.labels[x]
    moves.values[r, side, c] = rows.values[x]
    moves.counts[r, side] = c + 1


@part
def propose(rows, terms, state, chosen, least, most, i, lines, lanes, gains, moves, r):
    """Write into row r of moves what instance i should leave and take."""
    moves.counts[r, LEAVE] = 0
    moves.counts[r, TAKE] = 0
    has_choice = most < rows.indptr[i + 1] - rows.indptr[i] or least < most or chosen[i, most - 1] < 0
    if most > 0 and has_choice:
        positions = moves.positions
        size = find_best_labels(rows, terms, state, chosen, i, least, most, lines, lanes, gains, positions, r)
        if size >= 0:
            positions[r, size:] = -1  # settle copies the whole row
            for c in range(most):
                if chosen[i, c] >= 0 and not holds(positions, r, size, chosen[i, c]):
                    note_swap(rows, i, moves, r, LEAVE, chosen[i, c])
                if c < size and not holds(chosen, i, most, positions[r, c]):
                    note_swap(rows, i, moves, r, TAKE, positions[r, c])


@step
def propose_rows(rows, terms, state, chosen, slots, instances, lines, lanes, gains, moves, first, last):
    has_many = state.counts.shape[0] > MANY_LABELS
    for r in range(first, last):
        if has_many and r + ROWS_AHEAD < last:
            i = instances[r + ROWS_AHEAD]
            fetch_row(rows, state, chosen, i, slots[i, MOST])
        i = instances[r]
        propose(rows, terms, state, chosen, slots[i, LEAST], slots[i, MOST], i, lines, lanes, gains, moves, r)


@step
def change_of(terms, state, moves, r):
    """What the utility gains, now, by the moves of row r; less than rounding may have made of it."""
    change, scale = 0.0, 0.0
    for c in range(moves.counts[r, LEAVE]):
        gain = own_gain_of(terms, state, moves.labels[r, LEAVE, c], moves.values[r, LEAVE, c])
        change -= gain
        scale += abs(gain)
    for c in range(moves.counts[r, TAKE]):
        gain = gain_of(terms, state, moves.labels[r, TAKE, c], moves.values[r, TAKE, c])
        change += gain
        scale += abs(gain)
    return change - ROUNDING * scale


@step
def apply_swaps(terms, state, moves, r, touched):
    for side in range(2):
        count = 1.0 if side == TAKE else -1.0
        for c in range(moves.counts[r, side]):
            j = moves.labels[r, side, c]
            add_instance(terms, state, j, moves.values[r, side, c], count)
            if not touched.is_listed[j]:
                touched.is_listed[j] = True
                touched.labels[touched.size[0]] = j
                touched.size[0] += 1


@part
def is_short(chosen, i, least):
    """Whether instance i has fewer labels than it must take."""
    return least > 0 and chosen[i, least - 1] < 0


@part
def fetch_moves(state, moves, r):
    for side in range(2):
        for c in range(moves.counts[r, side]):
            fetch_label(state, moves.labels[r, side, c])


@step
def settle_rows(terms, state, chosen, slots, instances, moves, touched):
    n_moved, has_many = 0, state.counts.shape[0] > MANY_LABELS
    for r in range(instances.size):
        if has_many and r + MOVES_AHEAD < instances.size:
            fetch_moves(state, moves, r + MOVES_AHEAD)
        i = instances[r]
        n_leave, n_take = moves.counts[r, LEAVE], moves.counts[r, TAKE]
        if n_take + n_leave == 0:
            continue
        # A row that is short takes its labels even at a loss: the budget asks for them.
        if is_short(chosen, i, slots[i, LEAST]) or change_of(terms, state, moves, r) > 0.0:
            apply_swaps(terms, state, moves, r, touched)
            for c in range(slots[i, MOST]):
                chosen[i, c] = moves.positions[r, c]
            n_moved += 1
    for u in range(touched.size[0]):
        if has_many and u + MOVES_AHEAD < touched.size[0]:
            fetch_label(state, touched.labels[u + MOVES_AHEAD])
        j = touched.labels[u]
        refresh_line(terms, state, j)
        touched.is_listed[j] = False
    touched.size[0] = 0
    return n_moved


def make_buffers(n_labels, group_size, k):
    """Room for the proposals of a group and the labels they touch."""
    moves = Moves(
        np.empty((group_size, k), np.int32),
        np.zeros((group_size, 2), np.int32),
        np.empty((group_size, 2, k), np.int32),
        np.empty((group_size, 2, k)),
    )
    touched = Touched(
        np.empty(min(n_labels, 2 * group_size * k), np.int32), np.zeros(n_labels, np.bool_), np.zeros(1, np.int64)
    )
    return moves, touched


@kernel
def propose_part(rows, terms, state, chosen, slots, instances, moves, first, last):
    """The instances of a group, from first to last, propose their best labels.

    Shapes: chosen (n, k), positions within the row, -1 only after the last; slots (n, 2), at most the row's size;
    instances (group,). Writes: moves, rows first to last. Assumes: the state agrees with chosen.
    """
    lines, lanes, gains = np.empty(CHUNK, np.float32), np.empty(LANES, np.float32), np.empty(chosen.shape[1])
    propose_rows(rows, terms, state, chosen, slots, instances, lines, lanes, gains, moves, first, last)


@kernel
def settle(terms, state, chosen, slots, instances, moves, touched):
    """Move the instances of a group, one by one, where that raises the utility; returns how many moved.

    Writes: chosen, the state, touched. Assumes: propose_part has filled moves.
    """
    return settle_rows(terms, state, chosen, slots, instances, moves, touched)


@kernel
def ascend(rows, terms, state, chosen, slots, order, moves, touched):
    """Visit the instances of `order` in groups, on one thread; returns how many of them moved.

    Shapes: as for propose_part; order (any,), instances. Writes: as propose_part and settle.
    """
    group_size = moves.counts.shape[0]
    lines, lanes, gains = np.empty(CHUNK, np.float32), np.empty(LANES, np.float32), np.empty(chosen.shape[1])
    n_moved = 0
    for start in range(0, order.size, group_size):
        instances = order[start : start + group_size]
        propose_rows(rows, terms, state, chosen, slots, instances, lines, lanes, gains, moves, 0, instances.size)
        n_moved += settle_rows(terms, state, chosen, slots, instances, moves, touched)
    return n_moved


@step
def sort_rows(rows, terms, state, positions, labels, gains, first, last):
    k = labels.shape[1]
    for i in range(first, last):
        size = 0
        for c in range(k):
            if positions[i, c] >= 0:
                x = rows.indptr[i] + positions[i, c]
                gain = own_gain_of(terms, state, rows.labels[x], np.float64(rows.values[x]))
                insert(gains, labels, i, size, k, gain, rows.labels[x])
                size += 1
        for c in range(size, k):
            labels[i, c] = -1


@kernel
def list_by_gain(rows, terms, state, positions, labels, first, last):
    """The labels of instances first to last, the best gain first; ties: the smaller label.

    Shapes: positions, labels (n, k), positions within the row, -1 for none. Writes: labels, -1 after the last.
    """
    sort_rows(rows, terms, state, positions, labels, np.empty(labels.shape[1]), first, last)
