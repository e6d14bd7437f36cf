"""Selection by the exact expectation: honest values, local optima, never below the start, never above the optimum."""

import functools
import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from reference import expectations as exact
from reference import selection as reference
from reference import utilities
from reference.formulas import compiled, smoothed

import tailwise as tw
from tailwise.datasets import make_long_tail, zipf_candidates
from tailwise.errors import InputError

ASCENT = (
    {"macro-f1": 1.0},
    {"macro-fbeta(2)": 1.0},
    {"macro-jaccard": 1.0},
    {"precision": 0.7, "macro-f1": 0.3},
    {"macro-f1": 0.5, "coverage": 0.5},
    {"macro-jaccard": 0.4, "macro-recall": 0.3, "coverage": 0.3},
    {"macro-fbeta(0.5)": 1.0, "macro-jaccard": 1.0, "macro-balanced-accuracy": 0.5, "macro-precision": 0.1},
)
INSTANCE_WISE = (
    {"macro-recall": 1.0},
    {"macro-balanced-accuracy": 1.0},
    {"macro-recall": 0.6, "precision": 0.4},
    {"macro-recall": 0.5, "macro-balanced-accuracy": 2.0, "hamming": 0.3},
)
every_ascent = pytest.mark.parametrize("mixture", ASCENT, ids=utilities.as_text)
every_linear = pytest.mark.parametrize("mixture", INSTANCE_WISE, ids=utilities.as_text)
every_mixture = pytest.mark.parametrize("mixture", [*ASCENT, *INSTANCE_WISE], ids=utilities.as_text)
SEEDS = range(3)


class Problem(reference.Problem):
    """The value of a selection is its exact expectation; `extra` positives of each label are no candidates."""

    def __init__(self, *arguments, extra=None, **options):
        super().__init__(*arguments, **options)
        self.extra = np.zeros(self.m) if extra is None else np.asarray(extra)
        self.table = functools.cache(self._table)

    def _label_value(self, j, instances):
        column = self.matrix[:, j]
        is_chosen = np.isin(np.arange(self.n), list(instances))
        hits = exact.poisson_binomial(column[is_chosen])
        others = np.convolve(exact.poisson_binomial(column[~is_chosen]), exact.poisson(self.extra[j]))
        return float(hits @ self.table(hits.size - 1, others.size) @ others)

    def _table(self, q, n_others):
        """psi for all numbers of hits and of other positives; the same for every label, none having a weight."""
        return np.array([[self.psi(t, q, t + b, self.n) for b in range(n_others)] for t in range(q + 1)])

    def psi(self, t, q, p, n):
        column, is_chosen = [1] * t + [0] * (n - t), [True] * q + [False] * (n - q)
        return utilities.mixture_value(self.mixture, self.setting, 0, column, is_chosen, p)


def problem_of(seed, mixture, n=6, m=5, k=2, density=0.8, **options):
    return Problem(reference.random_matrix(seed, n, m, density), mixture, k, **options)


def stored(problem):
    """The matrix with its candidates of probability 0."""
    rows, columns = np.nonzero(problem.is_candidate)
    return sp.csr_array((problem.matrix[rows, columns], (rows, columns)), shape=problem.matrix.shape)


def select(problem, **options):
    options = {"expectation": "exact", "tolerance": 0, "fill": "none", **options}
    budgets = None if problem.budgets is None else np.array(problem.budgets)
    return tw.select(stored(problem), utilities.as_text(problem.mixture), budgets, **options)


def value_of(problem, labels):
    return problem.value(reference.as_lists(labels))


def expected(problem, labels, **options):
    k = 1 if problem.budgets is None else np.array(problem.budgets)
    return tw.expected_utility(stored(problem), utilities.as_text(problem.mixture), labels, k, **options)


def random_labels(seed, problem, k=2):
    """k distinct labels for each instance, candidates or not."""
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(problem.m)[:k] for _ in range(problem.n)])


@every_mixture
def test_the_reference_of_these_tests(mixture):
    problem = problem_of(0, mixture, extra=[0.0, 0.5, 0.0, 0.0, 2.0])
    labels = random_labels(0, problem)
    chosen = [[j in row for row in labels] for j in range(problem.m)]
    columns = problem.matrix.T.tolist()
    slow = sum(exact.convolve_label(problem.psi, columns[j], chosen[j], problem.extra[j]) for j in range(problem.m))
    assert value_of(problem, labels) == pytest.approx(slow, rel=1e-12)


