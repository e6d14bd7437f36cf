"""Construction of label trees: balanced k-means, random, Huffman."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailwise.engines import Threads
from tailwise.kernels.clustering import split_labels, sum_positives
from tailwise.kernels.node_training import Matrix
from tailwise.models.job_sharing import share_jobs
from tailwise.models.tree import NO_NODE, Tree

MOST_ROUNDS = 20
# Two clusters start from the two least similar labels among this number.
CANDIDATES = 8
# Takes groups of labels with the size of the left part of each, and returns the two parts of each.
Splitter = Callable[[list[tuple[Any, int]]], list[tuple[Any, Any]]]


def build_k_means_tree(
    vectors: Matrix, arity: int, leaf_size: int, random: np.random.Generator, threads: Threads
) -> Tree:
    r"""Build a balanced tree in which labels with similar vectors are close together.

    Groups are split in two repeatedly, by spherical 2-means with given sizes, which maximises
    :math:`\lVert \sum_{j \in L} v_j \rVert + \lVert \sum_{j \in R} v_j \rVert`, the sum of the cosines to the centres.
    Groups of one level differ by at most one label in size. Vectors have length 1, or 0 for labels without positives.
    """
    n_features = int(vectors.columns.max(initial=-1)) + 1

    def split_in_two(groups: list[tuple[NDArray, int]]) -> list[tuple[NDArray, NDArray]]:
        jobs = [
            (labels, n_left, random.choice(labels.size, min(CANDIDATES, labels.size), replace=False))
            for labels, n_left in groups
        ]

        def split(job: tuple[NDArray, int, NDArray], sums: NDArray) -> tuple[NDArray, NDArray]:
            labels, n_left, candidates = job
            ordered = split_labels(vectors, labels, n_left, candidates, sums, MOST_ROUNDS)
            return ordered[:n_left], ordered[n_left:]

        return share_jobs(threads, jobs, lambda: np.zeros((n_features, 2), np.float32), split)

    return _build_balanced(vectors.indptr.size - 1, arity, leaf_size, split_in_two)


def build_random_tree(n_labels: int, arity: int, leaf_size: int, random: np.random.Generator) -> Tree:
    """Build a tree of the same shape as the k-means tree, with the labels in random order."""
    order = random.permutation(n_labels).astype(np.int32)
    return _build_balanced(
        n_labels, arity, leaf_size, lambda groups: [(labels[:n], labels[n:]) for labels, n in groups], order
    )


def build_huffman_tree(counts: NDArray, arity: int) -> Tree:
    """Build the tree of least expected depth: the `arity` rarest nodes get a common parent until one node is left."""
    m = counts.size
    parents = np.full(2 * m + 1, NO_NODE)
    heap = [(int(count), j) for j, count in enumerate(counts)]
    heapq.heapify(heap)
    n_nodes = m
    # The first parent takes fewer children, so that all others are full.
    n_taken = (m - 2) % (arity - 1) + 2 if m > 1 else 1
    while len(heap) > 1 or n_nodes == m:
        total = 0
        for _ in range(min(n_taken, len(heap))):
            count, node = heapq.heappop(heap)
            parents[node] = n_nodes
            total += count
        heapq.heappush(heap, (total, n_nodes))
        n_nodes += 1
        n_taken = arity
    return Tree.from_parents(parents[:n_nodes], m)


def build_label_vectors(matrix: Matrix, indptr: NDArray, positives: NDArray, threads: Threads) -> Matrix:
    """Compute the mean features of the positives of each label, scaled to length 1."""
    n_features = int(matrix.columns.max(initial=-1)) + 1
    n_labels = indptr.size - 1
    parts = np.searchsorted(indptr, np.linspace(0, indptr[-1], 4 * threads.workers + 1)[1:-1])
    edges = np.unique(np.concatenate([[0], parts, [n_labels]]))

    def sum_part(edge: tuple[int, int], room: tuple[NDArray, NDArray]) -> Matrix:
        return sum_positives(matrix, indptr, positives, *edge, *room)

    blocks = share_jobs(
        threads,
        list(pairwise(edges)),
        lambda: (np.zeros(n_features, np.float32), np.zeros(n_features, np.bool_)),
        sum_part,
    )
    ends = np.cumsum([0] + [block.columns.size for block in blocks])
    pointers = [block.indptr[1:] + start for block, start in zip(blocks, ends[:-1], strict=True)]
    return Matrix(
        np.concatenate([[0], *pointers]),
        np.concatenate([block.columns for block in blocks]),
        np.concatenate([block.values for block in blocks]),
    )


def _build_balanced(
    n_labels: int, arity: int, leaf_size: int, split_in_two: Splitter, order: NDArray | None = None
) -> Tree:
    """Split all groups of a level into the same number of parts, level by level; a single label becomes a leaf."""
    groups = [np.arange(n_labels, dtype=np.int32) if order is None else order]
    numbers = np.array([n_labels])  # node numbers of the groups; inner nodes follow the labels
    inner = [NO_NODE]  # parents of the inner nodes
    of_labels = np.full(n_labels, n_labels)
    for n_parts in _parts_of_levels(n_labels, arity, leaf_size):
        groups, counts = _split_all(groups, n_parts, split_in_two)
        above = np.repeat(numbers, counts)
        is_lone = np.array([labels.size == 1 for labels in groups])
        numbers = n_labels + len(inner) + np.arange((~is_lone).sum())
        inner += above[~is_lone].tolist()
        for group, parent in zip(groups, above, strict=True):
            of_labels[group] = parent
        groups = [labels for labels in groups if labels.size > 1]
    for group, number in zip(groups, numbers, strict=True):
        of_labels[group] = number
    return Tree.from_parents(np.concatenate([of_labels, inner]), n_labels)


def _parts_of_levels(n_labels: int, arity: int, leaf_size: int) -> list[int]:
    """Return the number of parts of a group for each level: as few levels as the arity allows, evenly split."""
    n_groups = math.ceil(n_labels / leaf_size)
    n_levels = 0
    while arity**n_levels < n_groups:
        n_levels += 1
    parts: list[int] = []
    for level in range(n_levels):
        left = math.ceil(n_groups / math.prod(parts))
        n_parts = 1
        while n_parts ** (n_levels - level) < left:
            n_parts += 1
        parts.append(n_parts)
    return parts


def _split_all(groups: list[NDArray], n_parts: int, split_in_two: Splitter) -> tuple[list[NDArray], list[int]]:
    """Split every group by repeated halving into n_parts, or its number of labels; return parts and their numbers.

    Parts of one group differ by at most one label in size.
    """
    counts = [min(n_parts, labels.size) for labels in groups]
    pieces = list(zip(groups, counts, strict=True))
    while any(n > 1 for _, n in pieces):
        jobs = [(labels, round(labels.size * (n // 2) / n)) for labels, n in pieces if n > 1]
        halves = iter(split_in_two(jobs))
        split: list[tuple[NDArray, int]] = []
        for labels, n in pieces:
            if n == 1:
                split.append((labels, 1))
            else:
                left, right = next(halves)
                split += [(left, n // 2), (right, n - n // 2)]
        pieces = split
    return [labels for labels, _ in pieces], counts
