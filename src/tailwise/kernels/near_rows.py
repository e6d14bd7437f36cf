"""The candidates of each instance that may be worth a slot: those of the highest lines.

Most candidates of a row are far below the labels that it has, and stay there. So passes look at the near ones, and at
all candidates only where these have nothing left to gain.
"""

import numpy as np

from tailwise.kernels.compiling import kernel, part, step
from tailwise.kernels.lanes import WIDE, mask_reaching
from tailwise.kernels.row_lines import bits_reaching, count_reaching, next_of, take_lines
from tailwise.kernels.rows import Rows
from tailwise.kernels.top_k import LANES, find_lane_maxima

# Steps to the bars, of which any will do.
WIDENINGS, HALVINGS = 64, 16
# The share of the room that the higher bar may leave to those between the bars, which are as good as each other.
BETWEEN = 0.25


def make_near(rows, sizes, most):
    """Room for the near candidates, at most this many of each row, and for their positions in the rows."""
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.minimum(sizes, most))])
    is_short = sizes.max(initial=0) <= np.iinfo(np.uint16).max
    places = np.empty(indptr[-1], np.uint16 if is_short else np.int32)
    return Rows(indptr, np.empty(indptr[-1], np.int32), np.empty(indptr[-1], rows.values.dtype)), places


@part
def find_range(lines, size, most, lanes):
    """A bar that at least `most` lines reach, one that usually fewer reach, and the highest line."""
    find_lane_maxima(lines, 0, size, lanes)
    low, high, total = lanes[0], lanes[0], lanes[0]
    for y in range(1, LANES):
        low, high = min(low, lanes[y]), max(high, lanes[y])
        total += lanes[y]
    width, n_steps = max(high - low, abs(high)), 0
    while count_reaching(lines, size, low) < most and n_steps < WIDENINGS:
        low -= width
        width *= np.float32(2.0)
        n_steps += 1
    return (low if n_steps < WIDENINGS else np.float32(-np.inf)), total / np.float32(LANES), high


@step
def find_bars(lines, size, most, low, middle, high):
    """Two bars: at most `most` lines reach the higher one, and at least as many the lower one."""
    n_reach, n_steps = count_reaching(lines, size, high), 0
    if n_reach > most:
        return high, np.float32(np.inf)
    while n_reach < (1.0 - BETWEEN) * most and n_steps < HALVINGS:
        n_middle = count_reaching(lines, size, middle)
        if n_middle > most:
            low = middle
        else:
            high, n_reach = middle, n_middle
        middle = np.float32(0.5) * (low + high)
        n_steps += 1
    return low, high


@step
def keep_best(lines, size, chosen, i, most, lanes, kept):
    """List, in order, the positions in row i of the labels that it has and of the highest lines; `most` in all."""
    low, middle, high = find_range(lines, size, most, lanes)
    for c in range(chosen.shape[1]):
        if chosen[i, c] >= 0:
            lines[chosen[i, c]] = np.inf  # so that they reach every bar
    low, high = find_bars(lines, size, most, low, middle, high)
    n_kept, room = 0, most - count_reaching(lines, size, high)
    for first in range(0, size, WIDE):
        bits, sure = bits_reaching(lines, first, size, low), mask_reaching(lines, first, high)
        while bits != 0 and n_kept < most:
            place, bits = next_of(bits)
            is_sure = (sure >> np.uint64(place)) & np.uint64(1) == 1
            kept[n_kept] = first + place
            n_kept += is_sure or room > 0
            room -= not is_sure


@step
def keep_row(rows, chosen, i, kept, near, places, own):
    """Copy the candidates that are kept, and find the labels of instance i among them."""
    labels, values, near_labels, near_values = rows.labels, rows.values, near.labels, near.values
    start, first = np.uint64(rows.indptr[i]), np.uint64(near.indptr[i])
    size = np.uint64(near.indptr[i + 1]) - first
    for y in range(size):
        place = np.uint64(kept[y])
        near_labels[first + y], near_values[first + y] = labels[start + place], values[start + place]
        places[first + y] = place
    for c in range(chosen.shape[1]):
        n_before = np.int32(0)  # of those kept, which ascend
        for y in range(size):
            n_before += np.int32(kept[y] < chosen[i, c])
        own[i, c] = n_before if chosen[i, c] >= 0 else -1


@kernel
def find_near(rows, state, chosen, near, places, own, first, last):
    """Keep the labels that instances first to last have, and those of the highest lines.

    Shapes: chosen, own (n, k), positions within the row, -1 for none; near, rows with room for more than k labels
    each, or for all; places (near,). Writes: near, except for indptr; places, their positions in the rows; own, those
    of chosen within the rows of near. Order stays, so that ties are broken as in the whole row.
    """
    longest = 0
    for i in range(first, last):
        longest = max(longest, rows.indptr[i + 1] - rows.indptr[i])
    lines, lanes = np.empty((longest + WIDE - 1) // WIDE * WIDE, np.float32), np.empty(LANES, np.float32)
    kept = np.empty(longest + 1, np.int32)
    for i in range(first, last):
        size, most = rows.indptr[i + 1] - rows.indptr[i], near.indptr[i + 1] - near.indptr[i]
        if most < size:
            take_lines(rows, state, rows.indptr[i], size, lines)
            keep_best(lines, size, chosen, i, most, lanes, kept)
        else:
            for x in range(size):
                kept[x] = x
        keep_row(rows, chosen, i, kept, near, places, own)


@kernel
def list_positions(near, places, own, chosen, first, last):
    """Where the labels that instances have stand in the whole rows.

    Shapes: as for find_near. Writes: chosen.
    """
    for i in range(first, last):
        for c in range(own.shape[1]):
            chosen[i, c] = places[near.indptr[i] + own[i, c]] if own[i, c] >= 0 else -1