# Ascent


@pytest.mark.boundscheck
@every_mixture
@pytest.mark.parametrize("fill", ["none", "least-loss"])
def test_expected_is_the_value_of_the_labels(mixture, fill):
    for seed, k in itertools.product(SEEDS, (1, 2, 4)):
        problem = problem_of(seed, mixture, k=k, density=0.6)
        for method in ("auto", "greedy"):
            found = select(problem, fill=fill, method=method)
            assert found.expectation == "exact"
            assert found.expected == pytest.approx(expected(problem, found.labels), rel=1e-6)
            assert found.expected == pytest.approx(value_of(problem, found.labels), rel=1e-6)


@pytest.mark.boundscheck
@every_ascent
@pytest.mark.parametrize("batch", [1, 4, "auto"])
def test_no_single_instance_can_improve(mixture, batch):
    for seed in SEEDS:
        problem = problem_of(seed, mixture, n=8)
        found = select(problem, method="ascent", group_size=batch, seed=seed)
        assert found.converged
        assert reference.best_change(problem, reference.as_lists(found.labels)) < 1e-7


@every_ascent
def test_no_single_instance_of_many_can_improve(mixture):
    for init in ("top", "random"):
        problem = problem_of(4, mixture, n=25, m=12, k=3, density=0.5)
        found = select(problem, init=init)
        assert found.converged
        assert found.expected == pytest.approx(value_of(problem, found.labels), rel=1e-6)
        assert reference.best_change(problem, reference.as_lists(found.labels)) < 1e-7


@pytest.mark.boundscheck
@every_ascent
@pytest.mark.parametrize("init", ["top", "random", "greedy"])
def test_never_below_a_named_start(mixture, init):
    for seed in SEEDS:
        problem = problem_of(seed, mixture, n=8)
        found = select(problem, init=init, seed=seed)
        assert found.expected >= found.history[0] - 1e-9
        start = found.history[0]
        if init == "top":
            start = expected(problem, [[*row, *[-1] * (2 - len(row))] for row in reference.top(problem)])
        if init == "greedy":
            start = select(problem, method="greedy", seed=seed).expected
        assert found.expected >= start - 1e-9


@every_ascent
@pytest.mark.parametrize("fill", ["none", "least-loss"])
def test_never_below_a_given_start(mixture, fill):
    for seed in range(6):
        problem = problem_of(seed, mixture, n=8, density=0.6)
        given = random_labels(seed, problem)
        found = select(problem, init=given, fill=fill)
        assert found.history[0] == pytest.approx(expected(problem, given), rel=1e-6, abs=1e-12)
        assert found.expected >= expected(problem, given) - 1e-9
        assert found.expected == pytest.approx(value_of(problem, found.labels), rel=1e-6)


@every_ascent
def test_a_selection_is_a_start(mixture):
    problem = problem_of(5, mixture, n=8)
    found = select(problem)
    again = select(problem, init=found)
    assert again.history[0] == pytest.approx(found.expected, rel=1e-9)
    assert again.expected >= found.expected - 1e-9


@pytest.mark.boundscheck
@every_ascent
@pytest.mark.parametrize("batch", [1, 3, "auto"])
def test_history_never_falls(mixture, batch):
    for seed in SEEDS:
        problem = problem_of(seed, mixture, n=15, m=8)
        found = select(problem, group_size=batch, init="random", seed=seed)
        assert len(found.history) == found.passes + 1
        assert (np.diff(found.history) >= -1e-9).all()
        assert found.history[-1] == pytest.approx(found.expected, rel=1e-6)


@pytest.mark.parametrize("name", ["macro-f1", "macro-jaccard", "0.5*precision + 0.5*macro-f1"])
@pytest.mark.parametrize("init", ["top", "random", "greedy"])
def test_history_never_falls_on_a_long_tail(name, init):
    matrix = long_tail().probabilities
    found = tw.select(matrix, name, 3, init=init)
    assert found.converged
    assert (np.diff(found.history) >= -1e-9).all()
    assert found.expected == pytest.approx(tw.expected_utility(matrix, name, found), rel=1e-6)


