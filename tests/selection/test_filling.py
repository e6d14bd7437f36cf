"""Rows with fewer candidates than k: filled with the labels that cost least."""

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from reference import selection as reference
from reference import utilities
from selection import semi

import tailwise as tw

pytestmark = pytest.mark.boundscheck

MIXTURES = (
    *({name: 1.0} for name in (*utilities.LINEAR, *utilities.NONLINEAR)),
    {"precision": 0.7, "macro-f1": 0.3},
    {"hamming": 0.5, "coverage": 0.5},
)
every_mixture = pytest.mark.parametrize("mixture", MIXTURES, ids=utilities.as_text)


def short_row_problem(seed, mixture, n_candidates, k=3):
    """Every instance has all labels as candidates but instance 2, which has a few."""
    matrix = reference.random_matrix(seed, 6, 7)
    matrix[2, np.random.default_rng(seed).permutation(7)[n_candidates:]] = 0
    return reference.Problem(matrix, mixture, k, training=reference.random_training(seed, 7))


def select(problem, **options):
    training = problem.setting.training
    priors = tw.LabelPriors(training.counts, training.n_instances)
    return semi.select(problem.matrix, utilities.as_text(problem.mixture), problem.budgets, priors=priors, **options)


@every_mixture
@pytest.mark.parametrize("n_candidates", [0, 1, 2])
def test_the_labels_that_cost_least(mixture, n_candidates):
    for seed in range(3):
        problem = short_row_problem(seed, mixture, n_candidates)
        empty, filled = select(problem, fill="none"), select(problem)
        candidates, others = problem.candidates(2), set(range(7)) - set(problem.candidates(2))
        assert set(filled.labels[2, :n_candidates]) == set(candidates)
        assert set(filled.labels[2, n_candidates:]) <= others
        rest = np.arange(6) != 2
        np.testing.assert_array_equal(filled.labels[rest], empty.labels[rest])
        assert_least_loss(problem, reference.as_lists(empty.labels), filled)


def assert_least_loss(problem, before, filled):
    """The first filled label, and all of them together, against trying every other."""
    i, n_candidates = 2, len(before[2])
    others = set(range(problem.m)) - set(problem.candidates(i))
    gains = problem.gains(i, before)
    assert gains[filled.labels[i, n_candidates]] == pytest.approx(max(gains[j] for j in others), abs=1e-12)
    choices = itertools.combinations(others, problem.budgets[i] - n_candidates)
    values = [problem.value([*before[:i], [*before[i], *choice], *before[i + 1 :]]) for choice in choices]
    assert filled.expected == pytest.approx(max(values), rel=1e-10, abs=1e-12)


@every_mixture
def test_several_short_rows(mixture):
    # One after the other: what the first takes makes it cheaper or dearer for the next.
    for seed in range(3):
        problem = reference.Problem(
            reference.random_matrix(seed, 8, 6, density=0.35), mixture, 4, training=reference.random_training(seed, 6)
        )
        empty, filled = reference.as_lists(select(problem, fill="none").labels), select(problem)
        for i, labels in enumerate(reference.as_lists(filled.labels)):
            assert labels[: len(empty[i])] == empty[i]
            assert not set(labels[len(empty[i]) :]) & set(problem.candidates(i))
            assert len(set(labels)) == 4
        expected = problem.value(reference.fill(problem, empty))
        assert filled.expected == pytest.approx(expected, rel=1e-10, abs=1e-12)


def test_ties_go_to_the_smaller_label():
    assert semi.select(np.array([[0.0, 0.5, 0.0, 0.0]]), "precision", 3).labels.tolist() == [[1, 0, 2]]
    assert semi.select(np.array([[0.0, 0.0, 0.5], [0.0, 0.0, 0.5]]), "coverage", 2).labels.tolist() == [[2, 0], [2, 0]]


def test_history_is_that_before_filling():
    problem = short_row_problem(0, {"macro-precision": 1.0}, 1)
    assert select(problem).history == select(problem, fill="none").history
    assert select(problem).expected <= select(problem).history[-1]


@pytest.mark.parametrize("fill", ["least-loss", "none"])
def test_budgets_per_instance(fill):
    matrix = reference.random_matrix(4, 6, 5, density=0.4)
    budgets = np.array([0, 1, 2, 3, 4, 5])
    labels = semi.select(matrix, "macro-f1", budgets, fill=fill).labels
    expected = budgets if fill == "least-loss" else np.minimum(budgets, (matrix > 0).sum(axis=1))
    assert (labels >= 0).sum(axis=1).tolist() == expected.tolist()
    assert (np.diff((labels >= 0).astype(int), axis=1) <= 0).all()


def test_all_labels_for_everyone():
    matrix = reference.random_matrix(4, 6, 5, density=0.4)
    for text in ("precision", "macro-f1", "coverage"):
        found = semi.select(matrix, text, 5)
        assert np.sort(found.labels, axis=1).tolist() == [[0, 1, 2, 3, 4]] * 6


@pytest.mark.parametrize("utility", ["macro-precision", "macro-gmean", "macro-f1"])
def test_totals_where_a_given_label_has_kept_a_candidate_out(utility):
    """The candidate may fill another slot, at its own probability even if that gains no more than none."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        matrix = np.where(rng.random((6, 8)) < 0.3, rng.random((6, 8)), 0.0)
        init = np.full((6, 5), -1)
        for row in init:
            size = rng.integers(0, 4)
            row[:size] = rng.permutation(8)[:size]
        found = semi.select(matrix, utility, 5, init=init, fill="least-loss", method="ascent")
        t = [sum(matrix[i, j] for i, row in enumerate(found.labels) if j in row) for j in range(8)]
        assert found.totals.t == pytest.approx(t)
        assert all(len(set(row)) == 5 for row in found.labels.tolist())


@pytest.mark.parametrize("utility", ["precision", "0.5*precision + 0.5*macro-f1", "hamming"])
@pytest.mark.parametrize("k", [3, [1, 2, 3, 3], None], ids=str)
def test_empty_slots_count_in_the_expected_utility_of_a_selection(utility, k):
    rows = sp.csr_array(np.array([[0.9, 0.4, 0, 0], [0.8, 0, 0, 0], [0, 0, 0, 0], [0.5, 0.3, 0.2, 0.1]]))
    chosen = tw.select(rows, utility, k, fill="none")
    again = pickle.loads(pickle.dumps(chosen))
    assert tw.expected_utility(rows, utility, chosen) == pytest.approx(chosen.expected, rel=1e-12)
    assert tw.expected_utility(rows, utility, again) == pytest.approx(chosen.expected, rel=1e-12)
    if k is not None:  # which labels alone do not tell
        assert tw.expected_utility(rows, utility, chosen.labels, k) == pytest.approx(chosen.expected, rel=1e-12)
    if utility == "precision":
        held = sum(rows[i, j] for i, labels in enumerate(chosen.labels) for j in labels if j >= 0)
        assert chosen.expected == pytest.approx(held / np.broadcast_to(1 if k is None else k, 4).sum(), rel=1e-12)
        drawn = tw.monte_carlo(rows, utility, chosen, draws=400)
        assert abs(drawn.mean - chosen.expected) < 5 * drawn.standard_error
