"""No budget: labels decouple, and the best set of a label is a prefix of its instances in order of probability."""

import numpy as np

from tailwise.kernels.compiling import kernel, step
from tailwise.kernels.label_state import add_instance, gain_of

# Values closer than this (a share of them) are equal except for rounding.
TIE = 1e-12


@step
def find_best_prefix(values, order, terms, state, j):
    """Length of the best prefix of one label; ties: the shortest."""
    value, best, best_size = 0.0, 0.0, 0
    scale = 0.0
    for size in range(1, order.size + 1):
        e = np.float64(values[order[size - 1]])
        gain = gain_of(terms, state, j, e)
        add_instance(terms, state, j, e, 1.0)
        value += gain
        scale = max(scale, abs(value))
        if value > best + TIE * scale:
            best, best_size = value, size
    return best_size


@kernel
def select_best_prefixes(columns, terms, state, is_selected, first, last):
    """For each label from first to last the number of most probable instances that maximises its utility.

    Shapes: is_selected (nnz,), by columns. Writes: is_selected; the state, as if the best sets were all tried.
    Assumes: it is of nothing selected; every psi grows with t.
    """
    for j in range(first, last):
        start = columns.indptr[j]
        values = columns.values[start : columns.indptr[j + 1]]
        order = np.argsort(-values, kind="mergesort")
        size = find_best_prefix(values, order, terms, state, j)
        for x in range(size):
            is_selected[start + order[x]] = True
