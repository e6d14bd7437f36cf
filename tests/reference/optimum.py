"""The best value of all feasible selections: by trying every one, and by a linear program where they are too many.

Feasible is what a certificate speaks of. An instance takes exactly min(k_i, number of its candidates) of them; by
fill="least-loss" its other slots go to labels that are no candidates, any of them; by fill="none" they stay empty.
Without a budget it takes any set of candidates. A given selection adds its labels to the candidates; where it leaves
slots empty that are to be filled, so may others, and where it takes fewer candidates than there is room for, too.
"""

import functools
import itertools
import math
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.optimize
import scipy.sparse as sp
from reference import expectations, utilities

REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "tibkat-gnd-en" / "plt-top100.tst.npz"

# Tiny problems: every selection is tried.


def enumerate_optimum(
    probabilities,
    utility,
    budgets,
    expectation,
    fill,
    *,
    is_candidate=None,
    given=None,
    training=None,
    condition_positives=None,
):
    """The best value of all feasible selections of a problem with at most 4 instances and 5 labels.

    Parameters
    ----------
    probabilities : array of shape (n, m)
    utility : str, or function (t, q, p) -> float
        A mixture as one writes it, or a formula whose mean over labels counts.
    budgets : int, sequence of n int, or None
    expectation : {"semi", "exact"}
    fill : {"least-loss", "none"}
    is_candidate : array of bool, shape (n, m), optional
        Default: the probabilities above 0.
    given : list of n lists of labels, optional
        The selection to certify, where it is not that of tailwise.
    training : utilities.Training, optional
    condition_positives : sequence of m float, optional
        By exact expectation, what exceeds the sum of the probabilities is Poisson distributed and never selected.
    """
    matrix = np.asarray(probabilities, dtype=np.float64)
    n, m = matrix.shape
    assert n <= 4
    assert m <= 5
    values = tabulate_labels(matrix, utility, count_slots(budgets, n), expectation, training, condition_positives)
    choices = list_choices(matrix > 0 if is_candidate is None else is_candidate, budgets, fill, given)
    return best_of_all(values, choices)


def count_slots(budgets, n):
    """What precision is divided by: the sum of the budgets, or n without."""
    return n if budgets is None else max(1, int(np.broadcast_to(budgets, n).sum()))


def best_of_all(values, choices):
    """The best sum over labels, of all ways to give each instance one of its choices."""
    n, m = len(choices), len(values)
    total = np.zeros([len(row) for row in choices])
    for j in range(m):
        subset = np.zeros([1] * n, dtype=np.int64)
        for i, row in enumerate(choices):
            bits = np.array([(j in labels) << i for labels in row])
            subset = subset + bits.reshape([-1 if axis == i else 1 for axis in range(n)])
        total += np.array(values[j])[subset]
    return float(total.max())


def list_choices(is_candidate, budgets, fill, given=None):
    """All sets of labels that each instance may have."""
    n, m = np.shape(is_candidate)
    budgets = [None] * n if budgets is None else np.broadcast_to(budgets, n).tolist()
    given = [None] * n if given is None else given
    return [choices_of(set(np.flatnonzero(is_candidate[i]).tolist()), m, budgets[i], fill, given[i]) for i in range(n)]


def choices_of(candidates, m, budget, fill, given=None):
    candidates = candidates | set(given or ())
    if budget is None:
        return subsets(candidates, range(len(candidates) + 1))
    others = set(range(m)) - candidates
    room = min(budget, len(candidates))
    n_filled = budget - room if fill == "least-loss" else 0
    full = [taken | filling for taken in subsets(candidates, [room]) for filling in subsets(others, [n_filled])]
    if given is None or len(given) == room + n_filled:
        return full
    return full + subsets(candidates, range(0 if len(given) < room else room, room + 1))


def subsets(labels, sizes):
    return [frozenset(chosen) for size in sizes for chosen in itertools.combinations(sorted(labels), size)]


def tabulate_labels(matrix, utility, n_slots, expectation, training=None, condition_positives=None):
    """For each label the value of all 2^n sets of instances; bit i of the number of a set says whether it has i."""
    n, m = matrix.shape
    setting = utilities.Setting(m, n_slots, training)
    table = []
    for j in range(m):
        p = None if condition_positives is None else float(condition_positives[j])
        value = exact_value if expectation == "exact" else semi_value
        sets = ([bool(number >> i & 1) for i in range(n)] for number in range(2**n))
        table.append([value(utility, setting, j, matrix[:, j].tolist(), is_chosen, p) for is_chosen in sets])
    return table


