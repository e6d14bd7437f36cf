"""Label vectors, and their balanced split in two by spherical k-means."""

from typing import NamedTuple

import numpy as np

from tailwise.kernels.compiling import bundle, kernel, step
from tailwise.kernels.node_training import Matrix
from tailwise.kernels.top_k import kth_largest

NEITHER, LEFT, RIGHT = -1, 0, 1
# The split is good enough when a round raises the mean similarity to the own centre by less.
LEAST_GAIN = 1e-4


@bundle
class Clusters(NamedTuple):
    """Two clusters while they are found; `sums` is all zero between calls."""

    sums: np.ndarray  # float32 (features, 2): sums of the members' vectors
    similarities: np.ndarray  # float32 (labels, 2): dot products with the two sums
    side: np.ndarray  # int8 (labels,)


@kernel
def sum_positives(matrix, indptr, positives, first, last, sums, is_touched):
    """The vectors of the labels from first to last: the sum of their positives' rows, scaled to length 1.

    Shapes: indptr (m + 1,), positives (any,), the instances of each label; sums float32, is_touched bool (features,).
    Returns: the vectors as CSR with one row a label. Assumes: sums and is_touched are all zero; leaves them so.
    """
    size = 0
    for x in range(indptr[first], indptr[last]):
        size += matrix.indptr[positives[x] + 1] - matrix.indptr[positives[x]]
    pointers = np.zeros(last - first + 1, np.int64)
    columns, values = np.empty(size, np.int32), np.empty(size, np.float32)
    end = 0
    for j in range(first, last):
        begin = end
        for x in range(indptr[j], indptr[j + 1]):
            for y in range(matrix.indptr[positives[x]], matrix.indptr[positives[x] + 1]):
                f = matrix.columns[y]
                if not is_touched[f]:
                    is_touched[f] = True
                    columns[end] = f
                    end += 1
                sums[f] += matrix.values[y]
        squares = 0.0
        for y in range(begin, end):
            squares += np.float64(sums[columns[y]]) ** 2
        scale = 1.0 / np.sqrt(squares) if squares > 0.0 else 0.0
        for y in range(begin, end):
            f = columns[y]
            values[y] = sums[f] * scale
            sums[f] = 0.0
            is_touched[f] = False
        pointers[j - first + 1] = end
    return Matrix(pointers, columns[:end].copy(), values[:end].copy())


@step
def add_vector(vectors, j, sums, side, sign):
    for x in range(vectors.indptr[j], vectors.indptr[j + 1]):
        sums[vectors.columns[x], side] += sign * vectors.values[x]


@step
def compare(vectors, labels, clusters):
    """Dot products of all vectors with both sums."""
    for r in range(labels.size):
        left, right = np.float32(0), np.float32(0)
        for x in range(vectors.indptr[labels[r]], vectors.indptr[labels[r] + 1]):
            f = vectors.columns[x]
            left += vectors.values[x] * clusters.sums[f, LEFT]
            right += vectors.values[x] * clusters.sums[f, RIGHT]
        clusters.similarities[r, LEFT], clusters.similarities[r, RIGHT] = left, right


@step
def measure(labels, clusters, lengths):
    """Lengths of the two sums, from what their members' products with them add up to; returns the sum of both."""
    squares_left, squares_right = 0.0, 0.0
    for r in range(labels.size):
        if clusters.side[r] == LEFT:
            squares_left += clusters.similarities[r, LEFT]
        elif clusters.side[r] == RIGHT:
            squares_right += clusters.similarities[r, RIGHT]
    lengths[LEFT], lengths[RIGHT] = np.sqrt(max(squares_left, 1e-30)), np.sqrt(max(squares_right, 1e-30))
    return lengths[LEFT] + lengths[RIGHT]


@step
def assign(vectors, labels, n_left, clusters, lengths, preferences, spare):
    """Give the n_left labels that prefer the left most to the left, the others to the right."""
    n = labels.size
    for r in range(n):
        similarities = clusters.similarities[r]
        preferences[r] = similarities[LEFT] / lengths[LEFT] - similarities[RIGHT] / lengths[RIGHT]
        spare[r] = preferences[r]
    bar = kth_largest(spare, n, n_left)
    n_at_bar = n_left
    for r in range(n):
        n_at_bar -= preferences[r] > bar
    for r in range(n):
        goes_left = preferences[r] > bar
        if preferences[r] == bar and n_at_bar > 0:
            goes_left = True
            n_at_bar -= 1
        side = LEFT if goes_left else RIGHT
        if side != clusters.side[r]:
            add_vector(vectors, labels[r], clusters.sums, side, np.float32(1))
            if clusters.side[r] != NEITHER:
                add_vector(vectors, labels[r], clusters.sums, 1 - side, np.float32(-1))
            clusters.side[r] = side


@step
def find_least_similar(vectors, labels, candidates, sums, pair):
    """Of some labels, given by their positions, the two that are least similar."""
    least = np.inf
    for first in range(candidates.size):
        a = labels[candidates[first]]
        add_vector(vectors, a, sums, LEFT, np.float32(1))
        for second in range(first + 1, candidates.size):
            b = labels[candidates[second]]
            similarity = 0.0
            for x in range(vectors.indptr[b], vectors.indptr[b + 1]):
                similarity += vectors.values[x] * sums[vectors.columns[x], LEFT]
            if similarity < least:
                least = similarity
                pair[0], pair[1] = a, b
        add_vector(vectors, a, sums, LEFT, np.float32(-1))


@kernel
def split_labels(vectors, labels, n_left, candidates, sums, max_rounds):
    """Reorder labels so that the first n_left of them are one cluster and the rest another.

    Shapes: labels int32 (n,); candidates (at least 2,), positions of labels that the clusters may start from; sums
    float32 (features, 2). Returns: the labels in their new order, each side in the order they had. Assumes:
    0 < n_left < n, and sums all zero; leaves it so.
    """
    n = labels.size
    clusters = Clusters(sums, np.empty((n, 2), np.float32), np.full(n, NEITHER, np.int8))
    preferences, spare, lengths = np.empty(n, np.float32), np.empty(n, np.float32), np.ones(2)
    pair = np.zeros(2, np.int32)
    find_least_similar(vectors, labels, candidates, sums, pair)
    for side in range(2):
        add_vector(vectors, pair[side], sums, side, np.float32(1))
    last = -np.inf
    for number in range(max_rounds):
        compare(vectors, labels, clusters)
        if number == 0:
            for side in range(2):
                add_vector(vectors, pair[side], sums, side, np.float32(-1))
        else:
            value = measure(labels, clusters, lengths)
            if value - last < LEAST_GAIN * n:
                break
            last = value
        assign(vectors, labels, n_left, clusters, lengths, preferences, spare)
    ordered, left, right = np.empty_like(labels), 0, n_left
    for r in range(n):
        for x in range(vectors.indptr[labels[r]], vectors.indptr[labels[r] + 1]):
            sums[vectors.columns[x], LEFT] = sums[vectors.columns[x], RIGHT] = 0.0
        if clusters.side[r] == LEFT:
            ordered[left] = labels[r]
            left += 1
        else:
            ordered[right] = labels[r]
            right += 1
    return ordered
