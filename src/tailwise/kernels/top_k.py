"""Keeping the best: of a row, by gain, ties by the smaller label; of an array of numbers."""

import numpy as np

from tailwise.kernels.compiling import part, step

# Numbers this far apart are compared with each other at once.
LANES = 16


@part
def insert(gains, positions, r, size, budget, gain, position):
    """Put an entry into row r, which holds `size` entries in order, and drop what falls off its end.

    Shapes: gains (k,), of row r; positions (rows, k); budget <= k. Positions ascend with labels, so they break ties.
    """
    c = size
    while c > 0 and (gains[c - 1] < gain or (gains[c - 1] == gain and positions[r, c - 1] > position)):
        if c < budget:
            gains[c] = gains[c - 1]
            positions[r, c] = positions[r, c - 1]
        c -= 1
    if c < budget:
        gains[c] = gain
        positions[r, c] = position


@part
def holds(positions, r, budget, position):
    """Whether row r holds a position among its first `budget` entries."""
    found = False
    for c in range(budget):
        found |= positions[r, c] == position
    return found


@part
def find_lane_maxima(numbers, first, last, lanes):
    """The largest of every 16th number, counted from each of the first 16; -1 for those that are not there."""
    for y in range(np.uint64(LANES)):
        lanes[y] = -1.0
    for start in range(np.uint64(first), np.uint64(first + (last - first) // LANES * LANES), np.uint64(LANES)):
        for y in range(np.uint64(LANES)):
            number = numbers[start + y]
            lanes[y] = number if number > lanes[y] else lanes[y]
    start = last - (last - first) % LANES
    for y in range(last - start):
        lanes[y] = max(lanes[y], numbers[start + y])


@part
def kth_of_lanes(lanes, k):
    """The k-th largest of the lanes: the smallest with fewer than k above it, all compared with all."""
    kth = lanes.dtype.type(np.inf)
    for y in range(np.uint64(LANES)):
        n_above = np.int32(0)
        for z in range(np.uint64(LANES)):
            n_above += np.int32(lanes[z] > lanes[y])
        kth = lanes[y] if n_above < k and lanes[y] < kth else kth
    return kth


@part
def bar_of_top(numbers, first, last, k, lanes):
    """A number that at least k of the numbers reach, and few more, so that most need no further look.

    Shapes: numbers (any,), at least k from first to last; lanes (LANES,). Writes: lanes, unless k is larger.
    """
    bar = lanes.dtype.type(-np.inf)
    if k <= LANES:
        find_lane_maxima(numbers, first, last, lanes)
        kth = kth_of_lanes(lanes, k)
        bar = kth if kth > -1.0 else bar  # lanes know nothing of smaller numbers
    return bar


@step
def kth_largest(numbers, size, k):
    """The k-th largest of the first `size` numbers, which are put in another order (Hoare's selection)."""
    low, high, wanted = 0, size - 1, k - 1
    while low < high:
        pivot = numbers[(low + high) // 2]
        left, right = low, high
        while left <= right:
            while numbers[left] > pivot:
                left += 1
            while numbers[right] < pivot:
                right -= 1
            if left <= right:
                numbers[left], numbers[right] = numbers[right], numbers[left]
                left += 1
                right -= 1
        if wanted <= right:
            high = right
        elif wanted >= left:
            low = left
        else:
            break
    return numbers[wanted]
