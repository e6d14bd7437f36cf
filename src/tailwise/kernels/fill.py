"""After the selection: labels for the slots that no candidate filled."""

import heapq

import numpy as np

from tailwise.kernels.compiling import kernel
from tailwise.kernels.label_state import add_instance, gain_of, refresh_line
from tailwise.kernels.rows import is_excluded


@kernel
def fill_least_loss(terms, state, labels, budgets, excluded):
    """Fill empty slots with labels that are no candidates of the row (probability 0), the least loss first.

    Shapes: labels (n, k), -1 for an empty slot; budgets (n,). Writes: labels, state. Slots stay empty where all other
    labels are excluded. Assumes: every row with an empty slot has taken all its candidates; budgets at most m.
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
            j = -1
            while j < 0 and len(losses) > 0:
                loss, j = heapq.heappop(losses)
                if np.any(labels[i, :first_empty] == j) or is_excluded(excluded, i, j):
                    set_aside.append((loss, j))
                    j = -1
            if j < 0:
                break
            labels[i, c] = j
            add_instance(terms, state, j, 0.0, 1.0)
            refresh_line(terms, state, j)
            set_aside.append((-gain_of(terms, state, j, 0.0), j))
        for entry in set_aside:
            heapq.heappush(losses, entry)