def test_history_never_falls_where_all_instances_want_the_same():
    rng = np.random.default_rng(0)
    alike = np.tile(rng.random(12), (40, 1)) * (1 - 1e-3 * rng.random((40, 12)))
    # The bounds of Jaccard take long where a label has many candidates.
    for (name, n), batch in itertools.product((("macro-f1", 40), ("macro-jaccard", 8)), (1, 5, 40)):
        matrix = alike[:n]
        for init in ("top", np.zeros((n, 1), dtype=int)):
            found = tw.select(matrix, name, 3, group_size=batch, init=init, expectation="exact")
            assert (np.diff(found.history) >= -1e-9).all()
            assert found.history[-1] == pytest.approx(found.expected, rel=1e-6)


@every_ascent
def test_never_above_the_optimum(mixture):
    for seed in SEEDS:
        problem = problem_of(seed, mixture, n=4, m=4, density=1.0)
        best = reference.best_value(problem)
        values = [select(problem, seed=s, init="random").expected for s in range(4)]
        assert max(values) <= best + 1e-7
        assert max(values) >= best - 0.1 * abs(best)


@every_ascent
def test_the_optimum_stays(mixture):
    problem = problem_of(9, mixture, n=4, m=4, density=1.0)
    selections = itertools.product(*(list(reference.choices(problem, i)) for i in range(4)))
    best = max(selections, key=problem.value)
    assert select(problem, init=np.array(best)).expected == pytest.approx(problem.value(best), rel=1e-6)


def test_zeros_and_ones():
    rng = np.random.default_rng(6)
    for mixture, seed in itertools.product((*ASCENT, *INSTANCE_WISE), SEEDS):
        matrix = np.random.default_rng(seed).choice([0.0, 0.001, 0.5, 0.999, 1.0], (7, 5))
        is_candidate = (matrix > 0) | (rng.random((7, 5)) < 0.7)
        problem = Problem(matrix, mixture, 2, is_candidate=is_candidate)
        found = select(problem)
        assert found.expected == pytest.approx(value_of(problem, found.labels), rel=1e-6)
        assert reference.best_change(problem, reference.as_lists(found.labels)) < 1e-7


@every_mixture
def test_single_precision(mixture):
    problem = problem_of(7, mixture, n=8)
    problem.matrix[:] = problem.matrix.astype(np.float32)
    single = tw.select(
        problem.matrix.astype(np.float32), utilities.as_text(mixture), 2, expectation="exact", fill="none"
    )
    assert single.expected == pytest.approx(value_of(problem, single.labels), rel=1e-6)
    assert reference.best_change(problem, reference.as_lists(single.labels)) < 1e-6


@pytest.mark.parametrize("name", ["macro-f1", "macro-jaccard", "macro-fbeta(0.5)"])
@pytest.mark.parametrize("etas", [(0.3, 0.2, 0.05), (0.01, 0.003, 0.001)])
def test_greedy_where_all_instances_are_alike(name, etas):
    """The order does not matter then: the next instance takes the label that gains most at its present q."""
    matrix, numbers = np.tile(etas, (150, 1)), np.arange(150)[:, None]
    values = [[tw.expected_utility(matrix[:, [j]], name, numbers < q) / 3 for q in range(151)] for j in range(3)]
    gains, q = np.diff(values), [0, 0, 0]
    for _ in numbers:
        q[int(np.argmax([gains[j, q[j]] if q[j] < 150 else -np.inf for j in range(3)]))] += 1
    found = tw.select(matrix, name, 1, method="greedy", expectation="exact")
    assert found.expected == pytest.approx(sum(values[j][q[j]] for j in range(3)), rel=1e-5)


# Closed form


@pytest.mark.boundscheck
@every_linear
def test_linear_utilities_are_solved_in_one_pass(mixture):
    for seed, k in itertools.product(SEEDS, (1, 2)):
        problem = problem_of(seed, mixture, n=5, m=4, k=k, density=0.9)
        found = select(problem, expectation="auto")
        assert (found.method, found.passes, found.converged, found.expectation) == ("instance", 1, True, "exact")
        assert found.expected == pytest.approx(value_of(problem, found.labels), rel=1e-6)
        assert found.expected == pytest.approx(reference.best_value(problem), rel=1e-6)
        ascended = select(problem, method="ascent")
        assert ascended.method == "ascent"
        assert ascended.expected == pytest.approx(found.expected, rel=1e-9)


