"""Selections by trying all of them, and the paper's algorithms in plain loops.

A selection is a list of lists: the labels of each instance. Probabilities are a dense matrix; `is_candidate` says which
of its entries may be selected, by default those above 0.
"""

import functools
import itertools

import numpy as np
from reference import utilities


class Problem:
    """Probabilities, a mixture of utilities and a budget, with the value of any selection."""

    def __init__(self, matrix, mixture, k, *, training=None, p=None, is_candidate=None):
        self.matrix = np.asarray(matrix, dtype=np.float64)
        self.n, self.m = self.matrix.shape
        self.mixture = {mixture: 1.0} if isinstance(mixture, str) else mixture
        self.budgets = None if k is None else [int(budget) for budget in np.broadcast_to(k, self.n)]
        self.is_candidate = self.matrix > 0 if is_candidate is None else is_candidate
        self.p = p
        n_slots = self.n if k is None else max(1, sum(self.budgets))
        self.setting = utilities.Setting(self.m, n_slots, training)
        self.label_value = functools.cache(self._label_value)

    def candidates(self, i):
        return [j for j in range(self.m) if self.is_candidate[i, j]]

    def room(self, i):
        """How many candidates instance i takes."""
        return min(self.budgets[i], len(self.candidates(i)))

    def _label_value(self, j, instances):
        is_chosen = [i in instances for i in range(self.n)]
        p = None if self.p is None else self.p[j]
        return utilities.mixture_value(self.mixture, self.setting, j, self.matrix[:, j].tolist(), is_chosen, p)

    def value(self, selection):
        """Expected utility of a selection."""
        return sum(self.label_value(j, instances) for j, instances in enumerate(by_label(selection, self.m)))

    def gain(self, i, j, selection):
        """What label j for instance i adds, all else as it is."""
        others = frozenset(other for other in range(self.n) if other != i and j in selection[other])
        return self.label_value(j, others | {i}) - self.label_value(j, others)

    def gains(self, i, selection):
        """Of each label."""
        return [self.gain(i, j, selection) for j in range(self.m)]


def as_lists(labels):
    """An (n, k) array with -1 for empty slots as lists."""
    return [[int(j) for j in row if j >= 0] for row in labels]


def by_label(selection, m):
    """The instances of each label."""
    return [frozenset(i for i, labels in enumerate(selection) if j in labels) for j in range(m)]


def choices(problem, i):
    """All sets of candidates that instance i may take."""
    return itertools.combinations(problem.candidates(i), problem.room(i))


def best_value(problem):
    """The largest value of all selections of candidates."""
    selections = itertools.product(*(list(choices(problem, i)) for i in range(problem.n)))
    return max(problem.value(selection) for selection in selections)


def best_change(problem, selection):
    """How much the best other choice of a single instance would add, all others as they are."""
    changes = [0.0]
    for i in range(problem.n):
        others = by_label([*selection[:i], [], *selection[i + 1 :]], problem.m)
        without = [problem.label_value(j, others[j]) for j in range(problem.m)]
        with_i = [problem.label_value(j, others[j] | {i}) for j in range(problem.m)]

        def value_of(choice, without=without, with_i=with_i):
            return sum(with_i[j] if j in choice else without[j] for j in range(problem.m))

        changes += [value_of(choice) - value_of(selection[i]) for choice in choices(problem, i)]
    return max(changes)


def top_by(numbers, labels, k):
    """The k labels of largest number, ties to the smaller label."""
    return sorted(labels, key=lambda j: (-numbers[j], j))[:k]


def top(problem):
    """The most probable candidates of each instance."""
    return [top_by(problem.matrix[i], problem.candidates(i), problem.room(i)) for i in range(problem.n)]


def weighted_top(problem, slopes, offsets):
    """The candidates of largest slope * probability + offset."""
    lines = problem.matrix * np.asarray(slopes) + np.asarray(offsets)
    return [top_by(lines[i], problem.candidates(i), problem.room(i)) for i in range(problem.n)]


def greedy(problem, order):
    """Each instance in turn takes its labels of largest gain; those after it have none yet."""
    selection = [[] for _ in range(problem.n)]
    for i in order:
        selection[i] = top_by(problem.gains(i, selection), problem.candidates(i), problem.room(i))
    return selection


def ascend(problem, selection, rng, tolerance=1e-12):
    """The paper's block coordinate ascent: one instance at a time, in random order, until no pass gains anything."""
    selection, value = [list(labels) for labels in selection], -np.inf
    while problem.value(selection) > value + tolerance:
        value = problem.value(selection)
        for i in rng.permutation(problem.n):
            selection[i] = top_by(problem.gains(i, selection), problem.candidates(i), problem.room(i))
    return selection


def best_without_budget(problem):
    """For each label the best value over all sets of its candidate instances, and the smallest size of such a set."""
    found = []
    for j in range(problem.m):
        instances = [i for i in range(problem.n) if problem.is_candidate[i, j]]
        sets = [frozenset(s) for size in range(len(instances) + 1) for s in itertools.combinations(instances, size)]
        best = max(problem.label_value(j, s) for s in sets)
        found.append((best, min(len(s) for s in sets if problem.label_value(j, s) > best - 1e-12)))
    return found


def fill(problem, selection):
    """Instance after instance, the labels that are no candidates and cost least, up to the budget."""
    selection = [list(labels) for labels in selection]
    for i in range(problem.n):
        others = [j for j in range(problem.m) if not problem.is_candidate[i, j]]
        short = problem.budgets[i] - len(selection[i])
        selection[i] += top_by(problem.gains(i, selection), others, short)
    return selection


def random_matrix(seed, n, m, density=1.0):
    """Probabilities without ties, a few large and many small; about a share of 1 - density of them is 0."""
    rng = np.random.default_rng(seed)
    matrix = np.clip(rng.beta(0.4, 1.0, (n, m)), 0.01, 0.99) + 0.001 * rng.random((n, m))
    return np.where(rng.random((n, m)) < density, matrix, 0.0)


def random_training(seed, m, n_instances=50):
    """Training counts, the first label never seen."""
    counts = np.random.default_rng(seed).integers(0, n_instances, m)
    counts[0] = 0
    return utilities.Training(tuple(int(count) for count in counts), n_instances)
