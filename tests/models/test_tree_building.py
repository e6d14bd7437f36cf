"""Trees that are built: balanced, of the arity and leaf size asked for, similar labels together."""

import heapq

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import label_tree as reference

from tailwise.engines import Threads
from tailwise.kernels.node_training import Matrix
from tailwise.models.tree_building import (
    build_huffman_tree,
    build_k_means_tree,
    build_label_vectors,
    build_random_tree,
)

pytestmark = pytest.mark.boundscheck


def as_matrix(array):
    csr = sp.csr_array(np.asarray(array, dtype=np.float32))
    return Matrix(csr.indptr.astype(np.int64), csr.indices.astype(np.int32), csr.data)


def build(vectors, arity, leaf_size, seed=0, workers=1):
    with Threads(workers) as threads:
        return build_k_means_tree(as_matrix(vectors), arity, leaf_size, np.random.default_rng(seed), threads)


def check_shape(tree, m, arity, leaf_size):
    """Every label once, no node with too many children, lowest nodes of nearly one size."""
    assert tree.n_labels == m
    tree.check(m)
    sizes = []
    for node in range(tree.n_nodes):
        children = tree.labels[tree.first_children[node] : tree.first_children[node + 1]]
        if children.size and (children >= 0).all():
            assert children.size <= max(leaf_size, arity)
            sizes.append(children.size)
        elif children.size:
            assert children.size <= arity
    assert len(sizes) == 0 or max(sizes) - min(sizes) <= max(sizes) // 2 + 1


shapes = given(st.integers(1, 60), st.integers(2, 9), st.integers(1, 12), st.integers(0, 5))


@shapes
@settings(max_examples=60, deadline=None)
def test_shape_of_random_trees(m, arity, leaf_size, seed):
    check_shape(build_random_tree(m, arity, leaf_size, np.random.default_rng(seed)), m, arity, leaf_size)


@shapes
@settings(max_examples=60, deadline=None)
def test_shape_of_k_means_trees(m, arity, leaf_size, seed):
    vectors = np.random.default_rng(seed).random((m, 7))
    check_shape(build(vectors, arity, leaf_size, seed), m, arity, leaf_size)


def test_levels_are_as_few_as_the_arity_allows():
    assert [level.size for level in build_random_tree(256, 4, 16, np.random.default_rng(0)).levels] == [1, 4, 16, 256]
    assert [level.size for level in build_random_tree(100, 16, 128, np.random.default_rng(0)).levels] == [1, 100]


@pytest.mark.parametrize("seed", range(5))
def test_similar_labels_stand_together(seed):
    random = np.random.default_rng(seed)
    group = random.permutation(np.repeat(np.arange(4), 8))
    # Groups 0 and 1 have more in common than with 2 and 3.
    vectors = np.hstack([np.eye(4)[group], np.eye(2)[group // 2]]) + 0.05 * random.random((32, 6))
    tree = build(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), 2, 8, seed)
    for node in tree.levels[2]:
        assert len({group[j] for j in reference.labels_below(tree, node)}) == 1


def test_labels_without_positives_find_a_place():
    vectors = np.zeros((20, 3))
    vectors[:5] = np.eye(3)[[0, 0, 1, 1, 2]]
    check_shape(build(vectors, 2, 3), 20, 2, 3)


def test_the_same_tree_on_any_number_of_threads():
    vectors = np.random.default_rng(3).random((200, 10))
    one, two, four = (build(vectors, 3, 5, seed=1, workers=workers) for workers in (1, 2, 4))
    assert one.labels.tobytes() == two.labels.tobytes() == four.labels.tobytes()
    assert one.first_children.tobytes() == two.first_children.tobytes() == four.first_children.tobytes()
    assert build(vectors, 3, 5, seed=2).labels.tobytes() != one.labels.tobytes()


@pytest.mark.parametrize("workers", [1, 3])
def test_label_vectors_are_the_normed_means(workers):
    features, truth = reference.random_data(5)
    truth[:, 2] = 0
    by_label = sp.csc_array(truth)
    with Threads(workers) as threads:
        found = build_label_vectors(
            as_matrix(features), by_label.indptr.astype(np.int64), by_label.indices.astype(np.int32), threads
        )
    dense = sp.csr_array((found.values, found.columns, found.indptr), shape=(9, 12)).toarray()
    means = truth.T @ features
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    np.testing.assert_allclose(dense, means / np.where(lengths > 0, lengths, 1), atol=1e-6)
    assert (dense[2] == 0).all()


def huffman_cost(counts):
    """Least sum of count times depth of binary codes."""
    heap = list(counts)
    heapq.heapify(heap)
    cost = 0
    while len(heap) > 1:
        merged = heapq.heappop(heap) + heapq.heappop(heap)
        cost += merged
        heapq.heappush(heap, merged)
    return cost


@given(st.lists(st.integers(0, 50), min_size=2, max_size=20))
@settings(max_examples=50, deadline=None)
def test_huffman_trees_have_the_least_expected_depth(counts):
    tree = build_huffman_tree(np.array(counts), 2)
    parents = reference.parents_of(tree)
    depths = [len(reference.path_to(parents, leaf)) for leaf in tree.leaves]
    assert np.dot(counts, depths) == huffman_cost(counts)


@pytest.mark.parametrize("arity", [2, 3, 5])
@pytest.mark.parametrize("m", [1, 2, 3, 7, 30])
def test_huffman_trees_of_any_arity(arity, m):
    tree = build_huffman_tree(np.arange(m), arity)
    tree.check(m)
    assert tree.most_children <= arity
    sizes = np.diff(tree.first_children)[tree.inner_nodes]
    assert (sizes < arity).sum() <= 1
