"""Selections by a label tree: by exact or greedy search on the tree, or from a shortlist."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.errors import InputError
from tailwise.expectations.terms import (
    check_terms,
    check_value,
    make_terms,
    raise_failure,
    start_state,
    value_at,
)
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.checks import check_choice, check_seed
from tailwise.inputs.totals import Totals
from tailwise.inputs.wide_tables import index_of
from tailwise.kernels.best_first import Lines
from tailwise.kernels.label_state import P, Q, T, refresh
from tailwise.kernels.tree_greedy import Places, select_greedily
from tailwise.models.plt_search import CHUNK, Found, make_room
from tailwise.models.tree_ensemble import search_trees
from tailwise.selection import Selection, select
from tailwise.selection.resolve import METHODS, check_condition_positives
from tailwise.utilities import as_utility
from tailwise.utilities.utility import Batch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.engines import Threads
    from tailwise.kernels.node_training import Matrix
    from tailwise.models.label_tree import LabelTree
    from tailwise.utilities import Utility

TREE_OPTIONS = {"seed", "condition_positives"}


@dataclass(frozen=True, eq=False, repr=False)
class TreeSelection(Selection):
    """A selection by a label tree.

    Attributes
    ----------
    visited : ndarray of int64, shape (n,), or None
        Number of nodes evaluated for each instance; None if the labels came from a shortlist.
    """

    visited: NDArray | None = None


def select_on_tree(
    model: LabelTree, features: Any, utility: Utility | str, k: int, method: str, top: int, options: dict[str, Any]
) -> TreeSelection:
    """Implement `LabelTree.select`; the features are not checked yet."""
    begin = time.perf_counter()
    check_choice("method", method, (*METHODS, "tree"))
    utility = as_utility(utility, model.priors_)
    if method == "tree" or (method == "auto" and _is_exact_on_tree(model, utility, options)):
        foreign = sorted(set(options) - TREE_OPTIONS)
        if foreign:
            msg = f"method='tree' accepts only the options {', '.join(sorted(TREE_OPTIONS))}. Got {', '.join(foreign)}."
            raise InputError(msg)
        found = _search(model, model._features(features), utility, k, begin, **options)
        return replace(found, instance_ids=index_of(features), label_names=model.priors_.label_names)
    candidates = Candidates.of(model.predict_proba(features, top=top)).widened()
    candidates = candidates.with_names(model.priors_.label_names, index_of(features))
    selection = select(candidates, utility, k, method=method, priors=model.priors_, **options)
    return TreeSelection(**vars(selection))


def _is_exact_on_tree(model: LabelTree, utility: Utility, options: dict[str, Any]) -> bool:
    if not (utility.linear_in_predictions and set(options) <= TREE_OPTIONS):
        return False
    slopes = _Unseen(model, utility, 1, 1, None).terms.linear[:, 0]  # their signs do not depend on p
    return bool((slopes >= 0).all())


class _Unseen:
    """The semi-empirical utility of a batch with unknown probabilities; p comes from the training priors."""

    def __init__(self, model: LabelTree, utility: Utility, n_instances: int, k: int, positives: Any) -> None:
        m = model.n_labels_
        given = "priors" if positives is None else positives
        p = check_condition_positives(given, np.zeros(m), n_instances, model.priors_)
        self.utility, self.batch = utility, Batch(n_instances, m, n_instances * k, p)
        check_terms(utility, self.batch)
        self.terms, self._constant = make_terms(utility.terms, self.batch)
        self.state = start_state(self.terms, self.batch, Totals.nothing(m))
        refresh(self.terms, self.state)

    @property
    def is_linear(self) -> bool:
        return not (self.terms.formulas.size or self.terms.coverage.size)

    def value(self) -> float:
        return check_value(self.utility, value_at(self.terms, self.state) + self._constant)


def _search(
    model: LabelTree,
    matrix: Matrix,
    utility: Utility,
    k: int,
    begin: float,
    seed: int = 0,
    condition_positives: Any = None,
) -> TreeSelection:
    check_seed(seed)
    n = matrix.indptr.size - 1
    unseen = _Unseen(model, utility, n, k, condition_positives)
    with model._threads() as threads:
        if unseen.is_linear:
            found = _search_by_lines(model, matrix, k, unseen, threads)
        else:
            found = _search_greedily(model, matrix, k, unseen, np.random.default_rng(seed).permutation(n))
    raise_failure(utility)
    value = _value_of(unseen, model, k)
    return TreeSelection(
        found.labels,
        model.n_labels_,
        utility,
        value,
        (value,),
        1,
        time.perf_counter() - begin,
        converged=True,
        interrupted=False,
        method="instance" if unseen.is_linear else "greedy",
        expectation="semi",
        visited=found.visited,
    )


def _value_of(found: _Unseen, model: LabelTree, k: int) -> float:
    """Return the expected utility; the positives p of a label are at least its expected true positives t."""
    counts = found.state.counts
    p = np.maximum(counts[:, P], counts[:, T])
    seen = _Unseen(model, found.utility, int(found.batch.n_instances), k, p)
    seen.state.counts[:] = counts
    seen.state.counts[:, P] = p
    refresh(seen.terms, seen.state)
    return seen.value()


def _search_by_lines(model: LabelTree, matrix: Matrix, k: int, unseen: _Unseen, threads: Threads) -> Found:
    """Find the labels with the largest slope * eta + offset, and set the totals accordingly."""
    slopes, offsets = unseen.terms.linear.T
    if (slopes < 0).any():
        msg = (
            "method='tree' needs a utility whose gain increases with the probability. Got one whose gain decreases. "
            "Use method='instance' (--method instance)."
        )
        raise InputError(msg)
    found = search_trees(model.trees_, matrix, k, threads, slopes=slopes, offsets=offsets)
    counts, labels = unseen.state.counts, found.labels.ravel()
    counts[:, T] = np.bincount(labels, weights=found.probabilities.ravel(), minlength=model.n_labels_)
    counts[:, Q] = np.bincount(labels, minlength=model.n_labels_)
    return found


def _search_greedily(model: LabelTree, matrix: Matrix, k: int, unseen: _Unseen, order: NDArray) -> Found:
    """Select instance by instance in the given order, updating the totals."""
    if len(model.trees_) > 1:
        msg = (
            f"method='tree' with {len(model.trees_)} trees needs a utility that is linear in the predictions. "
            "Use method='greedy' (--method greedy) for greedy selection from a shortlist."
        )
        raise InputError(msg)
    fitted, state, n = model.trees_[0], unseen.state, order.size
    tree = fitted.tree
    lines = Lines(
        state.slopes,
        state.offsets,
        tree.largest_below(np.maximum(state.slopes, 0)),
        tree.largest_below(state.offsets),
    )
    found = Found(np.empty((n, k), np.int32), np.empty((n, k)), np.empty(n, np.int64))
    room, places = make_room(tree, matrix, k), Places(tree.leaves, tree.parents)
    for first in range(0, n, CHUNK):
        part = order[first : first + CHUNK]
        select_greedily(fitted.model(), lines, unseen.terms, state, places, matrix, k, part, room, *found)
    return found
