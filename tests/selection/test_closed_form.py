"""Utilities that are linear in the predictions: the closed form is the optimum."""

import itertools
import tracemalloc

import numpy as np
import pytest
from reference import selection as reference
from reference import utilities
from selection import semi

import tailwise as tw
from tailwise.datasets import zipf_candidates
from tailwise.selection.bca import take_best
from tailwise.selection.problem import Request
from tailwise.selection.resolve import resolve
from tailwise.utilities import WeightedInstance

pytestmark = pytest.mark.boundscheck

NAMES = (*utilities.LINEAR, "ps-precision(0.6, 2.6)", "power-law(0.25)")
MIXTURES = (
    *({name: 1.0} for name in NAMES),
    {"precision": 0.5, "macro-recall": 0.5},
    {"hamming": 2.0, "macro-balanced-accuracy": 0.3, "log": 0.01},
)
CONDITION_POSITIVES = ("sum", "given", "priors")


def problem_of(seed, mixture, source, *, k=2, density=0.8):
    """A problem, and the options by which `select` learns of it."""
    matrix = reference.random_matrix(seed, 4, 5, density)
    training = reference.random_training(seed, 5)
    options = {"priors": tw.LabelPriors(training.counts, training.n_instances), "fill": "none"}
    p = None
    if source == "given":
        p = options["condition_positives"] = matrix.sum(axis=0) + 0.1 + np.random.default_rng(seed).random(5) / 4
    if source == "priors":
        options["condition_positives"] = "priors"
        p = np.maximum(matrix.sum(axis=0), [4 * max(count, 1) / training.n_instances for count in training.counts])
    return reference.Problem(matrix, mixture, k, training=training, p=p), options


def line_of(problem):
    """Slope and offset of the gain a_j * eta + b_j of each label."""
    p = problem.matrix.sum(axis=0) if problem.p is None else np.asarray(problem.p)
    slopes, offsets = np.zeros(problem.m), np.zeros(problem.m)
    for name, factor in problem.mixture.items():
        a, b = _line_of(name, problem, p)
        slopes, offsets = slopes + factor * a, offsets + factor * b
    return slopes, offsets


def _line_of(name, problem, p):
    n, m, ones = problem.n, problem.m, np.ones(problem.m)
    positive, negative = np.where(p > 0, p, np.inf), np.where(n - p > 0, n - p, np.inf)
    if name in ("hamming", "macro-accuracy"):
        return 2 * ones / (n * m), -ones / (n * m)
    if name == "macro-recall":
        return 1 / positive / m, 0 * ones
    if name == "macro-balanced-accuracy":
        return (1 / positive + 1 / negative) / (2 * m), -1 / negative / (2 * m)
    weights = np.array([utilities.label_weight(name, problem.setting.training, j) for j in range(m)])
    return weights / problem.setting.n_slots, 0 * ones


