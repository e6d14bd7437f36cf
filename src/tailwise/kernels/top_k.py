"""Keeping the best: of a row, by gain, ties by the smaller label; of an array of numbers; of all rows by a line."""

import numpy as np

from tailwise.kernels.compiling import kernel, part, step


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


@part
def select_row(rows, slopes, offsets, budget, i, gains, chosen):
    labels, values = rows.labels, rows.values
    start = rows.indptr[i]
    size, bar = 0, -np.inf
    for x in range(start, rows.indptr[i + 1] if budget > 0 else start):
        j = labels[x] if slopes.size > 1 else 0
        gain = slopes[j] * values[x] + offsets[j]
        if gain > bar or size < budget:
            insert(gains, chosen, i, size, budget, gain, np.int32(x - start))
            size = min(size + 1, budget)
            bar = gains[budget - 1] if size == budget else -np.inf
    for c in range(budget, chosen.shape[1]):
        chosen[i, c] = -1


@step
def select_rows(rows, slopes, offsets, budgets, gains, chosen, first, last):
    for i in range(first, last):
        select_row(rows, slopes, offsets, budgets[i], i, gains, chosen)


@kernel
def select_by_line(rows, slopes, offsets, budgets, chosen, first, last):
    """For each instance from first to last the labels of largest slope_j * eta + offset_j.

    Shapes: slopes, offsets (m,), or (1,) for all labels alike; budgets (n,), at most the row's size; chosen (n, k).
    Writes: chosen, positions within the row, best first, -1 after the budget.
    """
    select_rows(rows, slopes, offsets, budgets, np.empty(chosen.shape[1]), chosen, first, last)
