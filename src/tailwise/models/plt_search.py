"""Exact search on the tree for the labels with the largest gain, for a batch of instances, in threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailwise.engines import Threads
from tailwise.kernels.best_first import Branches, Lines, Model, Room, search
from tailwise.kernels.heaps import Best, Waiting
from tailwise.kernels.node_training import Matrix
from tailwise.kernels.node_weights import Weights
from tailwise.kernels.tree_paths import Known, find_probabilities
from tailwise.models.job_sharing import share_jobs
from tailwise.models.tree import Tree

# Instances that a thread searches at a time: few enough for a quick Ctrl-C, many enough to make calls cheap.
CHUNK = 64


class Found(NamedTuple):
    """The best labels of each instance."""

    labels: NDArray  # int32 (n, k), best first, padded with -1
    probabilities: NDArray  # float64 (n, k)
    visited: NDArray  # int64 (n,): nodes whose classifier was evaluated


@dataclass(frozen=True)
class FittedTree:
    """A tree and the weights of its nodes."""

    tree: Tree
    weights: Weights
    link: int

    def model(self) -> Model:
        """Return the arguments of kernels."""
        return Model(Branches(self.tree.first_children, self.tree.labels), self.weights, self.link)


def search_tree(fitted: FittedTree, matrix: Matrix, k: int, lines: Lines, threads: Threads, beam: int = 0) -> Found:
    """Find the k labels with the largest gain for each row; exact if beam is 0."""
    n, beam = matrix.indptr.size - 1, min(beam, fitted.tree.n_nodes)
    found = Found(np.empty((n, k), np.int32), np.empty((n, k)), np.empty(n, np.int64))
    model = fitted.model()

    def work(first: int, room: Room) -> None:
        search(model, lines, matrix, k, beam, room, *found, first, min(n, first + CHUNK))

    share_jobs(threads, range(0, n, CHUNK), lambda: make_room(fitted.tree, matrix, k, beam), work)
    return found


def probabilities_of(fitted: FittedTree, matrix: Matrix, labels: NDArray, threads: Threads) -> NDArray:
    """Return the probability of each label listed, (n, any); 0 for -1."""
    n, tree, model = labels.shape[0], fitted.tree, fitted.model()
    probabilities = np.empty(labels.shape)

    def work(first: int, room: tuple[Room, Known]) -> None:
        find_probabilities(
            model, tree.leaves, tree.parents, matrix, labels, probabilities, *room, first, min(n, first + CHUNK)
        )

    def make_both() -> tuple[Room, Known]:
        known = Known(np.empty(tree.n_nodes), np.full(tree.n_nodes, -1), np.empty(len(tree.levels), np.int64))
        return make_room(tree, matrix, 1), known

    share_jobs(threads, range(0, n, CHUNK), make_both, work)
    return probabilities


def make_lines(tree: Tree, slopes: NDArray | None = None, offsets: NDArray | None = None) -> Lines:
    """Build the gain slope_j * eta + offset_j of each label; by default the probability itself."""
    slopes = np.ones(tree.n_labels) if slopes is None else np.ascontiguousarray(slopes, dtype=np.float64)
    offsets = np.zeros(tree.n_labels) if offsets is None else np.ascontiguousarray(offsets, dtype=np.float64)
    return Lines(slopes, offsets, tree.largest_below(slopes), tree.largest_below(offsets))


def make_room(tree: Tree, matrix: Matrix, k: int, beam: int = 0) -> Room:
    """Allocate working memory for one thread."""
    n_waiting = tree.inner_nodes.size + beam + 1

    def best(size: int) -> Best:
        return Best(np.empty(size), np.empty(size, np.int32), np.empty(size))

    waiting = Waiting(np.empty(n_waiting), np.empty(n_waiting, np.int32), np.empty(n_waiting))
    found = np.empty((int(np.diff(matrix.indptr).max(initial=0)), 2), np.int64)
    return Room(best(k), waiting, best(max(1, beam)), np.empty(tree.most_children, np.float32), found)