@pytest.mark.parametrize("mixture", MIXTURES, ids=utilities.as_text)
@pytest.mark.parametrize("source", CONDITION_POSITIVES)
def test_is_weighted_top_and_the_optimum(mixture, source):
    for seed in range(4):
        problem, options = problem_of(seed, mixture, source)
        found = semi.select(problem.matrix, utilities.as_text(mixture), 2, **options)
        assert found.method == "instance"
        assert reference.as_lists(found.labels) == reference.weighted_top(problem, *line_of(problem))
        assert found.expected == pytest.approx(problem.value(reference.as_lists(found.labels)), rel=1e-12)
        assert found.expected == pytest.approx(reference.best_value(problem), rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("method", ["ascent", "greedy"])
def test_every_method_finds_it(name, method):
    for seed in range(4):
        problem, options = problem_of(seed, {name: 1.0}, "sum")
        closed = semi.select(problem.matrix, name, 2, **options)
        other = semi.select(problem.matrix, name, 2, method=method, **options)
        assert other.method == method
        np.testing.assert_array_equal(other.labels, closed.labels)


@pytest.mark.parametrize("name", utilities.LINEAR)
def test_ties_go_to_the_smaller_label(name):
    # Labels 0, 2, 4 are the same in every way, and so are 1, 3, 5.
    matrix = np.tile(reference.random_matrix(1, 6, 2), 3)
    priors = tw.LabelPriors([4, 9, 4, 9, 4, 9], 30)
    for k in range(1, 6):
        for row in semi.select(matrix, name, k, priors=priors).labels:
            for family in ([0, 2, 4], [1, 3, 5]):
                taken = sorted(j for j in row if j in family)
                assert taken == family[: len(taken)]


@pytest.mark.parametrize("name", ["precision", "hamming"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_labels_stand_in_order(name, dtype):
    assert semi.select(np.full((3, 7), 0.3, dtype=dtype), name, 3).labels.tolist() == [[0, 1, 2]] * 3
    # Probabilities by steps of 1/40: many are equal.
    matrix = np.random.default_rng(0).integers(1, 40, (50, 100)) / 40
    problem = reference.Problem(matrix, name, 17)
    assert reference.as_lists(semi.select(matrix.astype(dtype), name, 17).labels) == reference.top(problem)


def test_long_rows_against_sorting():
    matrix = np.random.default_rng(0).integers(0, 40, (50, 300)) / 40
    problem = reference.Problem(matrix, "precision", 17)
    found = semi.select(matrix, "precision", 17)
    assert [sorted(row) for row in found.labels.tolist()] == [sorted(row) for row in reference.top(problem)]


def weighted_total(weights, matrix, selection):
    chosen = reference.by_label(selection, matrix.shape[1])
    return sum(
        utilities.weighted_value([w[j] for w in weights], matrix[:, j].tolist(), [i in s for i in range(len(matrix))])
        for j, s in enumerate(chosen)
    )


@pytest.mark.parametrize("seed", range(4))
def test_weights_of_every_outcome(seed):
    matrix = reference.random_matrix(seed, 3, 4)
    weights = np.random.default_rng(seed).normal(size=(4, 4))
    found = semi.select(matrix, WeightedInstance(*weights), 2)
    rows = itertools.product(itertools.combinations(range(4), 2), repeat=3)
    best = max(rows, key=lambda selection: weighted_total(weights, matrix, selection))
    assert [sorted(row) for row in found.labels.tolist()] == [list(row) for row in best]
    assert found.expected == pytest.approx(weighted_total(weights, matrix, best), rel=1e-12)
    w00, w01, w10, w11 = weights
    problem = reference.Problem(matrix, "precision", 2)
    assert found.labels.tolist() == reference.weighted_top(problem, w11 - w01 - w10 + w00, w01 - w00)


def test_labels_that_cost_are_taken_all_the_same():
    # Exactly k labels, even where each of them loses.
    found = semi.select(np.array([[0.2, 0.1, 0.3]]), "hamming", 2)
    assert found.labels.tolist() == [[2, 0]]
    assert found.expected == pytest.approx((0.3 + 0.2 + 0.9) / 3)


def test_condition_positives_reach_p():
    matrix = np.array([[0.5, 0.4], [0.5, 0.1]])
    assert semi.select(matrix, "macro-recall", 1).labels.ravel().tolist() == [1, 0]
    found = semi.select(matrix, "macro-recall", 1, condition_positives=[1.0, 2.0])
    assert found.labels.ravel().tolist() == [0, 0]
    assert found.expected == pytest.approx((0.5 + 0.5) / 1.0 / 2)
    priors = tw.LabelPriors([30, 40], 40)  # p = 1.5 and 2
    found = semi.select(matrix, "macro-recall", 1, condition_positives="priors", priors=priors)
    assert found.expected == pytest.approx((0.5 + 0.5) / 1.5 / 2)
    few = semi.select(matrix, "macro-recall", 1, condition_positives=[0.1, 2.0])  # fewer than the candidates' own, 1.0
    assert few.expected == pytest.approx((0.5 + 0.5) / 1.0 / 2)


def test_labels_without_positives_count_as_zero():
    found = semi.select(np.array([[0.5, 0.0, 0.0]]), "macro-recall", 2)
    assert found.labels.tolist() == [[0, 1]]
    assert found.expected == pytest.approx(1 / 3)


def test_positions_are_written_in_place():
    """On threads there is no second array of that size."""
    probabilities = zipf_candidates(5000, 50, 24, seed=0)
    with (problem := resolve(Request(probabilities, "precision", 20, workers=2))).engine:
        wanted = take_best(problem, problem.candidates.rows)
        tracemalloc.start()
        try:
            found = take_best(problem, problem.candidates.rows)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    np.testing.assert_array_equal(found, wanted)
    assert peak < 1.3 * found.nbytes