def semi_value(utility, setting, j, column, is_chosen, p):
    """psi of the expected counts."""
    if callable(utility):
        t, q, total = utilities.counts_of(column, is_chosen)
        return utility(t, q, total if p is None else p) / setting.n_labels
    return utilities.mixture_value(_parse(utility), setting, j, column, is_chosen, p)


def exact_value(utility, setting, j, column, is_chosen, p):
    """Expectation of psi, over all numbers of positives."""
    extra = 0.0 if p is None else max(0.0, p - math.fsum(column))
    psi = functools.partial(_psi, utility, setting, j)
    return expectations.convolve_label(psi, column, is_chosen, extra)


@functools.cache
def _psi(utility, setting, j, t, q, p, n):
    if callable(utility):
        return utility(t, q, p) / setting.n_labels
    column, is_chosen = [1] * t + [0] * (n - t), [True] * q + [False] * (n - q)
    return utilities.mixture_value(_parse(utility), setting, j, column, is_chosen, p)


_parse = functools.cache(expectations.parse)


# Instances that are all alike: only numbers of them count.


def optimum_of_alike(etas, n, utility, k, expectation):
    """The optimum for n instances that all have the same probabilities, one per label.

    It matters only how many have each label: any numbers of at most n that add up to n k can be dealt out, k different
    labels to each. Label after label, the best value for every number of slots used so far.
    """
    setting, value = utilities.Setting(len(etas), n * k), exact_value if expectation == "exact" else semi_value
    best = np.array([0.0] + [-np.inf] * (n * k))
    for j, eta in enumerate(etas):
        chosen = ([True] * q + [False] * (n - q) for q in range(n + 1))
        values = [value(utility, setting, j, [eta] * n, is_chosen, None) for is_chosen in chosen]
        extended = np.full_like(best, -np.inf)
        for q, gained in enumerate(values[: n * k + 1]):
            extended[q:] = np.maximum(extended[q:], best[: best.size - q] + gained)
        best = extended
    return float(best[-1])


# Hundreds of instances: a linear program.


@dataclass(frozen=True)
class LinearOptimum:
    """What the linear program says.

    Attributes
    ----------
    value : float
        The utility of the selection that solves the program; where the solution is no selection, its own value.
    upper : float
        The bound by the prices of the program, in plain arithmetic: no selection is better, whatever the solver did.
    is_integral : bool
        Whether the solution is a selection, so that `value` is the optimum over selections.
    labels : ndarray of int, shape (n, k), or None
        That selection, -1 for a slot that the instance has no candidate for.
    prices : ndarray of shape (n,)
        What a slot of each instance is worth.
    n_variables : int
        Size of the last program.
    seconds : float
        Time taken in all.
    """

    value: float
    upper: float
    is_integral: bool
    labels: np.ndarray | None
    prices: np.ndarray
    n_variables: int
    seconds: float


def linear_program_optimum(rows, utility, k, expectation="semi", *, all_counts=False):
    r"""The optimum over all selections of exactly min(k, number of candidates) candidates for each instance.

    At fixed q the utility of a label is linear in its instances, with coefficients :math:`h_{ijq}`, so the problem is

    .. math:: \max \sum_{ijq} h_{ijq} z_{ijq} \quad\text{subject to}\quad
        z_{ijq} \le u_{jq},\; \sum_i z_{ijq} = q u_{jq},\; \sum_q u_{jq} \le 1,\; \sum_{jq} z_{ijq} = k_i,\; z, u \ge 0,

    where :math:`u_{jq} = 1` says that label j is selected for q instances. Few counts q matter: the program holds only
    those that the prices of an earlier, smaller one ask for, until they ask for none. That is the optimum over all.

    Parameters
    ----------
    rows : sparse matrix or array of shape (n, m)
        Label probabilities; what is stored (of an array: not 0) is a candidate. Some hundred rows at most, one
        candidate at least.
    utility : {"macro-f1", "macro-precision"}
    k : int
    expectation : {"semi", "exact"}
    all_counts : bool
        All counts at once: the same optimum, slower. For tests.

    Returns
    -------
    LinearOptimum
    """
    begin = time.perf_counter()
    problem = LinearProblem(sp.csr_array(rows), utility, k, expectation)
    counts = problem.all_counts() if all_counts else problem.first_counts()
    while True:
        solution = solve(problem, counts)
        if set(problem.ask(solution)) <= set(counts):
            return problem.summarise(solution, time.perf_counter() - begin)
        # With those that are nearly asked for, fewer programs are needed.
        counts = sorted({*counts, *problem.ask(solution, -0.02)})


