"""Certificates are held against the best of all feasible selections."""

import math

from fuzz.asking import ask, is_close, largest_weight, rows_of
from fuzz.reference import BY_LAWS, FORMULAS

from tailwise.errors import TailwiseError


def has_certificate(problem, expectation):
    """True, False, or None where it is for tailwise to say: a formula may happen to be linear at these numbers."""
    names = {term.name for term in problem.terms}
    if names & set(BY_LAWS) or (names & set(FORMULAS) and expectation == "exact"):
        return False
    return None if "smoothed-jaccard" in names else True


def check_certified_selection(truth, plain, answer):
    """select(certify=True): no worse than without, and a bound that holds."""
    problem = truth.problem
    if answer.error or has_certificate(problem, plain.expectation) is False:
        return _judge_refusal(problem, plain.expectation, answer)
    selection, found = answer.result, []
    if problem.wrong_labels(selection.labels):
        return []  # said by others already
    value = truth.value(rows_of(selection.labels), selection.expectation)
    before = truth.value(rows_of(plain.labels), plain.expectation)
    if value < before - 1e-6 * abs(before) - 1e-9:
        found.append(answer.mismatch("certify worse", f"{value!r}, without certify {before!r}"))
    extras = problem.given if problem.init == "given" else None
    found += _check_certificate(truth, answer, selection.certificate, value, extras)
    optimum, upper = truth.optimum(selection.expectation, extras), selection.certificate.upper
    if extras is not None:  # prices do not tell slots that must be taken from those that may be
        return found
    # What is linear in the predictions has no gap to speak of: prices are lowered until it is below a thousandth, and
    # the bound is rounded outwards by 1e-5 of the most that each label can be worth.
    slack = 1.1e-5 * sum(term.factor * largest_weight(term) for term in problem.terms) + 1e-5
    if problem.is_linear and optimum is not None and upper > optimum + 1.1e-3 * abs(optimum) + slack:
        found.append(answer.mismatch("loose", f"upper {upper!r}, optimum {optimum!r}, value {value!r}"))
    return found


def check_certificate_of_given(truth):
    """certify(given): its value, and a bound for it and for all that is feasible with its labels."""
    problem = truth.problem
    arguments = {"k": problem.k, "selection": problem.given_labels(), "fill": problem.fill}
    answer = ask(problem, "certify", **arguments, expectation=problem.expectation, workers=1)
    expectation = problem.expectation
    if expectation == "auto":
        expectation = "semi" if {term.name for term in problem.terms} & {*BY_LAWS, *FORMULAS} else "exact"
    if answer.error or has_certificate(problem, expectation) is False:
        return _judge_refusal(problem, expectation, answer)
    value = truth.value(problem.given, answer.result.expectation)
    return _check_certificate(truth, answer, answer.result, value, problem.given)


def _judge_refusal(problem, expectation, answer):
    """There must be an error meant for users where there is no certificate, and none where there is."""
    can = has_certificate(problem, expectation)
    if answer.error is None:
        return [answer.mismatch("not refused", "there is no certificate for this utility")]
    return [] if isinstance(answer.error, TailwiseError) and can is not True else [answer.refusal]


def _check_certificate(truth, answer, certificate, value, extras):
    """Its value is that of the selection; its bound is below neither that nor any feasible selection."""
    found = []
    if not is_close(truth.problem, certificate.value, value, certificate.expectation):
        found.append(answer.mismatch("value", f"certificate.value {certificate.value!r}, true {value!r}"))
    optimum = truth.optimum(certificate.expectation, extras)
    best = value if optimum is None else max(value, optimum)
    # Bounds are rounded outwards: they fall short by rounding errors of the reference at most.
    if not (math.isfinite(certificate.upper) and certificate.upper >= best - 1e-9 * abs(best) - 1e-12):
        found.append(answer.mismatch("bound", f"upper {certificate.upper!r}, optimum {optimum!r}, value {value!r}"))
    return found
