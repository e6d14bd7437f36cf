"""A question to tailwise, the answer, and what may be found wrong with it."""

import math
import warnings
from dataclasses import dataclass, field

from fuzz.reference import BY_LAWS, FORMULAS

import tailwise as tw
from tailwise.errors import TailwiseError


@dataclass(frozen=True)
class Call:
    """A function of tailwise with its arguments beside probabilities, utility and context."""

    function: str
    arguments: dict = field(default_factory=dict)

    @property
    def name(self):
        """Short, and the same for calls of one kind."""
        return f"{self.function}(certify=True)" if self.arguments.get("certify") else self.function


@dataclass(frozen=True)
class Answer:
    """What a call gave: a result or an error, the warnings on the way, and how many instances moved in each pass."""

    call: Call
    result: object
    error: Exception | None
    warned: tuple
    moved: tuple

    def mismatch(self, kind, detail):
        return Mismatch(kind, self.call, detail)

    @property
    def refusal(self):
        """The error as a mismatch: one that is meant for users, or any other."""
        kind = "refused" if isinstance(self.error, TailwiseError) else "exception"
        return self.mismatch(kind, f"{type(self.error).__name__}: {self.error}")


@dataclass(frozen=True)
class Mismatch:
    """What was found wrong: the kind, the call, and what was seen."""

    kind: str
    call: Call
    detail: str


def ask(problem, function, **arguments):
    """The answer of a function of tailwise, whatever it is."""
    moved = []
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            more = arguments if problem.context is None else {**arguments, "context": problem.totals()}
            if problem.excluded and function != "expected_utility":
                more = {**more, "exclude": problem.exclusions()}
            if function == "select":
                more = {**more, "on_pass": lambda told: moved.append(told.moved)}
            result = getattr(tw, function)(problem.probabilities(), utility=problem.utility(), **more)
            error = None
        except Exception as failure:  # every exception is an answer, to be judged by the caller
            result, error = None, failure
    return Answer(Call(function, arguments), result, error, tuple(warned), tuple(moved))


def is_close(problem, found, true, expectation):
    """Whether a value is the true one, within 1e-6 of it and the slack of the utility."""
    return math.isfinite(found) and abs(found - true) <= 1e-6 * abs(true) + slack_of(problem, expectation)


def slack_of(problem, expectation):
    """1e-9, or what is promised or possible where that is more; times the largest weight of a label above 1.

    tailwise promises an absolute error of 1e-8 for exact values by laws of hits and misses (G-mean, H-mean, AUC, a
    user's formula). The square root of G-mean turns a rounding error of 4e-16 in a count of 0 into 6e-7, where there is
    only a thousandth of a negative.
    """
    names = {term.name for term in problem.terms}
    largest = max(largest_weight(term) for term in problem.terms)
    if "macro-gmean" in names:
        return 1e-6 * largest
    return largest * (2e-8 if expectation == "exact" and names & {*BY_LAWS, *FORMULAS} else 1e-9)


def largest_weight(term):
    """Of a label in a term, or 1 where that is more."""
    return max(1.0, *(0.0, *term.weights))


def rows_of(labels):
    """The labels of each instance, from an array with -1 for empty slots."""
    return [[int(j) for j in row if j >= 0] for row in labels]
