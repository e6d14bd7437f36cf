"""`select`: one door to every method."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tailwise.candidates import Candidates
from tailwise.chosen import Chosen
from tailwise.engines import Threads
from tailwise.errors import InputError
from tailwise.expectations import Exact, SemiEmpirical
from tailwise.expectations.exact import supports_exact
from tailwise.parameters import check_choice
from tailwise.selection.ascent import select_by_ascent
from tailwise.selection.batch import describe_batch
from tailwise.selection.budget import check_budgets
from tailwise.selection.expected import expect
from tailwise.selection.finishing import finish
from tailwise.selection.greedy import select_greedy
from tailwise.selection.instance_wise import select_instance_wise
from tailwise.selection.loading import load_if_path
from tailwise.selection.passes import MIN_SHARED_ENTRIES
from tailwise.selection.problem import Problem, Settings
from tailwise.selection.result import Selection
from tailwise.selection.starting import check_start
from tailwise.selection.without_budget import select_without_budget
from tailwise.utilities import LabelPriors, as_utility

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.utilities import Utility
    from tailwise.utilities.base import Batch

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
        "semi" maximises psi of the expected counts, as the paper does; "exact" the expectation of psi, which is far
        from it for labels with few expected positives. "auto" is exact wherever that costs little more: for every
        built-in utility and mixture but G-mean, H-mean and AUC; for these and for formulas of your own, "exact" takes
        more than ten times as long, and gains are exact for labels of at most 8 expected positives.
    init : {"top", "random", "greedy"} or selection
        Where the ascent starts.
    tolerance : float
        The ascent stops when a pass gains less.
    max_passes : int
        The ascent stops after so many passes.
    batch : int or "auto"
        Instances that move at the same time; 1 is the paper's algorithm, "auto" an 8th of the batch.
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
        priors times n. Default: the sum of the probabilities. By exact expectation, what exceeds that sum is added.

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
    >>> probabilities = np.array([[0.9, 0.4, 0.1], [0.8, 0.1, 0.7], [0.9, 0.2, 0.1]])
    >>> tw.select(probabilities, "precision", k=1).labels.ravel()
    array([0, 0, 0], dtype=int32)
    >>> tw.select(probabilities, "macro-f1", k=1).labels.ravel()
    array([1, 2, 0], dtype=int32)
    """
    begin = time.perf_counter()
    candidates = Candidates.of(load_if_path(probabilities))
    start = check_start(init, *candidates.shape)
    settings = Settings(start, tolerance, max_passes, batch, seed, progress)
    check_choice("fill", fill, FILLS)
    priors = None if priors is None else LabelPriors.from_labels(load_if_path(priors))
    utility = as_utility(utility, priors)
    budgets = check_budgets(k, *candidates.shape)
    expectation = _check_expectation(expectation, utility)
    batch_seen = describe_batch(candidates, budgets, priors, condition_positives)
    expected = (Exact if expectation == "exact" else SemiEmpirical)(utility, candidates, batch_seen)
    method = _check_method(method, expected, budgets, utility)
    with Threads(workers, needs_one=expected.needs_one_thread or candidates.n_entries < MIN_SHARED_ENTRIES) as threads:
        if budgets is None:
            outcome = select_without_budget(expected, threads)
            budgets = (outcome.positions >= 0).sum(axis=1)
        else:
            rehearsal = SemiEmpirical(utility, candidates, expected.batch) if expected.is_dear else None
            problem = Problem(candidates, utility, expected, budgets, settings, threads, rehearsal)
            outcome = _METHODS[method](problem)
    labels = finish(expected, outcome.positions, budgets, start, fills=fill == "least-loss")
    return Selection(
        labels,
        candidates.n_labels,
        utility,
        _value_of(labels, expected, batch_seen, utility),
        outcome.history,
        outcome.passes,
        time.perf_counter() - begin,
        outcome.converged,
        outcome.interrupted,
        method,
        expectation,
    )


def _check_method(method: str, expected: SemiEmpirical, budgets: NDArray | None, utility: Utility) -> str:
    check_choice("method", method, METHODS)
    if budgets is None:
        if method != "auto":
            msg = f"method must be 'auto' where there is no budget (k=None). Got {method!r}."
            raise InputError(msg)
        return "without-budget"
    if method == "auto":
        return "instance" if expected.is_linear else "ascent"
    if method == "instance" and not expected.is_linear:
        msg = (
            f"method='instance' needs a utility that is linear in the predictions. Got {utility}. Use method='ascent'."
        )
        raise InputError(msg)
    return method


def _check_expectation(expectation: str, utility: Utility) -> str:
    check_choice("expectation", expectation, EXPECTATIONS)
    return expectation if expectation != "auto" else "exact" if supports_exact(utility) else "semi"


def _value_of(labels: NDArray, expected: SemiEmpirical, batch: Batch, utility: Utility) -> float:
    """What the selection is worth; where the working value was exact for rare labels only, by the laws of all."""
    if isinstance(expected, Exact) and expected.uses_laws:
        chosen = Chosen(labels, batch.n_labels)
        return expect(utility, expected.candidates, chosen, batch, "exact")
    return expected.expected()
