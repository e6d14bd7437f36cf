"""Rows that come one after another: each takes its labels of largest gain by the totals so far, and is added to them.

For a row with probability e of label j, after rows with the totals t, q and p of that label, the gain is

    sum_f c_f w_fj (psi_f(t + e, q + 1, p + e, n) - psi_f(t, q, p + e, n)) + (a_j e + b_j) / n + c_j e prod (1 - eta)

where n counts this row, too, and the product runs over the rows that have the label. The terms are those of
kernels/label_state.py, the linear ones of a batch of one row.
"""

import math

import numpy as np

from tailwise.kernels.compiling import kernel, part, step
from tailwise.kernels.label_state import ADDRESS, PARAMETERS, STRIDE, coefficient_of
from tailwise.kernels.psi import call_formula
from tailwise.kernels.top_k import insert

# Columns of the counts. The first N_TOTALS are the state of the stream; PLACE is where a label stands in the row at
# hand, and means nothing between rows. A label has eight numbers, so that it is one cache line.
T, Q, P, FAILURE, LOG_FAILURE, PLACE = range(6)
N_TOTALS = 5
N_COLUMNS = 8


@step
def place_row(rows, i, smallest, counts):
    """Note where each label stands. False for a label or probability out of range, or a label that comes twice."""
    labels, values = rows.labels, rows.values
    first, last = rows.indptr[i], rows.indptr[i + 1]
    for x in range(first, last):
        j, e = labels[x], values[x]
        if not (0 <= j < counts.shape[0] and (e >= smallest or e == 0.0) and e <= 1.0):
            return False
        counts[j, PLACE] = x
    n_twice = 0
    for x in range(first, last):
        n_twice += counts[labels[x], PLACE] != x
    return n_twice == 0


@part
def change_of_formula(terms, f, j, counts, e, n):
    """What the row adds to formula f of label j, not yet multiplied by its coefficient."""
    parameters = terms.formulas[f, PARAMETERS] + terms.formulas[f, STRIDE] * j
    address, t, q, p = terms.formulas[f, ADDRESS], counts[j, T], counts[j, Q], counts[j, P] + e
    return call_formula(address, t + e, q + 1.0, p, n, parameters) - call_formula(address, t, q, p, n, parameters)


@part
def online_gain(terms, j, counts, e, n):
    gain = 0.0
    for f in range(terms.formulas.shape[0]):
        gain += coefficient_of(terms, f, j) * change_of_formula(terms, f, j, counts, e, n)
    if terms.linear.shape[0] > 0:
        gain += (terms.linear[j, 0] * e + terms.linear[j, 1]) / n
    if terms.coverage.size > 0:
        gain += terms.coverage[j] * counts[j, FAILURE] * e
    return gain


@step
def choose_labels(rows, i, terms, counts, n, gains, chosen):
    """The labels of largest gain, ties to the smaller label. False where a gain is not finite."""
    k, size = chosen.shape[1], 0
    for x in range(rows.indptr[i], rows.indptr[i + 1]):
        j = np.int64(rows.labels[x])
        gain = online_gain(terms, j, counts, np.float64(rows.values[x]), n)
        if not np.isfinite(gain):
            return False
        if size < k or gain >= gains[k - 1]:
            insert(gains, chosen, i, size, k, gain, np.int32(j))
            size = min(size + 1, k)
    for c in range(size, k):
        chosen[i, c] = -1
    return True


@step
def add_row(rows, i, counts, chosen):
    for x in range(rows.indptr[i], rows.indptr[i + 1]):
        counts[rows.labels[x], P] += rows.values[x]
    for c in range(chosen.shape[1]):
        j = chosen[i, c]
        if j >= 0:
            e = np.float64(rows.values[np.int64(counts[j, PLACE])])
            counts[j, T] += e
            counts[j, Q] += 1.0
            counts[j, FAILURE] *= 1.0 - e
            counts[j, LOG_FAILURE] += math.log1p(-e) if e < 1.0 else -np.inf


@kernel
def select_online(rows, terms, counts, n_seen, smallest, chosen):
    """Choose labels for each row by the totals so far, and add the row to these; gives the row that is refused, or -1.

    A row is refused where a label is out of range or comes twice, where a probability is neither 0 nor from smallest
    to 1, and where a gain is not finite. What came before it is added, it and what follows are not.

    Shapes: counts (m, N_COLUMNS); n_seen (1,); chosen (n, k).
    Reads: rows, whose labels need no order; terms. Writes: counts; n_seen, unless a row is refused; chosen, labels with
    the best gain first, -1 for none. Assumes: terms.linear (m, 2) of a batch of one row, or (0, 2).
    """
    gains = np.empty(chosen.shape[1])
    for i in range(chosen.shape[0]):
        if not place_row(rows, i, smallest, counts):
            return i
        if not choose_labels(rows, i, terms, counts, n_seen[0] + i + 1.0, gains, chosen):
            return i
        add_row(rows, i, counts, chosen)
    n_seen[0] += chosen.shape[0]
    return -1
