"""Fitting of label trees from checked features and labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tailwise.models.plt_search import FittedTree
from tailwise.models.tree import Tree
from tailwise.models.tree_building import (
    build_huffman_tree,
    build_k_means_tree,
    build_label_vectors,
    build_random_tree,
)
from tailwise.models.tree_training import TrainingOptions, find_reached, train_nodes
from tailwise.progress import track

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import scipy.sparse as sp

    from tailwise.engines import Threads
    from tailwise.kernels.node_training import Matrix
    from tailwise.models.label_tree import LabelTree

DEFAULT_COSTS = {"logistic": 10.0, "squared-hinge": 1.0}
DEFAULT_THRESHOLDS = {"logistic": 0.2, "squared-hinge": 0.1}


def fit_trees(
    estimator: LabelTree, matrix: Matrix, labels: sp.csr_array, seed: int, threads: Threads
) -> list[FittedTree]:
    """Build and train the trees of an estimator, each with its own seed."""
    rows = np.repeat(np.arange(labels.shape[0]), np.diff(labels.indptr))
    trees = _build_trees(estimator, matrix, labels, seed, threads)
    fitted = []
    for number, tree in enumerate(trees):
        reached = find_reached(tree, rows, labels.indices, labels.shape[0])
        options = _training_options(estimator, seed + number)
        watch = _progress_bar(f"tree {number + 1} of {len(trees)}", disable=not estimator.progress)
        weights = train_nodes(matrix, estimator.n_features_in_, tree, reached, options, threads, watch)
        fitted.append(FittedTree(tree, weights, options.link))
    return fitted


def _build_trees(estimator: LabelTree, matrix: Matrix, labels: sp.csr_array, seed: int, threads: Threads) -> list[Tree]:
    m, shape = labels.shape[1], (estimator.arity, estimator.leaf_size)
    if not isinstance(estimator.tree, str):
        return [Tree.from_parents(estimator.tree, m)]
    if estimator.tree == "huffman":
        return [build_huffman_tree(np.bincount(labels.indices, minlength=m), estimator.arity)]
    randoms = [np.random.default_rng([seed, number]) for number in range(estimator.n_trees)]
    if estimator.tree == "random":
        return [build_random_tree(m, *shape, random) for random in randoms]
    by_label = labels.tocsc()
    vectors = build_label_vectors(matrix, by_label.indptr.astype(np.int64), by_label.indices, threads)
    return [build_k_means_tree(vectors, *shape, random, threads) for random in randoms]


def _training_options(estimator: LabelTree, seed: int) -> TrainingOptions:
    return TrainingOptions(
        estimator.loss,
        DEFAULT_COSTS[estimator.loss] if estimator.C is None else float(estimator.C),
        float(estimator.positive_weight),
        DEFAULT_THRESHOLDS[estimator.loss] if estimator.threshold is None else float(estimator.threshold),
        float(estimator.tolerance),
        int(estimator.max_epochs),
        seed,
    )


def _progress_bar(title: str, *, disable: bool) -> Callable[[Iterable[int]], Iterable[int]]:
    def watch(numbers: Iterable[int]) -> Iterable[int]:
        return track(numbers, title=title, unit="jobs", leave=False, shown=not disable)

    return watch
