"""Selections of a label tree: by search on the tree where that is exact or greedy, else from a shortlist."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.errors import InputError
from tailwise.expectations import SemiEmpirical
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.checks import check_choice, check_seed
from tailwise.kernels.best_first import Lines
from tailwise.kernels.label_state import P, Q, T, refresh
from tailwise.kernels.tree_greedy import Places, select_greedily
from tailwise.models.plt_search import CHUNK, Found, make_room
from tailwise.models.tree_ensemble import search_trees
from tailwise.selection import Selection, select
from tailwise.selection.batch import describe_batch
from tailwise.selection.expected_utility import check_value
from tailwise.selection.select import METHODS
from tailwise.utilities import as_utility

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.engines import Threads
    from tailwise.kernels.node_training import Matrix
    from tailwise.models.label_tree import LabelTree
    from tailwise.utilities import Utility

__all__ = ["TreeSelection", "select_on_tree"]

TREE_OPTIONS = {"seed", "condition_positives"}


@dataclass(frozen=True, eq=False, repr=False)
class TreeSelection(Selection):
    """A selection by a label tree.

    Attributes
    ----------
    visited : ndarray of int64, shape (n,), or None
        Nodes whose classifier was evaluated for each instance; None where the labels came from a shortlist.
    """

    visited: NDArray | None = None


def select_on_tree(
    model: LabelTree, features: Any, utility: Utility | str, k: int, method: str, top: int, options: dict[str, Any]
) -> TreeSelection:
    """`LabelTree.select`, its parameters but not its features checked."""
    begin = time.perf_counter()
    check_choice("method", method, (*METHODS, "tree"))
    utility = as_utility(utility, model.priors_)
    if method == "tree" or (method == "auto" and _is_exact_on_tree(model, utility, options)):
        foreign = sorted(set(options) - TREE_OPTIONS)
        if foreign:
            msg = f"method='tree' takes the options {', '.join(sorted(TREE_OPTIONS))}. Got {', '.join(foreign)}."
            raise InputError(msg)
        return _search(model, model._features(features), utility, k, begin, **options)
    probabilities = model.predict_proba(features, top=top)
    selection = select(probabilities, utility, k, method=method, priors=model.priors_, **options)
    return TreeSelection(**vars(selection))


def _is_exact_on_tree(model: LabelTree, utility: Utility, options: dict[str, Any]) -> bool:
    if not (utility.linear_in_predictions and set(options) <= TREE_OPTIONS):
        return False
    slopes = _expect(model, utility, 1, 1, None).objective.linear[:, 0]  # whose signs do not depend on p
    return bool((slopes >= 0).all())


def _expect(model: LabelTree, utility: Utility, n_instances: int, k: int, positives: Any) -> SemiEmpirical:
    """The utility of a selection in a batch of which no probability is known yet."""
    nothing = Candidates(
        np.zeros(n_instances + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32), model.n_labels_
    )
    positives = "priors" if positives is None else positives
    batch = describe_batch(nothing, np.full(n_instances, k), model.priors_, positives)
    expectation = SemiEmpirical(utility, nothing, batch)
    expectation.prepare(np.zeros(model.n_labels_))
    return expectation


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
    expectation = _expect(model, utility, n, k, condition_positives)
    with model._threads() as threads:
        if expectation.is_linear:
            found = _search_by_lines(model, matrix, k, expectation, threads)
        else:
            found = _search_greedily(model, matrix, k, expectation, np.random.default_rng(seed).permutation(n))
    expectation.raise_failure()
    value = _value_of(expectation, model, utility, n, k)
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
        method="instance" if expectation.is_linear else "greedy",
        expectation=expectation.name,
        visited=found.visited,
    )


def _value_of(found: SemiEmpirical, model: LabelTree, utility: Utility, n_instances: int, k: int) -> float:
    """The expected utility; a label has at least as many positives as its instances are expected to have."""
    totals = found.objective.totals
    expectation = _expect(model, utility, n_instances, k, np.maximum(totals[:, P], totals[:, T]))
    expectation.objective.totals[:, :P] = totals[:, :P]
    refresh(expectation.objective)
    return check_value(utility, expectation.expected())


def _search_by_lines(model: LabelTree, matrix: Matrix, k: int, expectation: SemiEmpirical, threads: Threads) -> Found:
    """The labels of largest slope * eta + offset; the totals of the expectation are set to theirs."""
    slopes, offsets = expectation.objective.linear.T
    if (slopes < 0).any():
        msg = (
            "method='tree' needs a gain that grows with the probability. Got one that falls. "
            "Use method='instance' (--method instance)."
        )
        raise InputError(msg)
    found = search_trees(model.trees_, matrix, k, threads, slopes=slopes, offsets=offsets)
    totals, labels = expectation.objective.totals, found.labels.ravel()
    totals[:, T] = np.bincount(labels, weights=found.probabilities.ravel(), minlength=model.n_labels_)
    totals[:, Q] = np.bincount(labels, minlength=model.n_labels_)
    return found


def _search_greedily(model: LabelTree, matrix: Matrix, k: int, expectation: SemiEmpirical, order: NDArray) -> Found:
    """Instance by instance, in this order; the totals of the expectation grow on the way."""
    if len(model.trees_) > 1:
        msg = (
            f"method='tree' with {len(model.trees_)} trees needs a utility that is linear in the predictions. "
            "Use method='greedy' (--method greedy) for greedy selection from a shortlist."
        )
        raise InputError(msg)
    fitted, objective, n = model.trees_[0], expectation.objective, order.size
    tree = fitted.tree
    lines = Lines(
        objective.slopes,
        objective.offsets,
        tree.largest_below(np.maximum(objective.slopes, 0)),
        tree.largest_below(objective.offsets),
    )
    found = Found(np.empty((n, k), np.int32), np.empty((n, k)), np.empty(n, np.int64))
    room, places = make_room(tree, matrix, k), Places(tree.leaves, tree.parents)
    for first in range(0, n, CHUNK):
        part = order[first : first + CHUNK]
        select_greedily(fitted.model(), lines, objective, places, matrix, k, part, room, *found)
    return found