class LinearProblem:
    """The candidates label by label, with their coefficients at every count q; in sums over labels, not means."""

    def __init__(self, rows, utility, k, expectation):
        self.rows, (self.n, self.m) = rows, rows.shape
        self.k, self.room = k, np.minimum(k, np.diff(rows.indptr))
        columns = rows.astype(np.float64).tocsc()
        self.indptr, self.instances, self.etas = columns.indptr, columns.indices, columns.data
        find = COEFFICIENTS[utility, expectation]
        # Of a label with c candidates an array of shape (c, c): candidate by candidate, q from 1 to c.
        self.coefficients = [find(self.etas[self.part(j)]) for j in range(self.m)]

    def part(self, j):
        """The entries of a label."""
        return slice(self.indptr[j], self.indptr[j + 1])

    def size(self, j):
        return int(self.indptr[j + 1] - self.indptr[j])

    def all_counts(self):
        return [(j, q) for j in range(self.m) for q in range(1, self.size(j) + 1)]

    def first_counts(self):
        """1, 2, and the count by the most probable labels, with which the program has a solution."""
        tops = np.zeros(self.m, dtype=np.int64)
        for i in range(self.n):
            row = slice(self.rows.indptr[i], self.rows.indptr[i + 1])
            best = np.argsort(-self.rows.data[row], kind="stable")[: self.room[i]]
            tops[self.rows.indices[row][best]] += 1
        return [(j, q) for j in range(self.m) for q in sorted({1, 2, int(tops[j])}) if 1 <= q <= self.size(j)]

    def ask(self, solution, margin=1e-10):
        """The counts that are worth more, by a margin, at these prices than what their label is worth now."""
        for j in range(self.m):
            worth = self.worth(j, solution.prices)
            yield from ((j, int(q) + 1) for q in np.flatnonzero(worth > max(0.0, solution.worth[j]) + margin))

    def worth(self, j, prices):
        """Of the best set of each size of one label, its instances paid for."""
        net = self.coefficients[j] - prices[self.instances[self.part(j)], None]
        return np.triu(-np.sort(-net, axis=0)).sum(axis=0)

    def bound(self, prices):
        """No selection is worth more, whatever the prices."""
        best = (max(0.0, self.worth(j, prices).max(initial=0.0)) for j in range(self.m))
        return math.fsum([*(self.room * prices), *best])

    def value(self, is_chosen):
        """Of a selection, entry by entry."""
        total = []
        for j in range(self.m):
            chosen = is_chosen[self.part(j)]
            if chosen.any():
                total += self.coefficients[j][chosen, chosen.sum() - 1].tolist()
        return math.fsum(total)

    def summarise(self, solution, seconds):
        is_chosen = solution.amounts > 0.5
        is_integral = bool(np.abs(solution.amounts - is_chosen).max() < 1e-6)
        # Equal amounts of several counts may add up to a selection, too; its own value then decides.
        value = self.value(is_chosen) if is_integral else solution.value
        is_integral = is_integral and value > solution.value - 1e-7 * abs(solution.value)
        return LinearOptimum(
            (value if is_integral else solution.value) / self.m,
            self.bound(solution.prices) / self.m,
            is_integral,
            self.labels(is_chosen) if is_integral else None,
            solution.prices / self.m,
            solution.n_variables,
            seconds,
        )

    def labels(self, is_chosen):
        labels = np.full((self.n, self.k), -1)
        taken = np.zeros(self.n, dtype=np.int64)
        for j in range(self.m):
            chosen = self.instances[self.part(j)][is_chosen[self.part(j)]]
            labels[chosen, taken[chosen]] = j
            taken[chosen] += 1
        assert (taken == self.room).all()
        return labels