@pytest.mark.boundscheck
@every_linear
def test_linear_utilities_with_certain_labels(mixture):
    """Every instance may be positive, so that balanced accuracy may have no negatives."""
    for seed in SEEDS:
        matrix = np.random.default_rng(seed).choice([0.5, 0.9, 0.999, 1.0], (4, 3))
        problem = Problem(matrix, mixture, 1)
        found = select(problem)
        assert found.expected == pytest.approx(reference.best_value(problem), rel=1e-6)
        assert found.expected == pytest.approx(value_of(problem, found.labels), rel=1e-6)


# Which expectation


@pytest.mark.parametrize("name", ["macro-f1", "macro-recall", "macro-jaccard", "precision", "precision + macro-f1"])
def test_auto_is_exact(name):
    matrix = reference.random_matrix(0, 12, 8)
    found, asked = (tw.select(matrix, name, 2, expectation=expectation) for expectation in ("auto", "exact"))
    assert found.expectation == "exact"
    assert found.labels.tobytes() == asked.labels.tobytes()
    assert found.expected == asked.expected


@pytest.mark.parametrize(
    "utility",
    ["macro-gmean", "macro-hmean", "macro-auc", "0.5*macro-f1 + 0.5*macro-gmean", compiled(smoothed)],
    ids=str,
)
def test_auto_is_semi_where_no_quadrature_helps(utility):
    matrix = reference.random_matrix(0, 12, 8)
    found = tw.select(matrix, utility, 2)
    assert found.expectation == "semi"
    assert found.expected == pytest.approx(tw.expected_utility(matrix, utility, found, expectation="semi"), rel=1e-10)


@pytest.mark.boundscheck
@pytest.mark.parametrize("name", ["macro-gmean", "macro-hmean", "macro-auc", "0.5*macro-f1 + 0.5*macro-gmean", "own"])
def test_any_formula_by_the_laws_of_hits_and_misses(name):
    utility = compiled(smoothed) if name == "own" else name
    for seed in range(4):
        matrix = reference.random_matrix(seed, 5, 4)
        matrix[0, 0], matrix[1, 1] = 1.0, 0.97
        found = tw.select(matrix, utility, 2, expectation="exact", seed=seed, init="random")
        value = tw.expected_utility(matrix, utility, found, 2)
        assert found.expectation == "exact"
        assert found.expected == pytest.approx(value, rel=1e-12)
        assert found.history[-1] == pytest.approx(value, rel=1e-9)
        for i, row in enumerate(matrix):
            for labels in itertools.combinations(np.flatnonzero(row), 2):
                changed = found.labels.copy()
                changed[i] = labels
                assert tw.expected_utility(matrix, utility, changed, 2) <= value + 1e-9


def test_method_and_expectation_are_checked():
    matrix = reference.random_matrix(0, 12, 8)
    with pytest.raises(InputError, match=r"method='instance' needs a utility that is linear in the predictions"):
        tw.select(matrix, "macro-f1", 2, method="instance", expectation="exact")
    with pytest.raises(InputError, match=r"expectation must be one of .*auto.*semi.*exact.* Got 'sampled'"):
        tw.select(matrix, "macro-f1", 2, expectation="sampled")
    # Recall divided by the expected positives is linear, and so is its exact expectation.
    for expectation in ("semi", "exact"):
        assert tw.select(matrix, "macro-recall", 2, expectation=expectation).method == "instance"


# Threads


@pytest.mark.parametrize("name", ["macro-f1", "macro-jaccard", "macro-recall", "precision + macro-balanced-accuracy"])
def test_threads_do_not_matter(name):
    matrix = zipf_candidates(2000, 500, 40)
    for batch in ("auto", 1000):  # the smaller batches are not worth sharing
        one, two = (tw.select(matrix, name, 3, workers=w, group_size=batch, expectation="exact") for w in (1, 2))
        assert one.labels.tobytes() == two.labels.tobytes()
        assert (one.history, one.expected) == (two.history, two.expected)
        assert one.expected == pytest.approx(tw.expected_utility(matrix, name, one), rel=1e-6)


