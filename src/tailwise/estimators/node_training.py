"""From features, labels and a tree to the weights of its nodes, parent by parent, in threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tailwise.estimators.sharing import share_jobs
from tailwise.estimators.weights import Packed, concatenate
from tailwise.kernels import node_training as kernels
from tailwise.kernels.lanes import LANES
from tailwise.kernels.node_training import Matrix, Scratch, Settings
from tailwise.kernels.node_weights import Weights, pack_children
from tailwise.kernels.tree_search import EXPONENTIAL, LOGISTIC

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tailwise.engines import Threads
    from tailwise.estimators.tree import Tree

__all__ = ["Reached", "TrainingOptions", "find_reached", "train_nodes"]


@dataclass(frozen=True)
class TrainingOptions:
    """What the classifier of a node minimises, how far, and what is kept of it."""

    loss: str = "logistic"
    cost: float = 1.0
    threshold: float = 0.1
    tolerance: float = 0.1
    max_epochs: int = 20
    seed: int = 0

    @property
    def link(self) -> int:
        return LOGISTIC if self.loss == "logistic" else EXPONENTIAL

    def settings(self) -> Settings:
        is_logistic = self.loss == "logistic"
        return Settings(is_logistic, np.float32(self.cost), np.float32(self.tolerance), self.max_epochs)


@dataclass(frozen=True)
class Reached:
    """For each node the instances with a label below it, ascending."""

    indptr: NDArray  # int64 (nodes + 1,)
    instances: NDArray  # int32
    n_instances: int

    def of(self, node: int) -> NDArray:
        return self.instances[self.indptr[node] : self.indptr[node + 1]]

    def training_instances(self, parent: int) -> NDArray:
        """The instances that the children of a node learn from; all of them below the root, also those without labels."""
        return np.arange(self.n_instances, dtype=np.int32) if parent == 0 else self.of(parent)


def find_reached(tree: Tree, rows: NDArray, labels: NDArray, n_instances: int) -> Reached:
    """The instances of each node, from pairs of an instance and a label that it has."""
    pairs = []
    pair = np.unique(tree.leaves[labels] * np.int64(n_instances) + rows)
    while pair.size:
        pairs.append(pair)
        node = tree.parents[pair // n_instances]
        pair = np.unique((node * n_instances + pair % n_instances)[node > 0])
    pairs = np.sort(np.concatenate(pairs)) if pairs else np.empty(0, np.int64)
    if len(tree.levels) > 2:
        pairs = _unique_sorted(pairs)  # where leaves stand at several levels, two of them may have led to one node
    indptr = np.searchsorted(pairs // n_instances, np.arange(tree.n_nodes + 1))
    return Reached(indptr, (pairs % n_instances).astype(np.int32), n_instances)


def train_nodes(
    matrix: Matrix, n_features: int, tree: Tree, reached: Reached, options: TrainingOptions, threads: Threads,
    done: Callable[[], object] = lambda: None,
) -> Weights:
    """Train the children of every inner node; the result does not depend on the threads.

    Parameters
    ----------
    done : callable
        Called after each parent.
    """
    parents = tree.inner_nodes
    n_children = np.diff(tree.first_children)[parents]
    n_reached = np.where(parents == 0, reached.n_instances, np.diff(reached.indptr)[parents])
    # The largest first, so that threads end at about the same time.
    order = np.argsort(-(n_reached * -(-n_children // LANES)), kind="stable")

    def make_room() -> Scratch:
        return Scratch(np.full(n_features, -1, np.int32), np.empty(reached.n_instances, np.int32))

    def train(parent: int, scratch: Scratch) -> Packed:
        return train_children(matrix, tree, reached, parent, options, scratch)

    shuffled = share_jobs(threads, [int(parent) for parent in parents[order]], make_room, train, done)
    packed: list[Packed] = [shuffled[x] for x in np.argsort(order)]
    return concatenate(packed, parents, tree.first_children)


def train_children(
    matrix: Matrix, tree: Tree, reached: Reached, parent: int, options: TrainingOptions, scratch: Scratch
) -> Packed:
    """Train the children of one node on the instances that reach it."""
    first, last = (int(node) for node in tree.first_children[parent : parent + 2])
    instances = reached.training_instances(parent)
    rows, norms, features = kernels.localise(matrix, instances, scratch)
    permutation = np.random.default_rng([options.seed, parent]).permutation(instances.size)
    tables = np.zeros((-(-(last - first) // LANES), features.size, LANES), np.float32)
    state = np.empty((instances.size, 3, LANES), np.float32)
    for block, table in enumerate(tables):
        begin = first + block * LANES
        end = min(last, begin + LANES)
        kernels.mark_positives(state, reached.indptr, reached.instances, begin, end, scratch.position_of)
        kernels.train_block(rows, norms, state, table, permutation, options.settings())
    biases = tables[:, kernels.BIAS_FEATURE].reshape(-1)[: last - first].copy()
    slots, children, values = pack_children(tables, features, last - first, np.float32(options.threshold))
    return Packed(slots, children, values, biases)


def _unique_sorted(numbers: NDArray) -> NDArray:
    return numbers[np.concatenate([[True], numbers[1:] != numbers[:-1]])] if numbers.size else numbers
