"""`select`: one door to every method."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tailwise.certificates.proof import prove
from tailwise.errors import Interrupted, NoCertificateWarning
from tailwise.inputs.checks import check_choice
from tailwise.inputs.totals import Totals
from tailwise.selection.bca import bca
from tailwise.selection.checkpoint import open_checkpoint
from tailwise.selection.label_moves import climb_labels, compile_label_moves, label_moves, label_moves_expected
from tailwise.selection.observer import Observer, Pass
from tailwise.selection.present import Selection, present
from tailwise.selection.problem import Outcome, Problem, Proving, Request
from tailwise.selection.resolve import name_columns, resolve
from tailwise.selection.rules import warn_of_empty_slots
from tailwise.utilities import Utility

if TYPE_CHECKING:
    from tailwise.selection.problem import Step


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
    group_size: int | str = "auto",
    fill: str = "auto",
    exclude: Any = None,
    context: Totals | None = None,
    engine: Any = "threads",
    workers: int | None = None,
    seed: int = 0,
    certify: bool = False,
    checkpoint: Any = None,
    on_pass: Callable[[Pass], Any] | None = None,
    max_seconds: float | None = None,
    progress: bool = False,
    on_interrupt: str = "raise",
    priors: Any = None,
    condition_positives: Any = None,
    instance: str | None = None,
    label: str | None = None,
    probability: str | None = None,
) -> Selection:
    r"""Choose k labels for each instance so that the batch as a whole scores best.

    .. math:: \max_S \sum_j E[\psi_j(t_j, q_j, p_j)] \quad\text{subject to k labels for each instance},

    .. math:: t_j = \sum_{i \in S_j} y_{ij},\quad q_j = |S_j|,\quad p_j = \sum_i y_{ij},

    where the true labels y are independent and have the probabilities eta. Semi-empirically (``expectation="semi"``)
    it is :math:`\psi_j(E[t_j], q_j, E[p_j])`, the formula filled with expected counts.

    Parameters
    ----------
    probabilities : array_like or path
        Label probabilities eta of the batch, in any form that :meth:`Candidates.of` takes: a matrix, a table of ids,
        a file. Ids of instances and labels are kept, and other inputs that have ids are joined by them.
    utility : Utility or str
        What to maximise: ``"macro-f1"``, ``"0.7*precision + 0.3*coverage"``, an object of :mod:`tailwise.utilities`.
    k : int, array_like of int, mapping, or None
        Labels per instance; one budget per instance, in their order, or by id as a mapping or a pandas Series; or None
        for no budget (each label takes what is best for it).
    method : {"auto", "instance", "ascent", "global", "greedy"}
        "ascent" lets one instance move at a time (row passes, the paper's method); "global" goes on from there with
        label passes, in which a label moves with all its instances, and takes 3 to 10 times as long. "auto" takes the
        closed form ("instance") where the utility is linear in the predictions; else "global", or "ascent" for more
        than 50 million candidates and for formulas that run as plain Python or are expected exactly.
    expectation : {"auto", "semi", "exact"}
        "semi" maximises psi of the expected counts, as the paper does; "exact" the expectation of psi, which is far
        from it for labels with few expected positives. "auto" is exact wherever that costs little more: for every
        built-in utility and mixture except G-mean, H-mean and AUC; for these and for formulas of your own, "exact"
        takes more than ten times as long, and gains are exact for labels of at most 8 expected positives.
    init : {"top", "random", "greedy"} or selection
        Where the ascent starts. Labels of a selection that are no candidates count as candidates of probability 0 that
        an instance may keep but need not; an instance with fewer labels than it must take is completed first. From a
        name, exact expectations first climb by the semi-empirical one, which is faster; from a selection they do not.
    tolerance : float
        The ascent stops when a pass gains less; label passes also when one gains less than 3e-5 of the utility.
    max_passes : int
        Maximum number of passes.
    group_size : int or "auto"
        Instances that propose their labels at the same time; 1 is the paper's algorithm, "auto" an 8th of the batch.
    fill : {"auto", "least-loss", "none"}
        What to do for an instance with fewer than k candidates: "least-loss" fills its slots with those of all other
        labels, of probability 0, that cost least; "none" leaves the slots empty (-1). "auto" fills them where the
        input holds every label of every instance, as a dense matrix does; of a sparse matrix, a pair or a table only
        what is stored can come out (stored zeros, too), and a warning says how many instances have empty slots.
    exclude : table, 0/1 matrix, list of labels, selection or path, optional
        Pairs of instance and label that must not come out, not by filling either: what was bought, seen or indexed
        already. A table of ids (instance, label), a 0/1 matrix (n, m), an earlier Selection, a file of pairs, with or
        without scores, or a list of labels (numbers or ids) that are excluded for all instances. Ids are matched where
        both sides have them. An excluded pair still counts in p with its probability: the instance may have the label.
        Ids that ``probabilities`` does not have are counted in a warning; so are instances with fewer than k labels
        left, whose slots stay empty.
    context : Totals, optional
        What was decided elsewhere, ``selection.totals`` of another call for instance: its t, q, p and number of
        instances count beside those of this batch, so that gains are taken on top of it, and ``expected`` is the value
        of both together. By exact expectation its hits and misses are Poisson distributed (an approximation of the
        union, see docs), and constants where they were observed.
    engine : "threads" or Engine
        Where proposals are made: on the threads of this machine, or by an engine of your own
        (:class:`tailwise.engines.Engine`). The result does not depend on it.
    workers : int, optional
        Threads; by default all cores. The result is the same for every number.
    seed : int
        Seed of the visiting order and of ``init="random"``.
    certify : bool
        Prove how close to the optimum the selection is (:class:`Certificate`). If the gap stays above 0.1 %, also look
        for a better selection, guided by the proof. :func:`certify` lists what can be proved.
    checkpoint : path, optional
        A folder in which every finished row pass is kept: positions, totals and history. After a kill, the same call
        goes on from there and ends with the same labels; another call is refused. Label passes are not kept: they
        begin again after the last row pass, and of a large batch's passes over near candidates the last is kept.
        Remove the folder when it is no longer needed.
    on_pass : callable, optional
        Called after every pass with a :class:`tailwise.selection.Pass`: the stage, the history, how many moved, the
        state. Return True to stop; the best so far is returned.
    max_seconds : float, optional
        Stop after this time, within one group of instances, with the best so far. Compilation does not count. Where
        ``certify`` has not finished a round by then, there is no certificate, and a warning.
    progress : bool
        Show a progress bar on standard error.
    on_interrupt : {"raise", "return"}
        What Ctrl-C during the passes or the proof does: raise :class:`tailwise.errors.Interrupted`, a
        KeyboardInterrupt whose ``best`` is the best selection so far; or return that, with ``interrupted`` set.
    priors : LabelPriors, 0/1 matrix of training labels, or path, optional
        For utility names that need them, and for ``condition_positives="priors"``.
    condition_positives : array_like of shape (m,) or "priors", optional
        p per label, where the candidates hold only part of it: expected counts in this batch, or "priors" for training
        priors times n. Default, and always the least: the sum of the label's probabilities.
    instance, label, probability : str, optional
        The columns of a table, or of a file with a row per entry: those of ids, and of probabilities. Default: columns
        with usual names, such as user_id, item_id and score; for a table, :attr:`Selection.messages` says which were
        taken. The columns of ids are also those of `exclude`, if it has them.

    Returns
    -------
    Selection
        With ``labels`` (n, k), ``expected``, ``history`` and more; ``to_frame()`` is a table of ids.

    Notes
    -----
    A pass costs O(nnz) time; memory is that of the candidates plus O(n k + m), label passes hold the candidates once
    more, by label. A CSR matrix of float32 or float64 with labels in int32, sorted in each row, is read in place; other
    layouts are converted to one, and labels in int64 are copied to int32. The utility never falls from pass to pass.
    Only candidates are considered before empty slots are filled. Paper: sections 4.2-4.4.

    Examples
    --------
    >>> import numpy as np, tailwise as tw
    >>> probabilities = np.array([[0.9, 0.4, 0.1], [0.8, 0.1, 0.7], [0.9, 0.2, 0.1]])
    >>> tw.select(probabilities, "precision", k=1).labels.ravel()
    array([0, 0, 0], dtype=int32)
    >>> tw.select(probabilities, "macro-f1", k=1).labels.ravel()
    array([1, 2, 0], dtype=int32)
    """
    check_choice("on_interrupt", on_interrupt, ("raise", "return"))
    request = Request(
        probabilities,
        utility,
        k,
        method=method,
        expectation=expectation,
        init=init,
        tolerance=tolerance,
        max_passes=max_passes,
        group_size=group_size,
        fill=fill,
        exclude=exclude,
        context=context,
        priors=priors,
        condition_positives=condition_positives,
        engine=engine,
        workers=workers,
        seed=seed,
        proving=Proving() if certify else None,
        columns=name_columns(instance, label, probability),
    )
    observer = Observer(on_pass, max_seconds, progress=progress)
    with label_moves_expected(method, k):
        problem = resolve(request)
        if checkpoint is not None:
            problem = replace(problem, checkpoint=open_checkpoint(checkpoint, problem))
        selection = run(problem, observer)
    if fill != "none":
        warn_of_empty_slots(selection, problem.rules)
    if certify and selection.certificate is None and not selection.interrupted:
        msg = "max_seconds were over before the first round of the proof: there is no certificate. Give more time."
        warnings.warn(msg, NoCertificateWarning, stacklevel=2)
    if selection.interrupted and on_interrupt == "raise":
        raise Interrupted(selection)
    return selection


def run(problem: Problem, observer: Observer) -> Selection:
    """Solve, prove where that is asked for, and present."""
    try:
        with problem.engine:
            outcome, proof = solve(problem, observer), None
            if problem.proving is not None and not outcome.interrupted:
                outcome, proof = prove(problem, outcome, problem.proving, climb_labels, observer)
            return present(problem, outcome, proof, observer.seconds)
    finally:
        observer.close()


def _resume(problem: Problem) -> tuple[Outcome | None, tuple[Step, ...]]:
    """Where a call that was killed goes on, and the steps that are left; everything, if nothing was kept."""
    reached = None if problem.checkpoint is None else problem.checkpoint.kept("rows")
    if reached is None:
        return None, problem.plan
    outcome = Outcome(reached.positions, reached.state, tuple(reached.history), others=reached.others)
    return outcome, problem.plan[problem.plan.index(bca) :]


def solve(problem: Problem, observer: Observer) -> Outcome:
    """Run the plan of a problem, step by step; after Ctrl-C there is no next one."""
    outcome, plan = _resume(problem)
    if label_moves in problem.plan:
        compile_label_moves(problem)
    for step in plan:
        try:
            outcome = step(problem, outcome, observer)  # type: ignore[arg-type]  # the first takes none
        except KeyboardInterrupt:  # outside the passes, whose own handling keeps their history
            if outcome is None:
                raise
            state = problem.expectation.count(outcome.positions)
            history = (*outcome.history[:-1], problem.expectation.value(state))
            return replace(outcome, state=state, history=history, interrupted=True)
        if outcome.interrupted:
            break
    assert outcome is not None
    return outcome
