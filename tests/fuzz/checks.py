"""A problem is handed to tailwise, and what comes back is held against the truth."""

import itertools
import re

import numpy as np
from fuzz.asking import ask, is_close, rows_of, slack_of
from fuzz.certificate_checks import check_certificate_of_given, check_certified_selection
from fuzz.problems import as_array
from fuzz.truth import Truth


def check(problem):
    """All mismatches of a problem."""
    truth = Truth(problem)
    arguments = {"k": problem.k, **problem.options()}
    plain = ask(problem, "select", **arguments, workers=1)
    if plain.error:
        return [plain.refusal]
    found = check_selection(truth, plain)
    if not found:
        found += check_threads(problem, plain, arguments)
        found += check_search(truth, plain)
        certified = ask(problem, "select", **arguments, workers=1, certify=True)
        found += check_certified_selection(truth, plain.result, certified)
        if certified.result is not None:
            found += check_selection(truth, certified)
    found += check_certificate_of_given(truth)
    found += check_expected_utility(truth, rows_of(plain.result.labels))
    return found + check_expected_utility(truth, problem.given)


def check_selection(truth, answer):
    """Labels, value, history and warnings of a selection."""
    problem, selection, found = truth.problem, answer.result, []
    wrong = problem.wrong_labels(np.asarray(selection.labels))
    if wrong:
        return [answer.mismatch("infeasible", f"{wrong}: {selection.labels.tolist()}")]
    rows = rows_of(selection.labels)
    true = truth.value(rows, selection.expectation)
    if not is_close(problem, selection.expected, true, selection.expectation):
        found.append(answer.mismatch("value", f"expected {selection.expected!r}, true {true!r}, labels {rows}"))
    found += check_totals(truth, answer, rows)
    # A label that must be taken may cost, so that a start with too few labels may be worth more.
    history = selection.history[1:] if problem.starts_incomplete else selection.history
    slack = slack_of(problem, selection.expectation)
    rises = all(b >= a - 1e-9 * abs(a) - slack for a, b in itertools.pairwise(history))
    if not (rises and np.isfinite(history).all()):
        found.append(answer.mismatch("history", str(history)))
    return found + check_warnings(problem, answer, rows)


def check_totals(truth, answer, rows):
    """t, q and p of a selection, without those of its context."""
    totals, found = answer.result.totals, []
    for name, true in truth.count(rows).items():
        numbers = getattr(totals, name)
        if not np.allclose(numbers, true, rtol=1e-9, atol=1e-9):
            found.append(answer.mismatch("totals", f"{name} {numbers.tolist()}, true {true}, labels {rows}"))
    return found


def check_warnings(problem, answer, rows):
    """One warning where slots are empty, with the number of rows, unless that was asked for."""
    n_short = 0
    if problem.fill != "none" and problem.k is not None:
        n_short = sum(len(row) < budget for row, budget in zip(rows, problem.budgets, strict=True))
    texts = [f"{warning.category.__name__}: {warning.message}" for warning in answer.warned]
    if len(texts) == bool(n_short) and all(_tells(text, n_short) for text in texts):
        return []
    return [answer.mismatch("warning", f"{n_short} rows with empty slots, warnings {texts}")]


def _tells(text, number):
    return text.startswith("EmptySlotsWarning") and str(number) in re.findall(r"\d+", text)


def check_threads(problem, plain, arguments):
    """The same labels and the same value, to the last bit, on two workers."""
    other = ask(problem, "select", **arguments, workers=2)
    if other.error:
        return [other.refusal]
    one, two = plain.result, other.result
    if np.array_equal(one.labels, two.labels) and one.expected == two.expected:
        return []
    return [other.mismatch("workers", f"{one.labels.tolist()} on one, {two.labels.tolist()} on two")]


def check_search(truth, answer):
    """What a search promises: the optimum where it is easy, no step back from its start, no row that could gain."""
    problem, expectation, found = truth.problem, answer.result.expectation, []
    rows = rows_of(answer.result.labels)
    value = truth.value(rows, expectation)
    slack = 3e-6 * abs(value) + 1e-7  # the search stops at gains below 1e-7
    if problem.k is None or problem.method == "instance":
        optimum = truth.optimum(expectation)
        if optimum is not None and value < optimum - slack:
            found.append(answer.mismatch("optimum", f"value {value!r}, optimum {optimum!r}, labels {rows}"))
    elif problem.method in ("ascent", "global") and not problem.is_filled(rows) and truth.has_exact_gains(expectation):
        start = truth.value(problem.given, expectation) if problem.starts_feasible else value
        if value < start - slack:
            found.append(answer.mismatch("start", f"value {value!r}, that of the given start {start!r}"))
        # An ascent may also end with a pass that moved rows for less than the tolerance, which opens new moves.
        if problem.method == "ascent" and problem.is_small and answer.moved[-1:] == (0,):
            gain = truth.best_change_of_a_row(rows, expectation)
            if gain > slack + 1e-6:
                found.append(answer.mismatch("row", f"an instance could gain {gain!r}; value {value!r}, {rows}"))
    return found


def check_expected_utility(truth, rows):
    """expected_utility by both expectations, with the budgets and without."""
    problem, found = truth.problem, []
    asked = (1, problem.shape[0]) if problem.k is None else (problem.k, max(1, sum(problem.budgets)))
    for expectation in ("semi", "exact"):
        for k, n_slots in (asked, (None, max(1, sum(map(len, rows))))):
            answer = ask(problem, "expected_utility", k=k, selection=as_array(rows), expectation=expectation)
            if answer.error:
                found.append(answer.refusal)
                continue
            true = truth.value(rows, expectation, n_slots=n_slots)
            if not is_close(problem, answer.result, true, expectation):
                found.append(answer.mismatch("value", f"{answer.result!r}, true {true!r}"))
    return found
