"""A problem: probabilities in one of their forms, a utility, and all that `select` and `certify` are asked for."""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from fuzz import feasible
from fuzz.elsewhere import Context
from fuzz.reference import FORMULAS, LINEAR, Term

import tailwise as tw

DENSE, SPARSE, PAIR = "dense", "csr", "pair"

# What takes weights per label, formulas of a user beside.
MACRO_CLASSES = {
    "macro-accuracy": "MacroAccuracy",
    "macro-auc": "MacroAUC",
    "macro-balanced-accuracy": "MacroBalancedAccuracy",
    "macro-f1": "MacroF1",
    "macro-fbeta": "MacroFBeta",
    "macro-gmean": "MacroGMean",
    "macro-hmean": "MacroHMean",
    "macro-jaccard": "MacroJaccard",
    "macro-precision": "MacroPrecision",
    "macro-recall": "MacroRecall",
    "coverage": "Coverage",
}


@dataclass(frozen=True)
class Problem:
    """A problem, its input form and the options of the search.

    Attributes
    ----------
    matrix : ndarray of float64, shape (n, m)
        The numbers as they are handed over: rounded already where the form is of float32.
    stored : ndarray of bool, shape (n, m)
        The candidates: what is not 0 in a dense form, what is stored in the others.
    given : tuple of tuples of labels
        A selection to certify, and the start of the search where `init` is "given".
    context : Context or None
        What was decided elsewhere.
    excluded : tuple of tuples of labels, or ()
        What must not come out for each instance; nothing of it is in `given`.
    """

    seed: int
    matrix: np.ndarray
    stored: np.ndarray
    dtype: str
    form: str
    terms: tuple[Term, ...]
    k: Any
    expectation: str
    method: str
    fill: str
    init: str
    given: tuple
    context: Context | None = None
    excluded: tuple = ()

    @property
    def shape(self):
        return self.matrix.shape

    @property
    def is_small(self):
        """Whether all selections can be tried."""
        return self.shape[0] <= 6

    @property
    def fills(self):
        return self.fill == "least-loss" or (self.fill == "auto" and self.form == DENSE)

    @property
    def budgets(self):
        n = self.shape[0]
        return [None] * n if self.k is None else np.broadcast_to(self.k, n).tolist()

    @property
    def is_linear(self):
        return all(term.name in LINEAR for term in self.terms)

    def candidates(self, i):
        return frozenset(np.flatnonzero(self.stored[i]).tolist()) - self.excluded_of(i)

    def excluded_of(self, i):
        return frozenset(self.excluded[i]) if self.excluded else frozenset()

    def choices(self, extras=None):
        """The sets of labels of each instance; with the labels of a given selection that are no candidates."""
        extras = extras or ((),) * self.shape[0]
        return [
            feasible.choices_of_row(
                self.candidates(i),
                set(extras[i]) - self.candidates(i),
                budget,
                self.shape[1],
                fills=self.fills,
                excluded=self.excluded_of(i),
            )
            for i, budget in enumerate(self.budgets)
        ]

    def probabilities(self):
        """What is handed to tailwise; single precision as Candidates, which small batches do not widen."""
        return tw.Candidates.of(self.numbers()) if self.dtype == "float32" else self.numbers()

    def numbers(self):
        """The probabilities in the form of the problem."""
        numbers = self.matrix.astype(self.dtype)
        if self.form == DENSE:
            return numbers
        rows, labels = np.nonzero(self.stored)
        indptr = np.concatenate([[0], np.cumsum(self.stored.sum(axis=1))])
        if self.form == SPARSE:
            return sp.csr_array((numbers[rows, labels], labels, indptr), shape=self.shape)
        width = max(1, int(self.stored.sum(axis=1).max()))
        columns, values = np.full((self.shape[0], width), -1), np.zeros((self.shape[0], width), dtype=self.dtype)
        for i in range(self.shape[0]):
            own = labels[indptr[i] : indptr[i + 1]][::-1]
            columns[i, : own.size], values[i, : own.size] = own, numbers[i, own]
        return columns, values

    def utility(self):
        """A name where there is one, an object otherwise; two terms on labels of their own as groups."""
        if all(term.name in tw.utilities.UTILITY_NAMES and not term.weights for term in self.terms):
            return " + ".join(as_text(term) for term in self.terms)
        if group_of(self.terms) is not None:
            first, rest = (_as_object(term._replace(weights=())) for term in self.terms)
            return tw.utilities.ByLabel([(group_of(self.terms), first)], rest=rest)
        total = None
        for term in self.terms:
            part = term.factor * _as_object(term)
            total = part if total is None else total + part
        return total

    def totals(self):
        """The context as tailwise takes it."""
        if self.context is None:
            return None
        total = tw.Totals.nothing(self.shape[1])
        for part in self.context.parts:
            numbers = np.array(part.numbers)
            source = {"truth": sp.csr_array(numbers)} if part.is_observed else {"probabilities": numbers}
            total = total + tw.Totals.of(as_array(part.labels), **source)
        return total if self.context.scale == 1 else self.context.scale * total

    def exclusions(self):
        """What is excluded, as tailwise takes it: a list of labels if they are the same for all, else a matrix."""
        if len(set(self.excluded)) == 1:
            return list(self.excluded[0])
        matrix = np.zeros(self.shape, dtype=bool)
        for i, labels in enumerate(self.excluded):
            matrix[i, list(labels)] = True
        return matrix if self.form == DENSE else sp.csc_array(matrix)

    def given_labels(self):
        return as_array(self.given)

    def options(self):
        """Arguments of `select` beside those that every function takes."""
        init = self.given_labels() if self.init == "given" else self.init
        seed = self.seed % 1000
        return {"method": self.method, "expectation": self.expectation, "fill": self.fill, "init": init, "seed": seed}

    def wrong_labels(self, labels):
        """What makes an array of labels infeasible, in words; None if nothing does."""
        n, m = self.shape
        if labels.ndim != 2 or labels.shape[0] != n or labels.min(initial=0) < -1 or labels.max(initial=0) >= m:
            return "labels out of range"
        for i, allowed in enumerate(self.choices(self.given if self.init == "given" else None)):
            row = [int(j) for j in labels[i] if j >= 0]
            if len(set(row)) < len(row):
                return f"a label twice for instance {i}"
            if frozenset(row) not in allowed:
                return f"instance {i} must not have {row}"
        return None

    @property
    def starts_feasible(self):
        """Whether the search has a given start that could be its result."""
        return self.init == "given" and self.wrong_labels(self.given_labels()) is None

    @property
    def starts_incomplete(self):
        """Whether the given start has fewer labels than an instance must take."""
        if self.init != "given" or self.k is None:
            return False
        rooms = [min(budget, len(self.candidates(i))) for i, budget in enumerate(self.budgets)]
        return any(len(row) < room for row, room in zip(self.given, rooms, strict=True))

    def is_filled(self, rows):
        """Whether slots were filled, which may cost."""
        return self.fills and any(set(row) - self.candidates(i) for i, row in enumerate(rows))


