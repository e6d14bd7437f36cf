"""The structure of a tree, from parents that a user gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import label_tree as reference

from tailwise.errors import InputError
from tailwise.models import Tree


@st.composite
def random_parents(draw):
    """The parents of a random tree: labels first, inner nodes in any order, each with a child."""
    m, n_inner = draw(st.integers(1, 12)), draw(st.integers(1, 8))
    names = draw(st.permutations(range(m, m + n_inner)))
    parents = np.full(m + n_inner, -1)
    for x in range(1, n_inner):
        parents[names[x]] = names[draw(st.integers(0, x - 1))]
    childless = [node for node in range(m, m + n_inner) if node not in parents]
    if len(childless) > m:
        parents[childless[:-m] if m else childless] = parents[childless[0]]
    for j in range(m):
        parents[j] = childless[j] if j < len(childless) else names[draw(st.integers(0, n_inner - 1))]
    return parents, m


def has_children_everywhere(parents, m):
    return set(range(m, len(parents))) <= set(parents.tolist())


@given(random_parents())
@settings(max_examples=200, deadline=None)
def test_renumbering_keeps_the_family(drawn):
    parents, m = drawn
    if not has_children_everywhere(parents, m):
        return
    tree = Tree.from_parents(parents, m)
    assert tree.n_labels == m
    assert tree.n_nodes == len(parents)
    below = {frozenset(reference.labels_below(tree, node)) for node in range(tree.n_nodes)}
    assert {frozenset(labels_under(parents, m, node)) for node in range(len(parents))} == below
    assert tree.parents.tolist() == reference.parents_of(tree)
    assert tree.labels[tree.leaves].tolist() == list(range(m))
    assert np.concatenate(tree.levels).tolist() == list(range(tree.n_nodes))
    tree.check(m)


def root_of(parents):
    return int(np.flatnonzero(np.asarray(parents) == -1)[0])


def labels_under(parents, m, node):
    return [j for j in range(m) if node in (j, root_of(parents), *reference.path_to(parents, j))]


def test_children_follow_each_other_level_by_level():
    tree = Tree.from_parents([5, 5, 6, 6, 7, 7, 7, -1], n_labels=5)
    assert tree.first_children.tolist() == [1, 4, 4, 6, 8, 8, 8, 8, 8]
    assert tree.labels.tolist() == [-1, 4, -1, -1, 0, 1, 2, 3]
    assert [level.tolist() for level in tree.levels] == [[0], [1, 2, 3], [4, 5, 6, 7]]


def test_largest_below():
    tree = Tree.from_parents([5, 5, 6, 6, 7, 7, 7, -1], n_labels=5)
    values = np.array([3.0, 1.0, -2.0, -5.0, 2.0])
    assert tree.largest_below(values).tolist() == [3, 2, 3, -2, 3, 1, -2, -5]


BAD_PARENTS = {
    "no integers": ([2.0, 2.0, -1.0], "parents must be a list of integers, the parent of each node. Got shape (3,)"),
    "a matrix": ([[2, 2, -1]], "parents must be a list of integers, the parent of each node. Got shape (1, 3)"),
    "labels only": (
        [-1, 0],
        "must list the 2 labels first, followed by at least one inner node, the root. Got 2 nodes.",
    ),
    "no root": ([2, 2, 2], "parents must contain -1 exactly once, for the root. Got it 0 times."),
    "two roots": ([2, 3, -1, -1], "parents must contain -1 exactly once, for the root. Got it 2 times."),
    "a label as parent": ([2, 0, -1], "the first 2 nodes are the labels, which have no children. Got 0."),
    "a parent beyond": ([2, 7, -1], "parents must be inner nodes, from 2 to 2"),
    "a childless node": ([2, 2, -1, 2], "parents must give every inner node a child. Node 3 has none. Remove it."),
    "a circle": (
        [2, 3, -1, 4, 3],
        "lead from every node to the root. Node 1 is in a cycle or below one.",
    ),
}


@pytest.mark.parametrize(("parents", "message"), BAD_PARENTS.values(), ids=BAD_PARENTS)
def test_parents_that_are_no_tree(parents, message):
    with pytest.raises(InputError) as caught:
        Tree.from_parents(parents, n_labels=2)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("children", "labels"),
    [
        ([1, 3, 3, 3], [-1, 0, 0]),
        ([1, 3, 3, 3], [-1, 1, 2]),
        ([1, 2, 3, 3], [-1, 0, 1]),
        ([2, 3, 3, 3], [-1, 0, 1]),
        ([1, 3, 3], [-1, 0, 1]),
        ([1, 1, 3, 3], [0, -1, 1]),
    ],
)
def test_arrays_that_are_no_tree(children, labels):
    with pytest.raises(InputError, match="first_children and labels must describe a tree over 2 labels"):
        Tree(np.array(children), np.array(labels, dtype=np.int32)).check(2)