# Budgets


@pytest.mark.boundscheck
@every_mixture
def test_without_budget(mixture):
    for seed in SEEDS:
        problem = problem_of(seed, mixture, k=None, density=0.7)
        found = select(problem)
        best = reference.best_without_budget(problem)
        assert (found.method, found.expectation) == ("without-budget", "exact")
        assert found.expected == pytest.approx(sum(value for value, _ in best), rel=1e-6)
        assert found.expected == pytest.approx(value_of(problem, found.labels), rel=1e-6)
        assert found.expected == pytest.approx(expected(problem, found.labels), rel=1e-9)


@pytest.mark.parametrize("name", ["macro-f1", "macro-jaccard", "macro-fbeta(0.5)", "macro-recall"])
@pytest.mark.parametrize("largest", [0.015, 0.4, 1.0])
def test_without_budget_and_with_many_candidates(name, largest):
    """The best of all prefixes of the sorted column, few or many."""
    column = np.linspace(largest, largest / 3, 200)[:, None]
    found = tw.select(column, name, None, expectation="exact")
    values = [tw.expected_utility(column, name, np.arange(200)[:, None] < q) for q in range(201)]
    assert found.expected == pytest.approx(max(values), rel=1e-6)


@pytest.mark.boundscheck
@every_mixture
def test_a_budget_for_each_instance(mixture):
    for seed in SEEDS:
        problem = problem_of(seed, mixture, n=7, k=[0, 1, 2, 3, 1, 5, 2])
        found = select(problem)
        counts = (found.labels >= 0).sum(axis=1)
        np.testing.assert_array_equal(counts, [problem.room(i) for i in range(7)])
        assert found.expected == pytest.approx(value_of(problem, found.labels), rel=1e-6)
        assert found.expected == pytest.approx(expected(problem, found.labels), rel=1e-6)
        assert reference.best_change(problem, reference.as_lists(found.labels)) < 1e-7


@pytest.mark.boundscheck
@every_mixture
def test_filling(mixture):
    """Instance 2 has one candidate, of three labels that it gets."""
    for seed in SEEDS:
        matrix = reference.random_matrix(seed, 6, 7)
        matrix[2, 1:] = 0
        problem = Problem(matrix, mixture, 3)
        empty, filled = select(problem), select(problem, fill="least-loss")
        assert (empty.labels[2] >= 0).sum() == 1
        rest = np.arange(6) != 2
        np.testing.assert_array_equal(filled.labels[rest], empty.labels[rest])
        assert sorted(filled.labels[2])[0] == 0
        before = reference.as_lists(empty.labels)
        choices = itertools.combinations(range(1, 7), 2)
        best = max(problem.value([*before[:2], [0, *choice], *before[3:]]) for choice in choices)
        assert filled.expected == pytest.approx(best, rel=1e-6)
        assert filled.expected == pytest.approx(value_of(problem, filled.labels), rel=1e-6)


@every_mixture
def test_filling_many(mixture):
    """Most instances have no candidates, and so most labels are selected more often than their candidates say."""
    problem = problem_of(0, mixture, n=24, m=4, density=1.0)
    problem.matrix[5:], problem.is_candidate[5:] = 0, False
    found = select(problem, fill="least-loss")
    assert (found.labels >= 0).all()
    assert found.expected == pytest.approx(value_of(problem, found.labels), rel=1e-6)


@every_mixture
def test_labels_without_positives(mixture):
    matrix = reference.random_matrix(1, 8, 6, 0.8)
    matrix[:, [0, 4]] = 0
    for is_candidate in (matrix > 0, (matrix > 0) | (np.arange(6) == 4)):
        problem = Problem(matrix, mixture, 2, is_candidate=is_candidate)
        found = select(problem)
        assert found.expected == pytest.approx(value_of(problem, found.labels), rel=1e-6)
        assert reference.best_change(problem, reference.as_lists(found.labels)) < 1e-7


