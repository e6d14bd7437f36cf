"""Probabilities of given labels: only the nodes on the way to them, and their siblings, are evaluated."""

from typing import NamedTuple

import numpy as np

from tailwise.kernels.best_first import NO_LABEL, ROOT, probability_of, score_row
from tailwise.kernels.compiling import bundle, kernel, step


@bundle
class Known(NamedTuple):
    """The nodes whose probability is known for the instance at hand."""

    probabilities: np.ndarray  # float64 (nodes,)
    instances: np.ndarray  # int64 (nodes,): the instance for which it is known, -1 for none
    path: np.ndarray  # int64 (levels,): nodes still to be expanded


@step
def probability_at(model, parents, node, matrix, i, room, known):
    """Probability of a node for instance i, with the nodes above it and their siblings made known."""
    length = 0
    while known.instances[node] != i:
        node = parents[node]
        known.path[length] = node
        length += 1
    for x in range(length - 1, -1, -1):
        above = known.probabilities[known.path[x]]
        first, n_children = score_row(model, known.path[x], matrix, i, room)
        for c in range(n_children):
            known.probabilities[first + c] = above * probability_of(room.scores[c], model.link)
            known.instances[first + c] = i


@kernel
def find_probabilities(model, leaves, parents, matrix, labels, probabilities, room, known, first, last):
    """Probabilities of the labels listed for the instances from first to last.

    Shapes: leaves (m,), parents (nodes,); labels int32, probabilities float64 (n, any), a label -1 has none.
    Writes: rows first to last of probabilities, room, known. Assumes: known.instances is -1 for these instances.
    """
    for i in range(first, last):
        known.probabilities[ROOT], known.instances[ROOT] = 1.0, i
        for x in range(labels.shape[1]):
            probabilities[i, x] = 0.0
            if labels[i, x] != NO_LABEL:
                node = leaves[labels[i, x]]
                probability_at(model, parents, node, matrix, i, room, known)
                probabilities[i, x] = known.probabilities[node]
