"""Block coordinate ascent: honest values, local optima, never below the start, never above the optimum."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from reference import selection as reference
from reference import utilities
from selection import semi

import tailwise as tw

pytestmark = pytest.mark.boundscheck

MIXTURES = (
    *({name: 1.0} for name in utilities.NONLINEAR),
    {"macro-fbeta(2)": 1.0},
    {"macro-fbeta(0.5)": 1.0},
    {"precision": 0.7, "macro-f1": 0.3},
    {"precision": 0.5, "coverage": 0.5},
    {"macro-recall": 0.3, "macro-jaccard": 0.4, "coverage": 0.3},
    {"hamming": 3.0, "macro-precision": 0.2, "macro-gmean": 0.5, "log": 0.01},
)
every_mixture = pytest.mark.parametrize("mixture", MIXTURES, ids=utilities.as_text)
SEEDS = range(4)


def problem_of(seed, mixture, n=7, m=5, k=2, density=0.8, **options):
    training = reference.random_training(seed, m)
    matrix = reference.random_matrix(seed, n, m, density)
    return reference.Problem(matrix, mixture, k, training=training, **options)


def select(problem, dtype=np.float64, **options):
    training = problem.setting.training
    priors = tw.LabelPriors(training.counts, training.n_instances)
    defaults = {"method": "ascent", "fill": "none", "tolerance": 0, "condition_positives": problem.p}
    options = {**defaults, "priors": priors, **options}
    return semi.select(problem.matrix.astype(dtype), utilities.as_text(problem.mixture), problem.budgets, **options)


def random_labels(seed, problem, k=2):
    """k distinct labels for each instance, candidates or not."""
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(problem.m)[:k] for _ in range(problem.n)])


def value_of(problem, labels):
    return problem.value(reference.as_lists(labels))


@every_mixture
@pytest.mark.parametrize("fill", ["none", "least-loss"])
def test_expected_is_the_value_of_the_labels(mixture, fill):
    for seed, k in itertools.product(SEEDS, (1, 2, 4)):
        problem = problem_of(seed, mixture, k=k, density=0.6)
        for method in ("ascent", "greedy"):
            found = select(problem, fill=fill, method=method)
            assert found.expected == pytest.approx(value_of(problem, found.labels), rel=1e-10, abs=1e-12)


@every_mixture
@pytest.mark.parametrize("batch", [1, 3, 7, "auto"])
def test_no_single_instance_can_improve(mixture, batch):
    for seed in SEEDS:
        problem = problem_of(seed, mixture)
        found = select(problem, group_size=batch, seed=seed)
        assert found.converged
        assert reference.best_change(problem, reference.as_lists(found.labels)) < 1e-10


@every_mixture
def test_never_above_the_optimum(mixture):
    for seed in SEEDS:
        problem = problem_of(seed, mixture, n=4, m=4, density=1.0)
        best = reference.best_value(problem)
        values = [select(problem, seed=s, init="random").expected for s in range(8)]
        assert max(values) <= best + 1e-12
        # Eight random starts on so small a problem: one of them gets (nearly) there.
        assert max(values) >= best - 0.1 * abs(best)


@every_mixture
def test_the_optimum_stays(mixture):
    problem = problem_of(9, mixture, n=4, m=4, density=1.0)
    selections = itertools.product(*(list(reference.choices(problem, i)) for i in range(4)))
    best = max(selections, key=problem.value)
    found = select(problem, init=np.array(best))
    assert found.expected == pytest.approx(problem.value(best), rel=1e-12)


@every_mixture
@pytest.mark.parametrize("init", ["top", "random", "greedy"])
def test_never_below_a_named_start(mixture, init):
    for seed in SEEDS:
        problem = problem_of(seed, mixture)
        found = select(problem, init=init, seed=seed)
        assert found.expected >= found.history[0] - 1e-12
        if init == "top":
            assert found.history[0] == pytest.approx(problem.value(reference.top(problem)), rel=1e-10)
        if init == "greedy":
            greedy = select(problem, method="greedy", seed=seed)
            assert found.history[0] == pytest.approx(greedy.expected, rel=1e-10)


@every_mixture
@pytest.mark.parametrize("fill", ["none", "least-loss"])
def test_never_below_a_given_start(mixture, fill):
    for seed in SEEDS:
        problem = problem_of(seed, mixture, density=0.6)
        given = random_labels(seed, problem)
        found = select(problem, init=given, fill=fill)
        assert found.history[0] == pytest.approx(value_of(problem, given), rel=1e-10, abs=1e-12)
        assert found.expected == pytest.approx(value_of(problem, found.labels), rel=1e-10, abs=1e-12)
        assert (np.diff(found.history) >= -1e-12).all()
        assert found.expected >= value_of(problem, given) - 1e-12


@every_mixture
def test_never_below_a_start_without_candidates(mixture):
    # The fourth and fifth label are candidates of nobody, yet the start has them everywhere.
    problem = problem_of(0, mixture, density=1.0)
    problem.matrix[:, 3:] = 0
    problem.is_candidate[:, 3:] = False
    given = np.tile([3, 4], (problem.n, 1))
    found = select(problem, init=given, fill="least-loss")
    assert found.expected >= value_of(problem, given) - 1e-12
    assert found.expected == pytest.approx(value_of(problem, found.labels), rel=1e-10, abs=1e-12)


def test_a_better_start_that_holds_no_candidates_is_kept():
    # The only candidate of instance 0 would be a false positive; labels that nobody has cost macro-G-mean nothing.
    matrix = np.array([[0.0, 0.01, 0.0, 0.0], [0.0, 0.9, 0.0, 0.0]])
    problem = reference.Problem(matrix, "macro-gmean", 2)
    given = np.array([[0, 3], [0, 1]])
    found = semi.select(matrix, "macro-gmean", 2, init=given)
    assert np.sort(found.labels, axis=1).tolist() == given.tolist()
    assert found.expected == pytest.approx(value_of(problem, given), rel=1e-12)
    assert found.labels[1].tolist() == [1, 0]  # best gain first, as always


@every_mixture
def test_the_same_start_in_every_form(mixture):
    problem = problem_of(1, mixture, density=0.6)
    given = random_labels(1, problem)
    matrix = np.zeros(problem.matrix.shape, dtype=bool)
    np.put_along_axis(matrix, given, True, axis=1)
    history = select(problem, init=np.sort(given, axis=1)).history
    for form in (matrix, sp.csr_matrix(matrix), sp.coo_array(matrix.astype(float))):
        assert select(problem, init=form).history == history
    earlier = semi.select(problem.matrix, "precision", 2)
    assert select(problem, init=earlier).history == select(problem, init=earlier.labels).history


def test_a_start_with_empty_slots():
    problem = problem_of(2, {"macro-f1": 1.0}, density=1.0)
    found = select(problem, init=np.full((problem.n, 2), -1))
    assert found.history[0] == pytest.approx(select(problem, method="greedy").expected)  # completed before the passes
    assert (found.labels >= 0).all()


def test_a_start_with_too_many_labels():
    problem = problem_of(2, {"macro-f1": 1.0}, density=1.0)
    wide = np.tile(np.arange(5), (problem.n, 1))
    with pytest.raises(tw.errors.InputError, match=r"init must hold at most k=2 labels for an instance. Got 5"):
        select(problem, init=wide)


@every_mixture
@pytest.mark.parametrize("batch", [1, 3, 7])
def test_history_never_falls(mixture, batch):
    for seed in SEEDS:
        problem = problem_of(seed, mixture)
        found = select(problem, group_size=batch, init="random", seed=seed)
        assert len(found.history) == found.passes + 1
        assert (np.diff(found.history) >= -1e-12).all()
        assert found.history[-1] == pytest.approx(found.expected, rel=1e-12)


def test_history_never_falls_where_all_instances_want_the_same():
    # Instances that are alike move alike when they look at the same totals; a large batch must not make it worse.
    rng = np.random.default_rng(0)
    matrix = np.tile(rng.random(12), (40, 1)) * (1 - 1e-3 * rng.random((40, 12)))
    for name, batch in itertools.product(("macro-f1", "macro-precision", "coverage"), (1, 8, 40)):
        found = semi.select(matrix, name, 3, group_size=batch)
        assert (np.diff(found.history) >= -1e-12).all()
        problem = reference.Problem(matrix, name, 3)
        assert reference.best_change(problem, reference.as_lists(found.labels)) < 1e-6


@every_mixture
def test_a_local_optimum_of_the_reference_stays(mixture):
    for seed in SEEDS:
        problem = problem_of(seed, mixture)
        ascended = reference.ascend(problem, reference.top(problem), np.random.default_rng(seed))
        padded = np.array([labels + [-1] * (2 - len(labels)) for labels in ascended])
        assert select(problem, init=padded).expected == pytest.approx(problem.value(ascended), rel=1e-9)


@every_mixture
def test_as_good_as_the_reference(mixture):
    found, expected = [], []
    for seed in range(12):
        problem = problem_of(seed, mixture, n=6)
        ascended = reference.ascend(problem, reference.top(problem), np.random.default_rng(seed))
        expected.append(problem.value(ascended))
        found.append(select(problem, seed=seed).expected)
    assert np.mean(found) == pytest.approx(np.mean(expected), rel=0.02)


@every_mixture
def test_greedy_and_the_ascent_from_it(mixture):
    for seed in SEEDS:
        problem = problem_of(seed, mixture, n=4)
        greedy = select(problem, method="greedy", seed=seed)
        ascent = select(problem, init="greedy", seed=seed)
        assert (greedy.method, greedy.passes, greedy.converged) == ("greedy", 1, True)
        assert greedy.expected <= ascent.expected + 1e-12
        selections = (reference.greedy(problem, order) for order in itertools.permutations(range(problem.n)))
        assert greedy.expected in map(pytest.approx, map(problem.value, selections))


@every_mixture
def test_given_condition_positives(mixture):
    for seed in SEEDS:
        matrix = reference.random_matrix(seed, 6, 5, 0.8)
        p = matrix.sum(axis=0) + np.random.default_rng(seed).uniform(0.05, 0.9, 5) * (6 - matrix.sum(axis=0))
        problem = problem_of(seed, mixture, n=6, p=p.tolist())
        found = select(problem)
        assert found.expected == pytest.approx(value_of(problem, found.labels), rel=1e-10)
        assert reference.best_change(problem, reference.as_lists(found.labels)) < 1e-10


@every_mixture
def test_single_precision(mixture):
    for seed in SEEDS:
        problem = problem_of(seed, mixture)
        problem.matrix[:] = problem.matrix.astype(np.float32)
        single = select(problem, dtype=np.float32)
        # The same numbers in double precision: sums are taken in double precision either way.
        assert single.history == select(problem).history
        assert single.expected == pytest.approx(value_of(problem, single.labels), rel=1e-10)


@every_mixture
def test_scaling_scales_the_value_only(mixture):
    problem = problem_of(3, mixture)
    scaled = problem_of(3, {name: 4 * factor for name, factor in mixture.items()})
    one, four = select(problem), select(scaled)
    np.testing.assert_array_equal(one.labels, four.labels)
    assert four.expected == pytest.approx(4 * one.expected, rel=1e-12)


def test_few_passes():
    problem = problem_of(1, {"macro-f1": 1.0}, n=30, m=20, density=0.9)
    full = select(problem, init="random")
    one = select(problem, init="random", max_passes=1)
    assert (one.passes, one.converged) == (1, False)
    assert one.history == full.history[:2]
    assert (full.passes > 1, full.converged) == (True, True)
    assert full.expected >= one.expected
    rough = select(problem, init="random", tolerance=10)
    assert (rough.passes, rough.converged, rough.history) == (1, True, full.history[:2])


def test_seeds_differ():
    problem = problem_of(1, {"macro-f1": 1.0}, n=30, m=20, density=0.9)
    assert len({select(problem, init="random", seed=seed).history[0] for seed in range(5)}) == 5
    assert len({select(problem, seed=seed).history[1] for seed in range(5)}) > 1


@pytest.mark.parametrize("name", ["macro-f1", "macro-precision", "macro-gmean", "coverage"])
@pytest.mark.parametrize("batch", [20, 150])
def test_large_batches_end_where_no_instance_gains(name, batch):
    problem = reference.Problem(reference.random_matrix(6, 150, 20, density=0.3), name, 3)
    found = semi.select(problem.matrix, name, 3, group_size=batch, tolerance=0, fill="none")
    labels = reference.as_lists(found.labels)
    assert found.expected == pytest.approx(problem.value(labels), rel=1e-10)
    assert (np.diff(found.history) >= -1e-12).all()
    further = reference.ascend(problem, labels, np.random.default_rng(0), tolerance=1e-10)
    assert problem.value(further) == pytest.approx(found.expected, abs=1e-9)


def test_batch_beyond_the_batch():
    problem = problem_of(1, {"macro-f1": 1.0})
    np.testing.assert_array_equal(select(problem, group_size=1000).labels, select(problem, group_size=problem.n).labels)