@dataclass(frozen=True)
class Solution:
    """Of one program: how much of each entry is selected, and what slots and labels are worth."""

    value: float
    amounts: np.ndarray
    prices: np.ndarray
    worth: np.ndarray
    n_variables: int


def solve(problem, counts):
    """The program with these counts only. Its variables are the u of all (j, q), then the z of all their candidates."""
    labels, q = (np.array(part) for part in zip(*counts, strict=True))
    sizes = np.diff(problem.indptr)[labels]
    n_u, n_z = labels.size, int(sizes.sum())
    of_u = np.repeat(np.arange(n_u), sizes)
    entries = np.arange(n_z) - np.repeat(np.cumsum(sizes) - sizes, sizes) + problem.indptr[labels][of_u]
    h = np.concatenate([problem.coefficients[j][:, count - 1] for j, count in counts])

    u, z = np.arange(n_u), n_u + np.arange(n_z)
    within = _matrix([(z - n_u, z, 1.0), (z - n_u, of_u, -1.0)], (n_z, n_u + n_z))
    once = _matrix([(labels, u, 1.0)], (problem.m, n_u + n_z))
    counted = _matrix([(of_u, z, 1.0), (u, u, -q)], (n_u, n_u + n_z))
    budgets = _matrix([(problem.instances[entries], z, 1.0)], (problem.n, n_u + n_z))
    found = scipy.optimize.linprog(
        -np.concatenate([np.zeros(n_u), h]),
        A_ub=sp.vstack([once, within]),
        b_ub=np.repeat([1.0, 0.0], [problem.m, n_z]),
        A_eq=sp.vstack([budgets, counted]),
        b_eq=np.concatenate([problem.room, np.zeros(n_u)]),
        method="highs-ipm",
    )
    assert found.status == 0, found.message
    amounts = np.bincount(entries, weights=found.x[n_u:], minlength=problem.etas.size)
    prices, worth = -found.eqlin.marginals[: problem.n], -found.ineqlin.marginals[: problem.m]
    return Solution(-found.fun, amounts, prices, worth, n_u + n_z)


def _matrix(parts, shape):
    """From (rows, columns, values), values broadcast."""
    parts = [np.broadcast_arrays(*part) for part in parts]
    rows, columns, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return sp.csr_array((values, (rows, columns)), shape=shape)


def precision_coefficients(etas):
    """eta / q."""
    return etas[:, None] / np.arange(1, etas.size + 1)


def f1_coefficients(etas):
    """2 eta / (q + p), psi of the expected counts."""
    return 2 * etas[:, None] / (np.arange(1, etas.size + 1) + etas.sum())


def exact_f1_coefficients(etas):
    """2 eta E[1 / (q + 1 + positives among the others)], by the distribution of those."""
    size = etas.size
    q, b = np.arange(1, size + 1), np.arange(size)
    return 2 * etas[:, None] * (distribute_others(etas) @ (1 / (q + 1.0 + b[:, None])))


def distribute_others(etas):
    """For each candidate the distribution of the number of positives among all others, shape (c, c)."""
    pmf = np.zeros((etas.size, etas.size + 1))
    pmf[:, 0] = 1.0
    for x, eta in enumerate(etas):
        others = np.arange(etas.size) != x
        moved = eta * pmf[others, :-1]
        pmf[others] *= 1 - eta
        pmf[others, 1:] += moved
    return pmf[:, : etas.size]


COEFFICIENTS = {
    ("macro-precision", "semi"): precision_coefficients,
    ("macro-precision", "exact"): precision_coefficients,
    ("macro-f1", "semi"): f1_coefficients,
    ("macro-f1", "exact"): exact_f1_coefficients,
}


def draw_rows(matrix, n_rows, top, seed):
    """A problem for the program: some rows of a matrix, the most probable candidates of each, the labels these have."""
    rng = np.random.default_rng(seed)
    rows = sp.csr_array(matrix)[np.sort(rng.choice(matrix.shape[0], n_rows, replace=False))]
    kept = sp.lil_array(rows.shape)
    for i in range(n_rows):
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        best = np.argsort(-rows.data[part], kind="stable")[:top]
        kept[i, rows.indices[part][best]] = rows.data[part][best]
    used = np.unique(kept.nonzero()[1])
    return sp.csr_array(kept.tocsc()[:, used])
