"""What is true of a problem: values of selections, and the best that can be had."""

import functools
import math

import numpy as np
from fuzz import feasible, reference
from fuzz.elsewhere import elsewhere_of


class Truth:
    """Values by the reference, for any selection (the labels of each instance) and both expectations."""

    def __init__(self, problem):
        self.problem = problem
        self.n, self.m = problem.shape
        numbers = np.where(problem.matrix < reference.SMALLEST_PROBABILITY, 0.0, problem.matrix)
        self.columns = [numbers[:, j].tolist() for j in range(self.m)]
        self.elsewhere = [elsewhere_of(problem.context, j) for j in range(self.m)]
        self.n_instances = self.n + (problem.context.n_instances if problem.context else 0)
        self.batch = reference.Batch(self.n_instances, self.m, self._count_slots())
        self.label_value = functools.cache(self._label_value)
        self.optimum = functools.cache(self._optimum)

    def value(self, rows, expectation, *, n_slots=None):
        """The expected utility of a selection; of all slots, or of as many as are said beside those elsewhere."""
        if all(term.name != "precision" for term in self.problem.terms):
            n_slots = None  # nothing else is divided by them
        sets = [frozenset(i for i, row in enumerate(rows) if j in row) for j in range(self.m)]
        return math.fsum(self.label_value(j, chosen, expectation, n_slots) for j, chosen in enumerate(sets))

    def count(self, rows):
        """t, q and p of each label in a selection, and nothing of the context."""
        taken = [[i for i, row in enumerate(rows) if j in row] for j in range(self.m)]
        t = [math.fsum(column[i] for i in own) for column, own in zip(self.columns, taken, strict=True)]
        return {"t": t, "q": list(map(len, taken)), "p": list(map(math.fsum, self.columns))}

    def has_exact_gains(self, expectation):
        """Whether a search sees what it gains: laws of hits and misses are kept for 8 expected positives at most."""
        names = {term.name for term in self.problem.terms}
        if expectation == "semi" or not names & {*reference.BY_LAWS, *reference.FORMULAS}:
            return True
        return all(math.fsum(own) + more.p <= 8 for own, more in zip(self.columns, self.elsewhere, strict=True))

    def _label_value(self, j, chosen, expectation, n_slots=None):
        batch = self.batch if n_slots is None else self.batch._replace(n_slots=n_slots + self._slots_elsewhere)
        if expectation == "semi":
            expect = reference.semi_empirical
        else:
            expect = reference.exact_by_enumeration if self.problem.is_small else reference.exact_by_laws
        return expect(self.problem.terms, batch, j, self.columns[j], chosen, self.elsewhere[j])

    @property
    def _slots_elsewhere(self):
        return self.problem.context.n_slots if self.problem.context else 0

    def _count_slots(self):
        """Slots of all instances; as many as instances where there is no budget."""
        if self.problem.k is None:
            return self.n_instances
        return max(1, sum(self.problem.budgets)) + self._slots_elsewhere

    def _optimum(self, expectation, extras=None):
        """The best value of all selections that are feasible; None where it is not known."""
        choices = self.problem.choices(extras)
        if self.problem.is_small:
            return feasible.best_value(self.tabulate(expectation), choices)
        return self._linear_optimum(choices, expectation) if self.problem.is_linear else None

    def tabulate(self, expectation):
        """For each label the values of all sets of instances; bit i of the number of a set says whether it has i."""
        sets = [frozenset(i for i in range(self.n) if number >> i & 1) for number in range(2**self.n)]
        return [[self.label_value(j, chosen, expectation, None) for chosen in sets] for j in range(self.m)]

    def _linear_optimum(self, choices, expectation):
        """Every instance by itself: what a label gains for it does not depend on the others."""
        nothing = [self.label_value(j, frozenset(), expectation, None) for j in range(self.m)]
        best = list(nothing)
        for i, row in enumerate(choices):
            gains = [self.label_value(j, frozenset([i]), expectation, None) - nothing[j] for j in range(self.m)]
            best.append(max(math.fsum(gains[j] for j in labels) for labels in row))
        return math.fsum(best)

    def best_change_of_a_row(self, rows, expectation):
        """How much a single instance could gain by other candidates, all others as they are."""
        best = 0.0
        for i, allowed in enumerate(self.problem.choices()):
            gains = [self._gain(i, j, rows, expectation) for j in range(self.m)]
            now = math.fsum(gains[j] for j in rows[i])
            best = max([best, *(math.fsum(gains[j] for j in labels) - now for labels in allowed)])
        return best

    def _gain(self, i, j, rows, expectation):
        others = frozenset(other for other, row in enumerate(rows) if other != i and j in row)
        without = self.label_value(j, others, expectation, None)
        return self.label_value(j, others | {i}, expectation, None) - without
