"""Moves without gaps, for messages: the labels that rows leave and take, one after another."""

import numpy as np

from tailwise.kernels.compiling import kernel


@kernel
def pack_labels(moves, rows, n_labels):
    """Labels and probabilities of what some rows of a buffer leave and take.

    Shapes: rows int64; both results (n_labels,). Reads: moves. Assumes: moves.counts of the rows add up to n_labels.
    """
    labels, values, x = np.empty(n_labels, np.int32), np.empty(n_labels), 0
    for r in rows:
        for side in range(2):
            for c in range(moves.counts[r, side]):
                labels[x], values[x] = moves.labels[r, side, c], moves.values[r, side, c]
                x += 1
    return labels, values


@kernel
def unpack_labels(moves, rows, labels, values):
    """Write the packed labels and probabilities of some rows to a buffer.

    Shapes: rows int64; labels int32, values float64, both as long as moves.counts of the rows add up to. Reads:
    moves.counts. Writes: moves.labels, moves.values.
    """
    x = 0
    for r in rows:
        for side in range(2):
            for c in range(moves.counts[r, side]):
                moves.labels[r, side, c], moves.values[r, side, c] = labels[x], values[x]
                x += 1
