"""The lines of a row's candidates side by side: those that reach a bar are found all at once, in single precision.

A line lies above the gain, so that candidates whose line is below the bar need no further look.
"""

import numpy as np

from tailwise.kernels.compiling import part
from tailwise.kernels.label_state import SLACK
from tailwise.kernels.lanes import WIDE, lowest_bit, mask_reaching, prefetch
from tailwise.kernels.nodes import fetch_nodes
from tailwise.kernels.top_k import bar_of_top

# Candidates that are compared with the bar at a time: all of a usual row, since most rows have no rival.
CHUNK = 2 * WIDE
# With more labels than this, lines are fetched before they are needed. They take less room than counts and nodes
# (MANY_LABELS), so more of them stay in the caches.
MANY_LINES = 1 << 20


@part
def fetch_counts(state, j):
    """Begin to fetch the counts of label j, which may be anywhere in memory."""
    n_counts = state.counts.shape[1]
    prefetch(state.counts, np.int64(j) * n_counts)
    prefetch(state.counts, np.int64(j) * n_counts + n_counts - 1)


@part
def fetch_label(state, j):
    """Begin to fetch the counts and nodes of label j."""
    fetch_counts(state, j)
    if state.nodes.largest.size > 0:
        fetch_nodes(state.nodes, j, state.nodes.linear.shape[1])


@part
def fetch_row(rows, state, chosen, i, budget):
    """Begin to fetch what the proposal of instance i will read of labels: counts of its own ones, lines of all."""
    start, stop = rows.indptr[i], rows.indptr[i + 1]
    for c in range(budget):
        if chosen[i, c] >= 0:
            fetch_counts(state, rows.labels[start + chosen[i, c]])
    if state.slopes.size > MANY_LINES:
        for x in range(start, stop):
            prefetch(state.slopes, np.int64(rows.labels[x]))
            prefetch(state.offsets, np.int64(rows.labels[x]))


@part
def line_at(slopes, offsets, j, e):
    """The line of label j at e, in single precision: rounding e loses less than the slack that the line has."""
    return slopes[j] * np.float32(e) + offsets[j]


@part
def below(bar):
    """A single-precision number not above the bar, and below it by no more than the lines' slack."""
    return np.float32(bar - SLACK * abs(bar)) if abs(bar) < np.inf else np.float32(bar)


@part
def take_lines(rows, state, first, size, lines):
    """Write the lines of `size` candidates, from the place `first` on."""
    # Arrays are taken out of their tuples before the loop: in it, each look into a tuple would cost.
    labels, values, slopes, offsets, start = rows.labels, rows.values, state.slopes, state.offsets, np.uint64(first)
    # Unsigned indices and no branch: Numba then compiles the loop to gathers of sixteen numbers at a time.
    for x in range(np.uint64(size)):
        lines[x] = line_at(slopes, offsets, np.uint32(labels[start + x]), values[start + x])


@part
def hide_own(chosen, i, budget, first, size, lines):
    """No bar is reached by the candidates that instance i has: these are no rivals."""
    for c in range(budget):
        x = chosen[i, c] - first
        if chosen[i, c] >= 0 and 0 <= x < size:
            lines[x] = np.nan


@part
def count_reaching(lines, size, bar):
    n_reach = np.int32(0)
    for x in range(np.uint64(size)):
        n_reach += np.int32(lines[x] >= bar)
    return n_reach


@part
def bits_reaching(lines, first, size, bar):
    """Which of the 64 lines from `first` reach the bar, a bit each; none after the last of `size` lines."""
    bits, rest = mask_reaching(lines, first, bar), size - first
    return bits if rest >= WIDE else bits & ((np.uint64(1) << np.uint64(rest)) - np.uint64(1))


@part
def next_of(bits):
    """The place of the lowest bit, and the bits without it."""
    return lowest_bit(bits), bits & (bits - np.uint64(1))


@part
def high_bar(lines, size, k, bar, lanes):
    """A bar that few more than the k highest lines reach, so that these are visited first; not below `bar`."""
    return max(bar, bar_of_top(lines, 0, size, k, lanes)) if count_reaching(lines, size, bar) > k else bar
