"""`select`: one door to every method."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.candidates import Candidates
from tailwise.chosen import Chosen
from tailwise.engines import Threads
from tailwise.errors import InputError
from tailwise.expectations import SemiEmpirical
from tailwise.kernels.finishing import fill_least_loss, sort_by_gain
from tailwise.kernels.rows import labels_at
from tailwise.selection.ascent import MIN_SHARED_ENTRIES, select_by_ascent
from tailwise.selection.budget import check_budgets
from tailwise.selection.greedy import select_greedy
from tailwise.selection.instance_wise import select_instance_wise
from tailwise.selection.problem import Outcome, Problem, Settings
from tailwise.selection.result import Selection
from tailwise.selection.without_budget import select_without_budget
from tailwise.utilities import LabelPriors, as_utility
from tailwise.utilities.base import Batch
from tailwise.utilities.macro import Coverage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.utilities import Utility

__all__ = ["METHODS", "select"]

_METHODS = {"instance": select_instance_wise, "ascent": select_by_ascent, "greedy": select_greedy}
METHODS = ("auto", *_METHODS)
EXPECTATIONS = ("auto", "semi", "exact")
FILLS = ("least-loss", "none")


def select(
    probabilities: Any,
    utility: Utility | str,
    k: Any,
    *,
    method: str = "auto",
    expectation: str = "auto",
    init: Any = "top",
    tolerance: float = 1e-7,
    max_passes: int = 100,
    batch: int | str = "auto",
    fill: str = "least-loss",
    workers: int | None = None,
    seed: int = 0,
    progress: bool = False,
    priors: Any = None,
    condition_positives: Any = None,
) -> Selection:
    r"""Choose exactly k labels for each instance so that the batch as a whole scores best.

    .. math:: \max_S \sum_j \psi_j(t_j, q_j, p_j) \quad\text{subject to k labels for each instance},\qquad
        t_j = \sum_{i \in S_j} \eta_{ij},\; q_j = |S_j|,\; p_j = \sum_i \eta_{ij}

    Parameters
    ----------
    probabilities : array_like or path
        Label probabilities eta of the batch, in any form that :meth:`Candidates.of` takes, or a file.
    utility : Utility or str
        What to maximise: ``"macro-f1"``, ``"0.7*precision + 0.3*coverage"``, an object of :mod:`tailwise.utilities`.
    k : int, array_like of int, or None
        Labels per instance; one budget per instance; or None for no budget (each label takes what is best for it).
    method : {"auto", "instance", "ascent", "greedy"}
        "auto" takes the closed form ("instance") where the utility is linear in the predictions, else "ascent".
    expectation : {"auto", "semi", "exact"}
        "semi" maximises psi of the expected counts. "exact" is the same for utilities that are linear in the labels and
        for coverage, and refused for others.
    init : {"top", "random", "greedy"} or selection
        Where the ascent starts.
    tolerance : float
        The ascent stops when a pass gains less.
    max_passes : int
        The ascent stops after so many passes.
    batch : int or "auto"
        Instances that move at the same time; 1 is the paper's algorithm, "auto" from a 32nd of the batch to an 8th.
    fill : {"least-loss", "none"}
        An instance with fewer than k candidates gets the zero-probability labels that cost least, or keeps empty slots.
    workers : int, optional
        Threads; by default all cores. The result is the same for every number.
    seed : int
        Seed of the visiting order and of ``init="random"``.
    progress : bool
        Show a progress bar on standard error.
    priors : LabelPriors or 0/1 matrix of training labels, optional
        For utility names that need them, and for ``condition_positives="priors"``.
    condition_positives : array_like of shape (m,) or "priors", optional
        p per label, where the candidates hold only part of it: expected counts in this batch, or "priors" for training
        priors times n. Default: the sum of the probabilities.

    Returns
    -------
    Selection
        With ``labels`` (n, k), ``expected``, ``history`` and more.

    Notes
    -----
    A pass costs O(nnz) time; memory is that of the candidates plus O(n k + m). The utility never falls from pass to
    pass. Ctrl-C during an ascent returns the best selection so far, with ``interrupted`` set. Only candidates are
    considered before empty slots are filled. Paper: sections 4.2-4.4.

    Examples
    --------
    >>> import numpy as np, tailwise as tw
    >>> probabilities = np.array([[0.9, 0.4, 0.1], [0.8, 0.6, 0.2], [0.7, 0.1, 0.3]])
    >>> tw.select(probabilities, "precision", k=1).labels.ravel()
    array([0, 0, 0], dtype=int32)
    >>> tw.select(probabilities, "macro-f1", k=1).labels.ravel()
    array([0, 1, 2], dtype=int32)
    """
    start = time.perf_counter()
    settings = Settings(init, tolerance, max_passes, batch, seed, progress)
    _check_choice("fill", fill, FILLS)
    candidates = Candidates.of(_load(probabilities))
    priors = LabelPriors.from_labels(_load(priors)) if priors is not None else None
    utility = as_utility(utility, priors)
    budgets = check_budgets(k, candidates.n_instances, candidates.n_labels)
    method = _check_method(method, utility, budgets)
    expected = SemiEmpirical(utility, candidates, _describe(candidates, budgets, priors, condition_positives))
    expectation = _check_expectation(expectation, utility)
    with Threads(workers, needs_one=expected.needs_one_thread or candidates.n_entries < MIN_SHARED_ENTRIES) as threads:
        if budgets is None:
            positions = select_without_budget(candidates, expected, threads)
            expected.count(positions)
            outcome, budgets = Outcome(positions, (expected.expected(),)), (positions >= 0).sum(axis=1)
        else:
            problem = Problem(candidates, utility, expected, budgets, settings, threads)
            outcome = _METHODS[method](problem)
        labels = _finish(candidates, expected, outcome.positions, budgets, fill)
    labels = _keep_better_start(labels, expected, init)
    return Selection(
        labels,
        candidates.n_labels,
        utility,
        expected.expected(),
        outcome.history,
        outcome.passes,
        time.perf_counter() - start,
        outcome.converged,
        outcome.interrupted,
        method,
        expectation,
    )


def _load(source: Any) -> Any:
    if not isinstance(source, (str, os.PathLike)):
        return source
    from tailwise.datasets import load

    return load(source)


def _describe(candidates: Candidates, budgets: NDArray | None, priors: LabelPriors | None, given: Any) -> Batch:
    n, m = candidates.shape
    n_slots = n if budgets is None else max(1, int(budgets.sum()))
    return Batch(n, m, n_slots, _check_condition_positives(candidates, priors, given))


def _check_condition_positives(candidates: Candidates, priors: LabelPriors | None, given: Any) -> NDArray:
    if given is None:
        return candidates.condition_positives()
    if isinstance(given, str):
        _check_choice("condition_positives", given, ("priors",))
        if priors is None:
            msg = 'condition_positives="priors" needs priors. Got none. Give priors=LabelPriors.from_labels(Y_train).'
            raise InputError(msg)
        given = priors.probabilities * candidates.n_instances
    p = np.asarray(given, dtype=np.float64)
    if p.shape != (candidates.n_labels,) or not (np.isfinite(p).all() and p.min() >= 0):
        msg = (
            f"condition_positives must be {candidates.n_labels} finite numbers of at least 0, one per label. "
            f"Got shape {p.shape}{'' if p.size == 0 else f', smallest {p.min():g}'}."
        )
        raise InputError(msg)
    return p


def _check_method(method: str, utility: Utility, budgets: NDArray | None) -> str:
    _check_choice("method", method, METHODS)
    if budgets is None:
        if method != "auto":
            msg = f"method must be 'auto' where there is no budget (k=None). Got {method!r}."
            raise InputError(msg)
        return "without-budget"
    if method == "auto":
        return "instance" if utility.linear_in_predictions else "ascent"
    if method == "instance" and not utility.linear_in_predictions:
        msg = (
            f"method='instance' needs a utility that is linear in the predictions. Got {utility}. Use method='ascent'."
        )
        raise InputError(msg)
    return method


def _check_expectation(expectation: str, utility: Utility) -> str:
    _check_choice("expectation", expectation, EXPECTATIONS)
    is_exact = all(term.linear_in_labels or isinstance(term, Coverage) for _, term in utility.terms)
    if expectation == "exact" and not is_exact:
        msg = f"expectation='exact' is not available for {utility}. Use expectation='semi'."
        raise InputError(msg)
    return "exact" if is_exact and expectation != "semi" else "semi"


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        msg = f"{name} must be one of {', '.join(choices)}. Got {value!r}."
        raise InputError(msg)


def _finish(
    candidates: Candidates, expected: SemiEmpirical, positions: NDArray, budgets: NDArray, fill: str
) -> NDArray:
    """Labels in order of their gain, empty slots filled if asked for."""
    sort_by_gain(candidates.rows, expected.objective, positions)
    labels = np.empty_like(positions)
    labels_at(candidates.rows, positions, labels)
    if fill == "least-loss" and (candidates.sizes < budgets).any():
        fill_least_loss(expected.objective, labels, budgets)
    expected.raise_failure()
    return labels


def _keep_better_start(labels: NDArray, expected: SemiEmpirical, init: Any) -> NDArray:
    """A given start may hold labels that are no candidates, and be better for it; then it is the result."""
    if isinstance(init, str):
        return labels
    given, found = Chosen.of(init, expected.candidates.n_labels, name="init"), expected.expected()
    if ((given.labels >= 0).sum(axis=1) != (labels >= 0).sum(axis=1)).any():
        return labels
    expected.count_labels(given)
    if expected.expected() > found:
        width = labels.shape[1]
        return np.pad(given.labels, ((0, 0), (0, max(0, width - given.labels.shape[1]))), constant_values=-1)[:, :width]
    expected.count_labels(Chosen(labels, expected.candidates.n_labels))
    return labels
