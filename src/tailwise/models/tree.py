"""The structure of a label tree: its nodes, and the labels of its leaves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailwise.errors import InputError
from tailwise.inputs.matrices import as_array

NO_NODE = -1


@dataclass(frozen=True, eq=False, repr=False)
class Tree:
    """A rooted tree whose leaves are the labels.

    Nodes are numbered level by level from the root, node 0, so the children of consecutive nodes are consecutive. Use
    :meth:`from_parents` to create a tree.

    Attributes
    ----------
    first_children : ndarray of int64, shape (nodes + 1,)
        The children of node v are ``range(first_children[v], first_children[v + 1])``, which is empty for a leaf.
    labels : ndarray of int32, shape (nodes,)
        The label of each leaf, -1 for the other nodes.

    Examples
    --------
    >>> from tailwise.models import Tree
    >>> tree = Tree.from_parents([4, 4, 3, 5, 5, -1], n_labels=3)  # labels 0 and 1 below node 4, label 2 below 3
    >>> tree
    Tree(3 labels, 6 nodes, 2 levels)
    >>> tree.labels
    array([-1, -1, -1,  2,  0,  1], dtype=int32)
    """

    first_children: NDArray
    labels: NDArray

    @classmethod
    def from_parents(cls, parents: Any, n_labels: int) -> Tree:
        """Build a tree from the parent of every node.

        Parameters
        ----------
        parents : array_like of int, shape (nodes,)
            Nodes 0 to m - 1 are the labels; all others are inner nodes. The parent of the root is -1.
        n_labels : int
            Number of labels m.
        """
        parents = _check_parents(parents, n_labels)
        by_parent = np.argsort(parents, kind="stable")
        starts = np.searchsorted(parents[by_parent], np.arange(parents.size + 1))
        level = by_parent[:1]  # the root: -1 is the smallest parent
        order = []
        while level.size:
            order.append(level)
            level = by_parent[_ranges(starts[level], starts[level + 1])]
        nodes = np.concatenate(order)
        if nodes.size < parents.size:
            lost = int(np.setdiff1d(np.arange(parents.size), nodes)[0])
            msg = f"parents must lead from every node to the root. Node {lost} is in a cycle or below one."
            raise InputError(msg)
        first_children = np.concatenate([[1], 1 + np.cumsum(starts[nodes + 1] - starts[nodes])])
        return cls(first_children, np.where(nodes < n_labels, nodes, NO_NODE).astype(np.int32))

    def check(self, n_labels: int) -> None:
        """Refuse arrays that do not describe a tree over `n_labels` labels."""
        children, labels = self.first_children, self.labels
        is_inner = np.diff(children) > 0
        is_tree = (
            children.shape == (labels.size + 1,)
            and children[0] == 1
            and children[-1] == labels.size
            and (np.diff(children) >= 0).all()
            and (children[:-1] > np.arange(labels.size))[is_inner].all()
            and np.array_equal(np.sort(labels[~is_inner]), np.arange(n_labels))
            and (labels[is_inner] == NO_NODE).all()
        )
        if not is_tree:
            msg = f"first_children and labels must describe a tree over {n_labels} labels. They do not."
            raise InputError(msg)

    @property
    def n_nodes(self) -> int:
        return self.labels.size

    @property
    def n_labels(self) -> int:
        return int((self.labels >= 0).sum())

    @cached_property
    def parents(self) -> NDArray:
        """The parent of each node, -1 for the root."""
        return np.concatenate([[NO_NODE], np.repeat(np.arange(self.n_nodes), np.diff(self.first_children))])

    @cached_property
    def leaves(self) -> NDArray:
        """The node of each label."""
        nodes = np.flatnonzero(self.labels >= 0)
        return nodes[np.argsort(self.labels[nodes])]

    @cached_property
    def levels(self) -> list[NDArray]:
        """The nodes of each level, the root's first."""
        levels, first, last = [], 0, 1
        while first < last:
            levels.append(np.arange(first, last))
            first, last = last, int(self.first_children[last])
        return levels

    @property
    def inner_nodes(self) -> NDArray:
        return np.flatnonzero(self.labels < 0)

    @property
    def most_children(self) -> int:
        return int(np.diff(self.first_children).max())

    def largest_below(self, values: NDArray) -> NDArray:
        """Return the largest value of a label below each node."""
        largest = np.full(self.n_nodes, -np.inf)
        largest[self.leaves] = values
        for nodes in reversed(self.levels[1:]):
            np.maximum.at(largest, self.parents[nodes], largest[nodes])
        return largest

    def __repr__(self) -> str:
        return f"Tree({self.n_labels:,} labels, {self.n_nodes:,} nodes, {len(self.levels) - 1} levels)"


def _check_parents(parents: Any, n_labels: int) -> NDArray:
    array = as_array(parents, "parents")
    if array.ndim != 1 or array.dtype.kind not in "iu":
        came = f"shape {array.shape} and dtype {array.dtype}"
        msg = f"parents must be a list of integers, the parent of each node. Got {came}."
        raise InputError(msg)
    array = array.astype(np.int64)
    if array.size <= n_labels:
        msg = (
            f"parents must list the {n_labels} labels first, followed by at least one inner node, the root. "
            f"Got {array.size} nodes."
        )
        raise InputError(msg)
    n_roots = int((array == NO_NODE).sum())
    if n_roots != 1:
        msg = f"parents must contain -1 exactly once, for the root. Got it {n_roots} times."
        raise InputError(msg)
    inner = np.unique(array[array != NO_NODE])
    if inner[0] < n_labels or inner[-1] >= array.size:
        came = inner[0] if inner[0] < n_labels else inner[-1]
        msg = (
            f"parents must be inner nodes, from {n_labels} to {array.size - 1}: the first {n_labels} nodes are the "
            f"labels, which have no children. Got {came}."
        )
        raise InputError(msg)
    if inner.size < array.size - n_labels:
        childless = int(np.setdiff1d(np.arange(n_labels, array.size), inner)[0])
        msg = f"parents must give every inner node a child. Node {childless} has none. Remove it."
        raise InputError(msg)
    return array


def _ranges(firsts: NDArray, lasts: NDArray) -> NDArray:
    """Concatenate several ranges."""
    sizes = lasts - firsts
    return np.repeat(firsts - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes) + np.arange(sizes.sum())
