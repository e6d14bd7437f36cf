"""Closed form: where the gain of a label does not depend on other instances, each instance takes its k best."""

import numpy as np

from tailwise.kernels.compiling import kernel, part, step
from tailwise.kernels.top_k import insert


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
