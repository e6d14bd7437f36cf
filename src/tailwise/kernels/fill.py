"""After the selection: labels for the slots that no candidate filled."""

import heapq

import numpy as np

from tailwise.kernels.compiling import kernel, step
from tailwise.kernels.label_state import add_instance, gain_of, refresh_line
from tailwise.kernels.rows import find_label, is_excluded
from tailwise.kernels.top_k import holds


@kernel
def fill_least_loss(rows, terms, state, labels, budgets, excluded):
    """Fill empty slots with other labels, the least loss first: candidates that were left out, or of probability 0.

    Shapes: labels (n, k), -1 for an empty slot; budgets (n,). Writes: labels, state. Slots stay empty where all other
    labels are excluded. Assumes: a row with an empty slot has left out no more candidates than it has optional labels;
    budgets at most m.
    """
    m = state.counts.shape[0]
    has_barred = excluded.is_barred.shape[0] > 0
    losses = [(-gain_of(terms, state, j, 0.0), j) for j in range(m) if not (has_barred and excluded.is_barred[j])]
    heapq.heapify(losses)
    for i in range(labels.shape[0]):
        first_empty = budgets[i]
        while first_empty > 0 and labels[i, first_empty - 1] < 0:
            first_empty -= 1
        set_aside = losses[:0]
        for c in range(first_empty, budgets[i]):
            j, eta = -1, 0.0
            while j < 0 and len(losses) > 0:
                loss, j = heapq.heappop(losses)
                loss_now = -gain_of(terms, state, j, 0.0)
                is_outdated = loss < loss_now or loss > loss_now  # then the heap has another entry for the label
                if not is_outdated:
                    set_aside.append((loss, j))
                if is_outdated or is_own(rows, i, j) or holds(labels, i, c, j) or is_excluded(excluded, i, j):
                    j = -1
            x = find_left_out(rows, terms, state, labels, c, i)
            if x >= 0 and (j < 0 or gain_of(terms, state, rows.labels[x], rows.values[x]) >= -loss):
                if j >= 0:
                    heapq.heappush(losses, set_aside.pop())
                j, eta = rows.labels[x], rows.values[x]
            if j < 0:
                break
            labels[i, c] = j
            add_instance(terms, state, j, eta, 1.0)
            refresh_line(terms, state, j)
            if x >= 0:
                heapq.heappush(losses, (-gain_of(terms, state, j, 0.0), j))
        for _, j in set_aside:
            heapq.heappush(losses, (-gain_of(terms, state, j, 0.0), j))


@step
def is_own(rows, i, j):
    """Whether label j is a candidate of row i, or an optional label of it."""
    x = find_label(rows.labels, rows.indptr[i], rows.indptr[i + 1], j)
    return x < rows.indptr[i + 1] and rows.labels[x] == j


@step
def find_left_out(rows, terms, state, labels, n_taken, i):
    """The position of the best candidate of row i that is not among its first labels, or -1 if all are."""
    best, best_gain = -1, -np.inf
    for x in range(rows.indptr[i], rows.indptr[i + 1]):
        gain = gain_of(terms, state, rows.labels[x], rows.values[x])
        if gain > best_gain and not holds(labels, i, n_taken, rows.labels[x]):
            best, best_gain = x, gain
    return best
