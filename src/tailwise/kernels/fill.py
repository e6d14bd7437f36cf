"""After the selection: the labels of a row in order of their gain, and slots that no candidate filled."""

import heapq

import numpy as np

from tailwise.kernels.compiling import kernel, step
from tailwise.kernels.label_state import add_instance, gain_of, own_gain_of, refresh_line
from tailwise.kernels.top_k import insert


@step
def sort_rows(rows, terms, state, labels, positions, gains, best):
    k = labels.shape[1]
    for i in range(labels.shape[0]):
        size = 0
        while size < k and labels[i, size] >= 0:
            x = positions[i, size]
            e = np.float64(rows.values[rows.indptr[i] + x]) if x >= 0 else 0.0
            gain = own_gain_of(terms, state, labels[i, size], e)
            insert(gains, best, 0, size, k, gain, labels[i, size])
            size += 1
        for c in range(size):
            labels[i, c] = best[0, c]


@kernel
def sort_by_gain(rows, terms, state, labels, positions):
    """Put the best gain of each row first; ties: the smaller label.

    Shapes: labels (n, k), -1 for none; positions (n, k), where they stand in the row, -1 for no candidate.
    Writes: labels.
    """
    k = labels.shape[1]
    sort_rows(rows, terms, state, labels, positions, np.empty(k), np.empty((1, k), np.int32))


@kernel
def fill_least_loss(terms, state, labels, budgets):
    """Fill empty slots with labels that are no candidates of the row (probability 0), the least loss first.

    Shapes: labels (n, k), -1 for an empty slot; budgets (n,). Writes: labels, state.
    Assumes: every row with an empty slot has taken all its candidates; budgets at most m.
    """
    m = state.counts.shape[0]
    losses = [(-gain_of(terms, state, j, 0.0), j) for j in range(m)]
    heapq.heapify(losses)
    for i in range(labels.shape[0]):
        first_empty = budgets[i]
        while first_empty > 0 and labels[i, first_empty - 1] < 0:
            first_empty -= 1
        set_aside = losses[:0]
        for c in range(first_empty, budgets[i]):
            loss, j = heapq.heappop(losses)
            while np.any(labels[i, :first_empty] == j):
                set_aside.append((loss, j))
                loss, j = heapq.heappop(losses)
            labels[i, c] = j
            add_instance(terms, state, j, 0.0, 1.0)
            refresh_line(terms, state, j)
            set_aside.append((-gain_of(terms, state, j, 0.0), j))
        for entry in set_aside:
            heapq.heappush(losses, entry)
