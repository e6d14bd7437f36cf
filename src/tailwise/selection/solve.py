"""From checked input to a selection: one way for every method."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailwise.certificates.provable import is_supported
from tailwise.engines import Threads
from tailwise.errors import InputError
from tailwise.expectations import Exact, SemiEmpirical
from tailwise.expectations.exact import supports_exact
from tailwise.inputs.checks import check_choice
from tailwise.inputs.chosen import Chosen
from tailwise.selection.batch import describe_batch
from tailwise.selection.bca import select_by_ascent
from tailwise.selection.expected_utility import check_value, expect
from tailwise.selection.finish import finish
from tailwise.selection.global_ascent import select_globally
from tailwise.selection.greedy import select_greedy
from tailwise.selection.instance_wise import select_instance_wise
from tailwise.selection.no_budget import select_without_budget
from tailwise.selection.passes import MIN_SHARED_ENTRIES
from tailwise.selection.problem import Certification, Outcome, Problem, Settings
from tailwise.selection.proving import Proof, prove
from tailwise.selection.rules import Feasible
from tailwise.selection.selection import Selection

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.certificates import Certificate
    from tailwise.inputs.candidates import Candidates
    from tailwise.utilities import LabelPriors, Utility
    from tailwise.utilities.utility import Batch

__all__ = ["METHODS", "Task", "run"]

_METHODS = {
    "instance": select_instance_wise,
    "ascent": select_by_ascent,
    "global": select_globally,
    "greedy": select_greedy,
}
METHODS = ("auto", *_METHODS)
EXPECTATIONS = ("auto", "semi", "exact")
# Up to so many candidates "auto" takes the time for label passes: about as long as 3 to 10 times the row passes.
MOST_GLOBAL_ENTRIES = 50_000_000
# Up to so many "global" also looks for a better selection where the prices of a proof point: a fraction of a second.
MOST_PRICED_ENTRIES = 20_000
QUICK = Certification(rounds=100, target_gap=1e-4)


@dataclass(frozen=True)
class Task:
    """What is asked for: candidates, a utility, budgets, and how to go about it."""

    candidates: Candidates
    feasible: Feasible
    utility: Utility
    settings: Settings
    method: str = "auto"
    expectation: str = "auto"
    workers: int | None = None
    priors: LabelPriors | None = None
    condition_positives: Any = None
    certification: Certification | None = None


def run(task: Task) -> Selection:
    """Select, fill, and prove where that is asked for."""
    begin = time.perf_counter()
    candidates, feasible, utility = task.candidates, task.feasible, task.utility
    name = _check_expectation(task.expectation, utility)
    budgets = feasible.budgets if feasible.has_budget else None
    batch = describe_batch(candidates, budgets, task.priors, task.condition_positives)
    expectation = (Exact if name == "exact" else SemiEmpirical)(utility, candidates, batch)
    method = _check_method(task.method, expectation, feasible, utility)
    needs_one = expectation.needs_one_thread or candidates.n_entries < MIN_SHARED_ENTRIES
    with Threads(task.workers, needs_one=needs_one) as threads:
        rehearsal = SemiEmpirical(utility, candidates, expectation.batch) if expectation.is_dear else None
        problem = Problem(candidates, utility, expectation, feasible, task.settings, threads, rehearsal)
        outcome, proof = _select(task, problem, method)
        unfilled = expectation.expected()
        labels, value = _fill(problem, outcome, batch)
    check_value(utility, value)
    return Selection(
        labels,
        candidates.n_labels,
        utility,
        value,
        outcome.history,
        outcome.passes,
        time.perf_counter() - begin,
        outcome.converged,
        outcome.interrupted,
        method,
        name,
        None if proof is None else _certificate(task, problem, proof, batch, value, unfilled),
    )


def _select(task: Task, problem: Problem, method: str) -> tuple[Outcome, Proof | None]:
    """The candidates that are selected, and the proof where one is asked for."""
    aim = task.certification
    if not problem.feasible.has_budget:
        outcome = select_without_budget(problem.expectation, problem.threads)
    else:
        outcome = _METHODS[method](problem)
    if _is_quick(task, method) and not outcome.interrupted:
        outcome, _ = prove(problem, outcome, QUICK)
    if aim is None or outcome.interrupted:
        return outcome, None
    return prove(problem, outcome, aim)


def _fill(problem: Problem, outcome: Outcome, batch: Batch) -> tuple[NDArray, float]:
    """The labels of all slots, and what they are worth."""
    labels, value = _finish(problem, outcome.positions, batch)
    # Filled slots are not foreseen by the passes, so that what was found on the way may end higher; then it is taken.
    for positions in outcome.others:
        problem.expectation.count(positions)
        other_labels, other_value = _finish(problem, positions, batch)
        if other_value > value:
            labels, value = other_labels, other_value
    return labels, value


def _finish(problem: Problem, positions: NDArray, batch: Batch) -> tuple[NDArray, float]:
    labels = finish(problem.expectation, positions, problem.feasible)
    return labels, _value_of(labels, problem.expectation, batch, problem.utility)


def _certificate(
    task: Task, problem: Problem, proof: Proof, batch: Batch, value: float, unfilled: float
) -> Certificate:
    """The proof, held against the value of the selection found, or of the given one."""
    assert task.certification is not None
    given, expectation = task.certification.given, problem.expectation
    feasible = problem.feasible
    n_filled = int((feasible.budgets - feasible.least).sum()) if feasible.fills else 0
    # What is linear is filled in the best way there is; of the rest a slot gains at most so much.
    is_full = given is None or bool(((given.labels >= 0).sum(axis=1) == feasible.budgets).all())
    is_best = expectation.is_linear and is_full and not feasible.has_optional_labels
    filled = value - unfilled if is_best else n_filled * proof.largest_fill
    judged = value if given is None else expect(task.utility, task.candidates, given, batch, expectation.name)
    return proof.certificate(problem, judged, filled)


def _is_quick(task: Task, method: str) -> bool:
    """Whether prices take so little time that they may lead to a better selection without being asked for."""
    return method == "global" and task.candidates.n_entries <= MOST_PRICED_ENTRIES and is_supported(task.utility)


def _check_method(method: str, expected: SemiEmpirical, feasible: Feasible, utility: Utility) -> str:
    check_choice("method", method, METHODS)
    if not feasible.has_budget:
        if method != "auto":
            msg = f"method must be 'auto' where there is no budget (k=None, -k none). Got {method!r}."
            raise InputError(msg)
        return "without-budget"
    if method == "auto":
        return "instance" if expected.is_linear else "global" if _has_time(expected) else "ascent"
    if method == "instance" and not expected.is_linear:
        msg = (
            f"method='instance' needs a utility that is linear in the predictions. Got {utility}. "
            "Use method='ascent' (--method ascent)."
        )
        raise InputError(msg)
    return method


def _has_time(expected: SemiEmpirical) -> bool:
    """Whether label passes, 3 to 10 times the time of row passes, are worth it without being asked for."""
    is_slow = expected.needs_one_thread or (isinstance(expected, Exact) and expected.uses_laws)
    return expected.candidates.n_entries <= MOST_GLOBAL_ENTRIES and not is_slow


def _check_expectation(expectation: str, utility: Utility) -> str:
    check_choice("expectation", expectation, EXPECTATIONS)
    return expectation if expectation != "auto" else "exact" if supports_exact(utility) else "semi"


def _value_of(labels: NDArray, expected: SemiEmpirical, batch: Batch, utility: Utility) -> float:
    """What the selection is worth; where the working value was exact for rare labels only, by the laws of all."""
    if isinstance(expected, Exact) and expected.uses_laws:
        chosen = Chosen(labels, batch.n_labels)
        return expect(utility, expected.candidates, chosen, batch, "exact")
    return expected.expected()
