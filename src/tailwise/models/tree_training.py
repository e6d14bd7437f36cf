"""Training of the node classifiers of a tree, parent by parent, in threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailwise.engines import Threads
from tailwise.kernels import node_training as kernels
from tailwise.kernels.best_first import LOGISTIC, SHIFT, STEEP, STEEPNESS
from tailwise.kernels.lanes import LANES
from tailwise.kernels.node_training import Matrix, Scratch, Settings
from tailwise.kernels.node_weights import Entries, Weights, keep_entries, pack_children
from tailwise.models.job_sharing import share_jobs
from tailwise.models.tree import Tree

# Child numbers take two bytes if they fit.
SMALL = np.iinfo(np.uint16).max


@dataclass(frozen=True)
class TrainingOptions:
    """Loss, stopping rule and pruning of node classifiers."""

    loss: str = "logistic"
    cost: float = 1.0
    positive_weight: float = 1.0
    threshold: float = 0.1
    tolerance: float = 0.1
    max_epochs: int = 20
    seed: int = 0

    @property
    def link(self) -> int:
        return LOGISTIC if self.loss == "logistic" else STEEP

    def settings(self) -> Settings:
        costs = np.float32(self.cost), np.float32(self.cost * self.positive_weight)
        return Settings(self.loss == "logistic", *costs, np.float32(self.tolerance), self.max_epochs)


@dataclass(frozen=True)
class Reached:
    """The instances with a label below each node, ascending."""

    indptr: NDArray  # int64 (nodes + 1,)
    instances: NDArray  # int32
    n_instances: int

    def of(self, node: int) -> NDArray:
        return self.instances[self.indptr[node] : self.indptr[node + 1]]

    def training_instances(self, parent: int) -> NDArray:
        """Return the instances that the children of a node are trained on; for the root, all instances."""
        return np.arange(self.n_instances, dtype=np.int32) if parent == 0 else self.of(parent)


def find_reached(tree: Tree, rows: NDArray, labels: NDArray, n_instances: int) -> Reached:
    """Find the instances of each node from pairs of an instance and one of its labels."""
    levels = []
    pair = np.unique(tree.leaves[labels] * np.int64(n_instances) + rows)
    while pair.size:
        levels.append(pair)
        node = tree.parents[pair // n_instances]
        pair = np.unique((node * n_instances + pair % n_instances)[node > 0])
    # If leaves are on several levels, paths from two of them may reach the same node.
    pairs = np.unique(np.concatenate([*levels, np.empty(0, np.int64)]))
    indptr = np.searchsorted(pairs // n_instances, np.arange(tree.n_nodes + 1))
    return Reached(indptr, (pairs % n_instances).astype(np.int32), n_instances)


def train_nodes(
    matrix: Matrix,
    n_features: int,
    tree: Tree,
    reached: Reached,
    options: TrainingOptions,
    threads: Threads,
    watch: Callable[[Iterable], Iterable] = iter,
) -> Weights:
    """Train the children of every inner node; the result does not depend on the number of threads."""
    parents = tree.inner_nodes
    jobs = _plan_jobs(tree, reached, threads.workers)

    def make_room() -> Scratch:
        return Scratch(np.full(n_features, -1, np.int32), np.empty(reached.n_instances, np.int32))

    def train(job: Job, scratch: Scratch) -> Packed | Trained:
        trained = train_blocks(matrix, tree, reached, job, options, scratch)
        return _pack([trained], tree, reached, job.parent, options) if job.is_whole else trained

    results: dict[int, list] = {}
    for job, result in zip(jobs, share_jobs(threads, jobs, make_room, train, watch), strict=True):
        results.setdefault(job.parent, []).append(result)
    packed = []
    for parent in parents:
        parts = results.pop(int(parent))
        is_packed = isinstance(parts[0], Packed)
        packed.append(parts[0] if is_packed else _pack(parts, tree, reached, int(parent), options))
    return _concatenate(packed, parents, tree.first_children)


class Job(NamedTuple):
    """A range of blocks, each of sixteen children, of one parent."""

    parent: int
    first_block: int
    last_block: int
    is_whole: bool


class Trained(NamedTuple):
    """The weights of some children of a parent."""

    features: NDArray  # int32: features of the instances that reach the parent; the first is the bias
    blocks: list[Entries]  # the weights kept, for each block of sixteen children
    biases: NDArray  # float32 (children,)


class Packed(NamedTuple):
    """The weights of the children of one parent."""

    slots: NDArray  # int32 (slots + 1, 2)
    children: NDArray  # (entries,)
    values: NDArray  # float32 (entries,)
    biases: NDArray  # float32 (children,)


def train_blocks(
    matrix: Matrix, tree: Tree, reached: Reached, job: Job, options: TrainingOptions, scratch: Scratch
) -> Trained:
    """Train some children of a parent, sixteen at a time, and keep only weights above the threshold."""
    first, last = (int(node) for node in tree.first_children[job.parent : job.parent + 2])
    instances = reached.training_instances(job.parent)
    rows, norms, features = kernels.localise(matrix, instances, scratch)
    permutation = np.random.default_rng([options.seed, job.parent]).permutation(instances.size)
    table = np.empty((features.size, LANES), np.float32)
    state = np.empty((instances.size, 3, LANES), np.float32)
    blocks, biases = [], []
    for begin in range(first + job.first_block * LANES, min(last, first + job.last_block * LANES), LANES):
        end = min(last, begin + LANES)
        table[:] = 0.0
        kernels.mark_positives(state, reached.indptr, reached.instances, begin, end, scratch.position_of)
        kernels.train_block(rows, norms, state, table, permutation, options.settings())
        table[:, np.flatnonzero(np.diff(reached.indptr[begin : end + 1]) == 0)] = 0.0
        biases.append(table[kernels.BIAS_FEATURE, : end - begin].copy())
        blocks.append(keep_entries(table, begin - first, end - begin, np.float32(options.threshold)))
    return Trained(features, blocks, np.concatenate(biases))


def _plan_jobs(tree: Tree, reached: Reached, n_workers: int) -> list[Job]:
    """Plan jobs, the largest first and split so that threads do not wait for one at the end."""
    parents = tree.inner_nodes
    n_blocks = -(-np.diff(tree.first_children)[parents] // LANES)
    n_reached = np.where(parents == 0, reached.n_instances, np.diff(reached.indptr)[parents])
    costs = n_reached * n_blocks
    largest = costs.sum() / (4 * n_workers)
    n_parts = np.minimum(n_blocks, np.where(n_workers > 1, np.ceil(costs / max(1, largest)), 1).astype(np.int64))
    jobs = []
    for x in np.argsort(-(costs // n_parts.clip(1)), kind="stable"):
        edges = np.linspace(0, n_blocks[x], max(1, n_parts[x]) + 1).astype(int)
        jobs += [Job(int(parents[x]), int(a), int(b), len(edges) == 2) for a, b in pairwise(edges)]
    return jobs


def _pack(parts: list[Trained], tree: Tree, reached: Reached, parent: int, options: TrainingOptions) -> Packed:
    """Build the table of a parent; a child without positives among n instances has probability 1 / (n + 2)."""
    first, last = tree.first_children[parent : parent + 2]
    biases = np.concatenate([part.biases for part in parts])
    unseen = np.diff(reached.indptr)[first:last] == 0
    biases[unseen] = score_of(1 / (reached.training_instances(parent).size + 2), options.link)
    blocks = [block for part in parts for block in part.blocks]
    entries = Entries(*(np.concatenate(arrays) for arrays in zip(*blocks, strict=True)))
    slots, children, values = pack_children(entries, parts[0].features)
    return Packed(slots, children, values, biases)


def _concatenate(packed: Sequence[Packed], parents: NDArray, first_children: NDArray) -> Weights:
    """Concatenate the tables of all parents, which are ascending."""
    n_nodes = first_children.size - 1
    n_slots, n_entries = np.zeros(n_nodes + 1, np.int64), np.zeros(n_nodes + 1, np.int64)
    n_slots[parents + 1] = [len(table.slots) for table in packed]
    n_entries[parents + 1] = [len(table.values) for table in packed]
    child_type = np.uint16 if np.diff(first_children).max() <= SMALL else np.int32
    return Weights(
        np.cumsum(n_slots),
        np.cumsum(n_entries),
        np.concatenate([table.slots for table in packed]),
        np.concatenate([table.children.astype(child_type) for table in packed]),
        np.concatenate([table.values for table in packed]),
        np.concatenate([np.zeros(1, np.float32), *(table.biases for table in packed)]),
    )


def score_of(probability: float, link: int) -> float:
    """Return the score of a probability below 1."""
    logit = math.log(probability / (1 - probability))
    return logit if link == LOGISTIC else (logit - SHIFT) / STEEPNESS
