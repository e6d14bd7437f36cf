"""`certify`: how much better could a selection be?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tailwise.certificates import Certificate
from tailwise.certificates.proof import prove
from tailwise.errors import InputError, Interrupted
from tailwise.inputs.checks import check_choice
from tailwise.inputs.totals import Totals
from tailwise.selection.bca import given_outcome
from tailwise.selection.observer import Observer, Pass
from tailwise.selection.problem import Problem, Proving, Request
from tailwise.selection.resolve import name_columns, resolve
from tailwise.selection.select import run
from tailwise.utilities import Utility


def certify(
    probabilities: Any,
    utility: Utility | str,
    k: Any,
    selection: Any = None,
    *,
    expectation: str = "auto",
    fill: str = "auto",
    exclude: Any = None,
    context: Totals | None = None,
    rounds: int = 100,
    target_gap: float = 1e-3,
    priors: Any = None,
    condition_positives: Any = None,
    engine: Any = "threads",
    workers: int | None = None,
    seed: int = 0,
    on_pass: Callable[[Pass], Any] | None = None,
    max_seconds: float | None = None,
    progress: bool = False,
    on_interrupt: str = "raise",
    instance: str | None = None,
    label: str | None = None,
    probability: str | None = None,
) -> Certificate:
    r"""Prove how much better a selection could be at most.

    .. math:: \max_S \sum_j \psi_j(S_j) \;\le\;
        \sum_i k_i \lambda_i + \sum_j \max_S \Bigl[\psi_j(S) - \sum_{i \in S} \lambda_i\Bigr]

    for any prices :math:`\lambda_i` of the slots of the instances. They start from those of the selection, and are
    changed round by round so that the right side falls.

    Parameters
    ----------
    probabilities, utility, k, expectation, fill, exclude, context, priors, condition_positives, workers, seed
        As for :func:`select`. The selection must not hold excluded pairs.
    engine : "threads" or Engine
        As for :func:`select`. On a cluster, workers look for the best sets of labels.
    instance, label, probability : str, optional
        As for :func:`select`.
    selection : Selection, array_like or path, optional
        The selection to judge, of any tool. Its labels that are no candidates count as candidates of probability 0
        that an instance may take but need not. It is judged as it is; nothing is selected. Default: what
        ``select(..., certify=True)`` selects.
    rounds : int
        Maximum number of price updates. One round gives a valid bound, more give a closer one.
    target_gap : float
        Stop when the bound is within this share of the value of the selection.
    on_pass, max_seconds
        As for :func:`select`; rounds are told of as passes of the stage "proof". A round that is not finished in time
        is given up, and the bound is that of the rounds before; after none there is an error.
    progress : bool
        Show progress bars on standard error.
    on_interrupt : {"raise", "return"}
        As for :func:`select`, with the bound so far; before the first round there is none, and Ctrl-C raises
        KeyboardInterrupt.

    Returns
    -------
    Certificate
        The value of the selection, the upper bound, and how it was found.

    Notes
    -----
    The bound covers every selection that takes, for each instance, min(k, number of its candidates) of its candidates;
    where slots are filled, any other labels in the slots that remain. For an instance where the given selection
    holds fewer labels, it also covers taking fewer; where that holds labels that are no candidates, it also covers
    these, in any slot of the instance.

    There is a bound for what is linear in the selection at fixed q (precision, recall, F-beta, balanced accuracy,
    accuracy, all instance-wise utilities), for Jaccard, for coverage, and for mixtures, by both expectations; and for a
    formula of your own by the semi-empirical one, if it is linear in t at fixed q and p. What is linear in the
    predictions has no gap, unless the given selection holds labels that are no candidates.

    Examples
    --------
    >>> import numpy as np, tailwise as tw
    >>> probabilities = np.array([[0.9, 0.4, 0.1], [0.8, 0.1, 0.7], [0.9, 0.2, 0.1]])
    >>> top = np.array([[0], [0], [0]])
    >>> certificate = tw.certify(probabilities, "macro-precision", 1, top)
    >>> round(certificate.value, 3), round(certificate.upper, 3)
    (0.289, 0.667)
    """
    check_choice("on_interrupt", on_interrupt, ("raise", "return"))
    observer = Observer(on_pass, max_seconds, progress=progress)
    problem = resolve(
        Request(
            probabilities,
            utility,
            k,
            expectation=expectation,
            fill=fill,
            exclude=exclude,
            context=context,
            priors=priors,
            condition_positives=condition_positives,
            engine=engine,
            workers=workers,
            seed=seed,
            proving=Proving(rounds, target_gap),
            judged=selection,
            columns=name_columns(instance, label, probability),
        )
    )
    certificate = _judge(problem, observer) if problem.judged is not None else run(problem, observer).certificate
    if certificate is None and not observer.has_time():
        msg = f"max_seconds must leave time for one round of the proof. Got {max_seconds}. Give more time."
        raise InputError(msg)
    if certificate is None:  # Ctrl-C before the first round: there is no bound yet
        raise KeyboardInterrupt
    if certificate.interrupted and on_interrupt == "raise":
        raise Interrupted(certificate)
    return certificate


def _judge(problem: Problem, observer: Observer) -> Certificate | None:
    """The certificate of the selection that was given."""
    assert problem.judged is not None
    assert problem.proving is not None
    # The best selection of what is linear has a closed form, which is the least upper bound.
    has_closed_form, proof = problem.expectation.is_linear and problem.rules.has_budget, None
    try:
        with problem.engine:
            value = problem.expectation.value_of(problem.judged)
            if not has_closed_form:
                outcome = given_outcome(problem, problem.judged)
                _, proof = prove(problem, outcome, problem.proving, None, observer)
    finally:
        observer.close()
    if has_closed_form:
        found = run(problem, observer).certificate
        return None if found is None else replace(found, value=value)
    return None if proof is None else proof.certificate(problem, value)
