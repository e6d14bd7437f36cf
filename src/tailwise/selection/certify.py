"""`certify`: how much better could a selection be?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailwise.errors import Interrupted
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.checks import check_choice
from tailwise.inputs.paths import load_both_if_paths, load_priors_if_path
from tailwise.selection.problem import Certification, Settings
from tailwise.selection.rules import check_given, find_feasible
from tailwise.selection.solve import Task, run
from tailwise.utilities import as_utility

if TYPE_CHECKING:
    from tailwise.certificates import Certificate
    from tailwise.utilities import Utility

__all__ = ["certify"]


def certify(
    probabilities: Any,
    utility: Utility | str,
    k: Any,
    selection: Any = None,
    *,
    expectation: str = "auto",
    fill: str = "auto",
    rounds: int = 100,
    target_gap: float = 1e-3,
    priors: Any = None,
    condition_positives: Any = None,
    workers: int | None = None,
    seed: int = 0,
    progress: bool = False,
    on_interrupt: str = "raise",
) -> Certificate:
    r"""Prove how much better a selection could be at most.

    .. math:: \max_S \sum_j \psi_j(S_j) \;\le\;
        \sum_i k_i \lambda_i + \sum_j \max_S \Bigl[\psi_j(S) - \sum_{i \in S} \lambda_i\Bigr]

    for any prices :math:`\lambda_i` of the slots of the instances. They start from those of tailwise's own selection,
    and are changed round by round so that the right side falls.

    Parameters
    ----------
    probabilities, utility, k, expectation, fill, priors, condition_positives, workers, seed
        As for :func:`select`.
    selection : Selection, array_like or path, optional
        The selection to judge, of any tool. Its labels that are no candidates count as candidates of probability 0
        that an instance may take but need not. Default: tailwise's own.
    rounds : int
        Change the prices at most so often. One round gives a valid bound, more give a closer one.
    target_gap : float
        Stop when the bound is within this share of the value of tailwise's own selection, which is improved on the way.
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
    probabilities, selection = load_both_if_paths(probabilities, selection)
    candidates = Candidates.of(probabilities)
    given = None if selection is None else check_given(selection, candidates, k, "selection")
    priors = load_priors_if_path(priors)
    task = Task(
        *find_feasible(candidates, k, given, fill),
        as_utility(utility, priors),
        Settings(seed=seed, progress=progress),
        expectation=expectation,
        workers=workers,
        priors=priors,
        condition_positives=condition_positives,
        certification=Certification(rounds, target_gap, given),
    )
    certificate = run(task).certificate
    if certificate is None:  # Ctrl-C during the selection: there is no bound yet
        raise KeyboardInterrupt
    if certificate.interrupted and on_interrupt == "raise":
        raise Interrupted(certificate)
    return certificate