def as_array(rows):
    """A selection as an array of labels: -1 for an empty slot, and one column of these, as a 0/1 matrix never has."""
    width = 1 + max(len(row) for row in rows)
    return np.array([[*row, *([-1] * (width - len(row)))] for row in rows])


def as_text(term):
    parameters = f"({', '.join(map(str, term.parameters))})" if term.parameters else ""
    return f"{term.factor}*{term.name}{parameters}"


def group_of(terms):
    """The labels that the first of two terms counts for, where the second counts for all others; else None."""
    if [term.factor for term in terms] != [1.0, 1.0] or not all(term.weights for term in terms):
        return None
    first, second = (term.weights for term in terms)
    is_split = all({a, b} == {0.0, 1.0} for a, b in zip(first, second, strict=True))
    return [j for j, weight in enumerate(first) if weight] if is_split else None


def as_weights(weights):
    """Weights by label number where some are 1, which need not be given; one for each label otherwise."""
    return {j: weight for j, weight in enumerate(weights) if weight != 1} if 1.0 in weights else list(weights)


def _as_object(term):
    if term.name == "weighted":
        return tw.utilities.WeightedInstance(*map(np.array, term.parameters))
    if term.name in FORMULAS and term.weights:  # 0 and 1, so that it is compiled once
        return tw.utilities.ByLabel([(np.flatnonzero(term.weights).tolist(), _formula(term.name))], rest=None)
    if term.name in FORMULAS:
        return _formula(term.name)
    if term.weights:
        return getattr(tw.utilities, MACRO_CLASSES[term.name])(*term.parameters, weights=as_weights(term.weights))
    return tw.utilities.as_utility(as_text(term._replace(factor=1.0)))


@cache
def _formula(name):
    return tw.utilities.Utility.from_formula(FORMULAS[name], name=name)


def without_row(problem, i):
    """The problem with an instance less."""
    rest = [row for row in range(problem.shape[0]) if row != i]
    k = tuple(problem.k[row] for row in rest) if isinstance(problem.k, tuple) else problem.k
    return fit_pair(
        replace(
            problem,
            matrix=problem.matrix[rest],
            stored=problem.stored[rest],
            k=k,
            given=tuple(problem.given[row] for row in rest),
            excluded=tuple(problem.excluded[row] for row in rest) if problem.excluded else (),
        )
    )


def fit_pair(problem):
    """A pair knows of no label beyond its largest: an entry of that label keeps the number of labels."""
    last = problem.shape[1] - 1
    if problem.form != PAIR or problem.stored[:, last].any():
        return problem
    stored = problem.stored.copy()
    stored[0, last] = True
    return replace(problem, stored=stored)
