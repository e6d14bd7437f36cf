"""No budget: labels decouple, and the best set of a label is a prefix of its instances in order of probability."""

import numpy as np

from tailwise.kernels.compiling import kernel, step
from tailwise.kernels.objective import FAILURE, Q, T, value_of

# Values closer than this (a share of them) are equal but for rounding.
TIE = 1e-12


@step
def find_best_prefix(values, order, objective, j):
    """Length of the best prefix of one label; ties: the shortest."""
    totals = objective.totals
    totals[j, T] = 0.0
    totals[j, Q] = 0.0
    totals[j, FAILURE] = 1.0
    best, best_size = value_of(objective, j), 0
    for size in range(1, order.size + 1):
        e = np.float64(values[order[size - 1]])
        totals[j, T] += e
        totals[j, Q] += 1.0
        totals[j, FAILURE] *= 1.0 - e
        value = value_of(objective, j)
        if value > best + TIE * abs(best):
            best, best_size = value, size
    return best_size


@kernel
def select_best_prefixes(indptr, values, objective, is_selected, first, last):
    """For each label from first to last the number of most probable instances that maximises its utility.

    Shapes: indptr (m + 1,), values (nnz,): the candidates by label (CSC); is_selected (nnz,).
    Writes: is_selected; uses objective.totals as scratch. Assumes: every psi grows with t.
    """
    for j in range(first, last):
        start, stop = indptr[j], indptr[j + 1]
        order = np.argsort(-values[start:stop], kind="mergesort")
        size = find_best_prefix(values[start:stop], order, objective, j)
        for x in range(size):
            is_selected[start + order[x]] = True
