"""Greedy selection on the tree: each instance takes its best labels, given what was selected before it."""

from typing import NamedTuple

import numpy as np

from tailwise.kernels.best_first import NO_LABEL, search_row
from tailwise.kernels.compiling import bundle, kernel, step
from tailwise.kernels.label_state import call_add_instance, call_refresh_line


@bundle
class Places(NamedTuple):
    """Where the labels and nodes stand in the tree."""

    leaves: np.ndarray  # int64 (m,): the node of each label
    parents: np.ndarray  # int64 (nodes,)


@step
def raise_line(model, lines, places, j):
    """Bring the bounds of the nodes above label j up to date with its line."""
    node = places.leaves[j]
    lines.node_slopes[node] = max(np.float64(lines.slopes[j]), 0.0)
    lines.node_offsets[node] = lines.offsets[j]
    node = places.parents[node]
    while node >= 0:
        slope, offset = 0.0, -np.inf
        for child in range(model.branches.first_children[node], model.branches.first_children[node + 1]):
            slope = max(slope, lines.node_slopes[child])
            offset = max(offset, lines.node_offsets[child])
        lines.node_slopes[node], lines.node_offsets[node] = slope, offset
        node = places.parents[node]


@kernel
def select_greedily(model, lines, terms, state, places, matrix, k, order, room, labels, probabilities, visited):
    """Visit the instances in this order; each takes the k labels of largest gain at the totals it meets.

    Shapes: order int64 (any,), rows of the matrix; labels int32, probabilities float64 (n, k), best first; visited
    int64 (n,). Writes: those rows, the state, the bounds in lines. Assumes: slopes and offsets of lines are those
    of the state, and agree with its totals.
    """
    for r in range(order.size):
        i = order[r]
        found, visited[i] = search_row(model, lines, terms, state, matrix, i, k, room)
        for x in range(k):
            labels[i, x] = room.best.items[x] if x < found else NO_LABEL
            probabilities[i, x] = room.best.probabilities[x] if x < found else 0.0
        for x in range(found):
            call_add_instance(terms, state, labels[i, x], probabilities[i, x], 1.0)
            call_refresh_line(terms, state, labels[i, x])
            raise_line(model, lines, places, labels[i, x])