@every_mixture
def test_no_positives_at_all(mixture):
    found = tw.select(np.zeros((5, 4)), utilities.as_text(mixture), 2, expectation="exact")
    assert (found.labels >= 0).all()
    problem = Problem(np.zeros((5, 4)), mixture, 2)
    assert found.expected == pytest.approx(value_of(problem, found.labels), rel=1e-6, abs=1e-15)


# Positives outside the candidates


NO_SPECIFICITY = [mixture for mixture in (*ASCENT, *INSTANCE_WISE) if "macro-balanced-accuracy" not in mixture]


@pytest.mark.boundscheck
@pytest.mark.parametrize("mixture", NO_SPECIFICITY, ids=utilities.as_text)
def test_given_condition_positives(mixture):
    for seed in SEEDS:
        extra = np.random.default_rng(seed).choice([0.0, 0.1, 2.0], 5)
        problem = problem_of(seed, mixture, extra=extra)
        p = problem.matrix.sum(axis=0) + extra
        found = select(problem, condition_positives=p)
        assert found.expected == pytest.approx(value_of(problem, found.labels), rel=1e-6)
        assert found.expected == pytest.approx(expected(problem, found.labels, condition_positives=p), rel=1e-6)
        assert reference.best_change(problem, reference.as_lists(found.labels)) < 1e-7


@pytest.mark.parametrize("name", ["macro-f1", "macro-recall", "macro-jaccard"])
def test_positives_from_priors(name):
    matrix = reference.random_matrix(2, 12, 6, 0.3)
    priors = tw.LabelPriors([5, 10, 20, 40, 45, 48], 60)
    assert (priors.probabilities * 12 > matrix.sum(axis=0)).any()
    found = tw.select(matrix, name, 2, expectation="exact", priors=priors, condition_positives="priors", fill="none")
    plain = tw.expected_utility(matrix, name, found)
    extra = np.maximum(0.0, priors.probabilities * 12 - matrix.sum(axis=0))
    slow = exact.expect(name, matrix, found.labels, extra=extra)
    assert found.expected == pytest.approx(slow, rel=1e-6)
    assert found.expected < plain  # the more positives, the more are missed


@every_ascent
def test_fewer_positives_than_the_candidates_expect_change_nothing(mixture):
    problem = problem_of(3, mixture)
    found, again = select(problem), select(problem, condition_positives=problem.matrix.sum(axis=0) * 0.3)
    assert again.expected == pytest.approx(value_of(problem, again.labels), rel=1e-6)
    assert again.expected == pytest.approx(found.expected, rel=1e-9)


# What it is for


@functools.cache
def long_tail():
    return make_long_tail(n_instances=400, n_labels=600, labels_per_instance=3, top=60, seed=1)


@pytest.mark.parametrize("name", ["macro-f1", "macro-recall"])
def test_beats_the_semi_empirical_expectation(name):
    matrix = long_tail().probabilities
    by_exact, by_semi = (tw.select(matrix, name, 3, expectation=expectation) for expectation in ("exact", "semi"))
    values = [tw.expected_utility(matrix, name, found) for found in (by_exact, by_semi)]
    assert by_exact.expected == pytest.approx(values[0], rel=1e-6)
    assert values[0] > 1.001 * values[1]
    assert by_semi.expected > 1.05 * values[1]  # which claims more than will come true


@pytest.mark.parametrize("name", ["macro-f1", "macro-recall", "macro-jaccard", "macro-balanced-accuracy", "coverage"])
def test_what_is_expected_comes_true(name):
    matrix = long_tail().probabilities
    found = tw.select(matrix, name, 3)
    drawn = tw.monte_carlo(matrix, name, found, draws=200)
    assert found.expectation == "exact"
    assert abs(drawn.mean - found.expected) <= 5 * drawn.standard_error


def test_inputs_are_not_changed():
    problem = problem_of(0, {"macro-f1": 1.0})
    matrix, given, p = problem.matrix.copy(), random_labels(0, problem), problem.matrix.sum(axis=0) + 1
    copies = [array.copy() for array in (matrix, given, p)]
    tw.select(matrix, "macro-f1", 2, init=given, condition_positives=p, expectation="exact")
    for before, after in zip(copies, (matrix, given, p), strict=True):
        np.testing.assert_array_equal(before, after)
