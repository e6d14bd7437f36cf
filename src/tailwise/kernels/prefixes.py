"""No budget: labels decouple, and the best set of a label is a prefix of its instances in order of probability."""

import numpy as np

from tailwise.kernels.compiling import kernel, step
from tailwise.kernels.label_state import add_instance, gain_of

# Values closer than this (a share of them) are equal but for rounding.
TIE = 1e-12


@step
def find_best_prefix(values, order, objective, j):
    """Length of the best prefix of one label; ties: the shortest."""
    value, best, best_size = 0.0, 0.0, 0
    scale = 0.0
    for size in range(1, order.size + 1):
        e = np.float64(values[order[size - 1]])
        gain = gain_of(objective, j, e)
        add_instance(objective, j, e, 1.0)
        value += gain
        scale = max(scale, abs(value))
        if value > best + TIE * scale:
            best, best_size = value, size
    return best_size


@kernel
def select_best_prefixes(indptr, values, objective, is_selected, first, last):
    """For each label from first to last the number of most probable instances that maximises its utility.

    Shapes: indptr (m + 1,), values (nnz,): the candidates by label (CSC); is_selected (nnz,).
    Writes: is_selected, the totals of the objective. Assumes: these are of nothing selected; every psi grows with t.
    """
    for j in range(first, last):
        start, stop = indptr[j], indptr[j + 1]
        order = np.argsort(-values[start:stop], kind="mergesort")
        size = find_best_prefix(values[start:stop], order, objective, j)
        for x in range(size):
            is_selected[start + order[x]] = True
