"""Exact search over several trees whose probabilities are averaged."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tailwise.engines import Threads
from tailwise.kernels.node_training import Matrix
from tailwise.models.plt_search import FittedTree, Found, make_lines, probabilities_of, search_tree


def search_trees(
    trees: Sequence[FittedTree],
    matrix: Matrix,
    k: int,
    threads: Threads,
    *,
    slopes: NDArray | None = None,
    offsets: NDArray | None = None,
    beam: int = 0,
) -> Found:
    r"""Find the k labels with the largest gain at the mean probability of the trees.

    The gain is linear in the probability, so the gain at the mean is the mean of the trees' gains. A label that is not
    among the best c of any tree gains at most the mean of their c-th best gains. Each tree is therefore searched for
    its best c labels; if the k-th best of all labels found exceeds that bound, the result is proved, otherwise c is
    doubled. With a beam, only the labels found first are considered.
    """
    if len(trees) == 1:
        return search_tree(trees[0], matrix, k, make_lines(trees[0].tree, slopes, offsets), threads, beam)
    n, m = matrix.indptr.size - 1, trees[0].tree.n_labels
    slopes = np.ones(m) if slopes is None else slopes
    offsets = np.zeros(m) if offsets is None else offsets
    best = Found(np.full((n, k), -1, np.int32), np.zeros((n, k)), np.zeros(n, np.int64))
    rows, c = np.arange(n), k
    while rows.size:
        part = _take_rows(matrix, rows)
        found, bounds = _ask_trees(trees, part, c, threads, slopes, offsets, beam)
        gains = _gains(found, slopes, offsets)
        order = np.lexsort((found.labels, -gains))[:, :k]
        for whole, named in zip(best[:2], found[:2], strict=True):
            whole[rows] = np.take_along_axis(named, order, axis=1)
        best.visited[rows] += found.visited
        is_proved = np.take_along_axis(gains, order[:, -1:], axis=1)[:, 0] > bounds
        rows = rows[:0] if c == m or beam else rows[~is_proved]
        c = min(2 * c, m)
    return best


def _ask_trees(
    trees: Sequence[FittedTree],
    matrix: Matrix,
    c: int,
    threads: Threads,
    slopes: NDArray,
    offsets: NDArray,
    beam: int,
) -> tuple[Found, NDArray]:
    """Return all labels among the best c of any tree, with their mean probability, and a bound for the others."""
    per_tree, bounds = [], np.zeros(matrix.indptr.size - 1)
    for fitted in trees:
        found = search_tree(fitted, matrix, c, make_lines(fitted.tree, slopes, offsets), threads, beam)
        per_tree.append(found)
        bounds += _gains(found, slopes, offsets)[:, -1] / len(trees)
    labels = np.sort(np.concatenate([found.labels for found in per_tree], axis=1), axis=1)
    labels[:, 1:][labels[:, 1:] == labels[:, :-1]] = -1
    means = np.mean([probabilities_of(fitted, matrix, labels, threads) for fitted in trees], axis=0)
    return Found(labels, means, np.sum([found.visited for found in per_tree], axis=0)), bounds


def _gains(found: Found, slopes: NDArray, offsets: NDArray) -> NDArray:
    """Return the gains of the labels found, minus infinity for padding."""
    gains = slopes[found.labels] * found.probabilities + offsets[found.labels]
    return np.where(found.labels >= 0, gains, -np.inf)


def _take_rows(matrix: Matrix, rows: NDArray) -> Matrix:
    """Return some rows of a matrix."""
    if rows.size == matrix.indptr.size - 1:
        return matrix
    sizes = np.diff(matrix.indptr)[rows]
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    entries = np.repeat(matrix.indptr[rows] - indptr[:-1], sizes) + np.arange(indptr[-1])
    return Matrix(indptr, matrix.columns[entries], matrix.values[entries])
