"""A budget per instance, and none at all."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import selection as reference
from reference import utilities
from selection import semi

import tailwise as tw

pytestmark = pytest.mark.boundscheck

MIXTURES = (
    *({name: 1.0} for name in (*utilities.LINEAR, *utilities.NONLINEAR)),
    {"macro-fbeta(2)": 1.0},
    {"precision": 0.7, "macro-f1": 0.3},
    {"hamming": 0.5, "coverage": 0.5},
    {"macro-jaccard": 1.0, "coverage": 1.0, "macro-balanced-accuracy": 0.2},
)
every_mixture = pytest.mark.parametrize("mixture", MIXTURES, ids=utilities.as_text)


def select(problem, k, **options):
    training = problem.setting.training
    priors = None if training is None else tw.LabelPriors(training.counts, training.n_instances)
    return semi.select(problem.matrix, utilities.as_text(problem.mixture), k, priors=priors, fill="none", **options)


@every_mixture
def test_a_budget_per_instance(mixture):
    for seed in range(4):
        budgets = np.random.default_rng(seed).integers(0, 6, 7)
        matrix, training = reference.random_matrix(seed, 7, 5, 0.8), reference.random_training(seed, 5)
        problem = reference.Problem(matrix, mixture, budgets, training=training)
        for method in ("auto", "greedy"):
            found = select(problem, budgets, tolerance=0, method=method)
            labels = reference.as_lists(found.labels)
            assert found.labels.shape == (7, max(budgets))
            assert [len(row) for row in labels] == [problem.room(i) for i in range(7)]
            assert found.expected == pytest.approx(problem.value(labels), rel=1e-10, abs=1e-12)
        assert reference.best_change(problem, reference.as_lists(select(problem, budgets, tolerance=0).labels)) < 1e-10


@pytest.mark.parametrize("name", utilities.LINEAR)
def test_linear_utilities_reach_the_optimum(name):
    for seed in range(3):
        budgets = np.random.default_rng(seed).integers(0, 5, 4)
        matrix, training = reference.random_matrix(seed, 4, 4), reference.random_training(seed, 4)
        problem = reference.Problem(matrix, name, budgets, training=training)
        assert select(problem, budgets).expected == pytest.approx(reference.best_value(problem), rel=1e-12)


@pytest.mark.parametrize("text", ["precision", "macro-f1", "coverage"])
def test_the_same_budget_for_all(text):
    matrix = reference.random_matrix(3, 9, 5, 0.8)
    one = semi.select(matrix, text, 2)
    for k in (np.full(9, 2), [2] * 9, np.full(9, 2, dtype=np.uint8), np.int16(2)):
        other = semi.select(matrix, text, k)
        assert other.labels.tobytes() == one.labels.tobytes()
        assert other.history == one.history


@pytest.mark.parametrize("method", ["auto", "ascent", "greedy"])
def test_budgets_of_zero(method):
    found = semi.select(reference.random_matrix(3, 4, 3), "hamming", [0, 0, 0, 0], method=method)
    assert (found.labels == -1).all()
    assert found.to_csr().nnz == 0
    assert found.expected == pytest.approx((12 - reference.random_matrix(3, 4, 3).sum()) / 12)


@pytest.mark.parametrize("init", ["random", "greedy"])
def test_starts_keep_to_the_budgets(init):
    budgets = np.array([0, 1, 2, 3, 1])
    found = semi.select(reference.random_matrix(3, 5, 4), "macro-f1", budgets, init=init)
    assert (found.labels >= 0).sum(axis=1).tolist() == budgets.tolist()


@every_mixture
@pytest.mark.parametrize("density", [0.6, 1.0])
def test_without_budget_is_the_optimum(mixture, density):
    for seed in range(4):
        matrix, training = reference.random_matrix(seed, 6, 5, density), reference.random_training(seed, 5)
        problem = reference.Problem(matrix, mixture, None, training=training)
        found = select(problem, None)
        best = reference.best_without_budget(problem)
        assert found.expected == pytest.approx(problem.value(reference.as_lists(found.labels)), rel=1e-10)
        assert found.expected == pytest.approx(sum(value for value, _ in best), rel=1e-10)
        sizes = [len(instances) for instances in reference.by_label(reference.as_lists(found.labels), 5)]
        assert sizes == [size for _, size in best]
        assert (found.method, found.passes, found.converged) == ("without-budget", 1, True)


# Of probabilities in steps of 1/8 for 8 instances and 4 labels: equal values are equal bit for bit.
EXACT = ("precision", "hamming", "macro-precision", "macro-f1", "macro-jaccard", "coverage")


@pytest.mark.parametrize("name", EXACT)
@given(st.integers(0, 10**6))
@settings(deadline=None, max_examples=15)
def test_without_budget_ties_take_the_fewest(name, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.choice([0, 0.125, 0.25, 0.5, 1.0], (8, 4))
    problem = reference.Problem(matrix, name, None)
    found = select(problem, None)
    best = reference.best_without_budget(problem)
    assert found.expected == pytest.approx(sum(value for value, _ in best), rel=1e-12, abs=1e-12)
    sizes = [len(instances) for instances in reference.by_label(reference.as_lists(found.labels), 4)]
    assert sizes == [size for _, size in best]


@every_mixture
def test_without_budget_given_condition_positives(mixture):
    matrix, training = reference.random_matrix(2, 6, 5), reference.random_training(2, 5)
    p = (matrix.sum(axis=0) + 0.1).tolist()
    problem = reference.Problem(matrix, mixture, None, training=training, p=p)
    found = select(problem, None, condition_positives=p)
    best = reference.best_without_budget(problem)
    assert found.expected == pytest.approx(sum(value for value, _ in best), rel=1e-10)


@pytest.mark.parametrize("name", [*utilities.LINEAR, *utilities.NONLINEAR])
def test_any_budget_is_at_most_as_good_as_none(name):
    matrix, priors = reference.random_matrix(1, 20, 8), tw.LabelPriors(np.arange(8), 10)
    without = semi.select(matrix, name, None, priors=priors)
    # Precision and its weighted variants divide by the number of slots, so compare what they sum up.
    for k in (1, 3, 8):
        scale = k if name in ("precision", "ps-precision", "power-law", "log") else 1
        assert scale * semi.select(matrix, name, k, priors=priors).expected <= without.expected + 1e-12


def test_without_budget_ignores_fill():
    matrix = np.array([[0.9, 0.0, 0.0], [0.0, 0.1, 0.0]])
    found = semi.select(matrix, "macro-f1", None)
    assert found.labels.tolist() == [[0], [1]]
    assert semi.select(matrix, "hamming", None).labels.tolist() == [[0], [-1]]


def test_precision_without_budget_takes_all():
    found = semi.select(np.array([[0.9, 0.2], [0.0, 0.1]]), "precision", None)
    assert found.labels.tolist() == [[0, 1], [1, -1]]
    assert found.expected == pytest.approx((0.9 + 0.2 + 0.1) / 2)


def test_condition_positives_as_a_series_are_matched_by_id():
    pandas = pytest.importorskip("pandas")
    probabilities = pandas.DataFrame([[0.9, 0.4, 0.1], [0.8, 0.1, 0.7]], columns=["a", "b", "c"])
    given = pandas.Series({"c": 1.5, "a": 2.0, "b": 0.9})
    found = tw.select(probabilities, "macro-f1", 1, condition_positives=given)
    expected = tw.select(probabilities, "macro-f1", 1, condition_positives=[2.0, 0.9, 1.5])
    assert found.expected == expected.expected
    with pytest.raises(tw.errors.InputError, match=r"condition_positives as a Series must hold .* Got none for 'b'"):
        tw.select(probabilities, "macro-f1", 1, condition_positives=given.drop("b"))


@pytest.mark.parametrize(
    ("utility", "is_told"),
    [
        ("precision", True),
        ("0.5*precision + 0.5*macro-f1", True),
        ("50*macro-f1 + 0.1*precision", False),  # above 1, but not by precision
        ("macro-precision", False),
    ],
)
def test_a_precision_above_1_without_a_budget_is_explained(utility, is_told):
    found = tw.select(np.full((3, 4), 0.9), utility, k=None)
    assert (found.expected > 1) == (utility != "macro-precision")
    assert any("precision counts the true labels of an instance" in message for message in found.messages) == is_told
