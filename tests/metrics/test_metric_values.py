"""Values of the metrics: against slow references, against scikit-learn, and invariances that hold for all of them."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import metrics as reference
from sklearn import metrics as sk

from tailwise.metrics import METRIC_NAMES, evaluate

ALL_NAMES = (*METRIC_NAMES, "macro-fbeta(2)")
ZERO_DIVISIONS = (0.0, 1.0, math.nan)
seeds = st.integers(0, 10**6)


def assert_same_values(found, expected):
    assert found.keys() == expected.keys()
    for name in found:
        assert found[name] == pytest.approx(expected[name], nan_ok=True, rel=1e-12, abs=1e-12), name


@pytest.mark.boundscheck
@given(seeds, st.booleans(), st.sampled_from(["all", "present"]), st.sampled_from(ZERO_DIVISIONS))
@settings(deadline=None, max_examples=60)
def test_every_metric_equals_its_reference(seed, is_cut, labels, zero_division):
    truth, chosen, training = reference.random_problem(seed)
    k = 1 + seed % chosen.shape[1] if is_cut else None
    found = evaluate(truth, chosen, ALL_NAMES, k=k, labels=labels, zero_division=zero_division, priors=training)
    weights = reference.inverse_propensities(training)
    assert_same_values(found, reference.all_metrics(truth, chosen, k, weights, labels, zero_division))


def test_propensity_parameters_reach_the_weights():
    truth, chosen, training = reference.random_problem(3)
    names = ["ps-precision", "ps-precision-normalised", "ps-ndcg"]
    found = evaluate(truth, chosen, names, priors=training, propensity=(0.6, 2.6))
    weights = reference.inverse_propensities(training, 0.6, 2.6)
    expected = reference.instance_metrics(truth, chosen, None, weights)
    assert_same_values(found, {name: expected[name] for name in names})


@pytest.mark.parametrize("zero_division", ZERO_DIVISIONS)
@pytest.mark.parametrize("seed", range(15))
def test_equals_scikit_learn(seed, zero_division):
    truth, chosen, _ = reference.random_problem(seed)
    predicted = reference.as_matrix(chosen, truth.shape[1])
    found = evaluate(truth, chosen, ALL_NAMES[:2] + ALL_NAMES[6:], zero_division=zero_division)

    def macro(score, average="macro", **options):
        return score(truth, predicted, average=average, zero_division=zero_division, **options)

    expected = {
        "precision": macro(sk.precision_score, "samples"),
        "recall": macro(sk.recall_score, "samples"),
        "micro-f1": macro(sk.f1_score, "micro"),
        "macro-precision": macro(sk.precision_score),
        "macro-recall": macro(sk.recall_score),
        "macro-f1": macro(sk.f1_score),
        "macro-fbeta(2)": macro(sk.fbeta_score, beta=2),
        "macro-accuracy": np.mean([sk.accuracy_score(y, z) for y, z in zip(truth.T, predicted.T, strict=True)]),
    }
    if not math.isnan(zero_division):
        expected["macro-jaccard"] = macro(sk.jaccard_score)
    assert_same_values({name: found[name] for name in expected}, expected)


@pytest.mark.parametrize("seed", range(10))
def test_balanced_accuracy_equals_scikit_learn(seed):
    truth, chosen, _ = reference.random_problem(seed, padded=False)
    # A label needs both kinds of instances here: scikit-learn drops a kind that does not occur.
    truth = np.vstack([truth, np.ones_like(truth[:1]), np.zeros_like(truth[:1])])
    chosen = np.vstack([chosen, chosen[:1], chosen[:1]])
    predicted = reference.as_matrix(chosen, truth.shape[1])
    expected = np.mean([sk.balanced_accuracy_score(y, z) for y, z in zip(truth.T, predicted.T, strict=True)])
    assert evaluate(truth, chosen)["macro-balanced-accuracy"] == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(10))
def test_ndcg_equals_scikit_learn(seed):
    truth, chosen, _ = reference.random_problem(seed, padded=False)
    width = chosen.shape[1]
    scores = np.zeros(truth.shape)
    np.put_along_axis(scores, chosen, np.arange(width, 0, -1)[None, :], axis=1)
    for k in range(1, width + 1):
        assert evaluate(truth, chosen, k=k)["ndcg"] == pytest.approx(sk.ndcg_score(truth, scores, k=k))


@given(seeds)
@settings(deadline=None, max_examples=30)
def test_the_order_of_instances_and_of_labels_does_not_matter(seed):
    truth, chosen, training = reference.random_problem(seed)
    n, m = truth.shape
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(n), rng.permutation(m)
    renumbered = np.append(np.argsort(columns), -1)[chosen]
    expected = evaluate(truth, chosen, ALL_NAMES, priors=training)
    assert_same_values(evaluate(truth[rows], chosen[rows], ALL_NAMES, priors=training), expected)
    assert_same_values(evaluate(truth[:, columns], renumbered, ALL_NAMES, priors=training[:, columns]), expected)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_matrix, sp.coo_array, sp.lil_matrix, np.float32, bool, list])
def test_every_form_of_truth_gives_the_same(form):
    truth, chosen, _ = reference.random_problem(5)
    if isinstance(form, type) and issubclass(form, (np.floating, bool)):
        converted = truth.astype(form)
    else:
        converted = truth.tolist() if form is list else form(truth)
    assert evaluate(converted, chosen) == evaluate(truth, chosen)


@pytest.mark.parametrize("form", [sp.csr_array, sp.coo_matrix, lambda matrix: matrix.astype(bool)])
def test_a_matrix_of_chosen_labels_gives_what_their_array_gives(form):
    truth, chosen, _ = reference.random_problem(7)
    matrix = form(reference.as_matrix(chosen, truth.shape[1]))
    found, expected = evaluate(truth, matrix), evaluate(truth, chosen)
    assert set(expected) - set(found) == {"ndcg"}
    assert_same_values(found, {name: expected[name] for name in found})


def test_unused_slots_count_where_k_is_given():
    truth, chosen = np.array([[1, 1, 0]]), np.array([[0, -1]])
    assert evaluate(truth, chosen)["precision"] == 1.0
    assert evaluate(truth, chosen, k=2)["precision"] == 0.5
    # All slots of an unranked selection may be counted; only a cut needs the order.
    two = np.array([[1, 1, 0], [1, 1, 0]])
    assert evaluate(two, np.array([[1, 0, 0], [1, 0, 1]], dtype=bool), k=2)["precision"] == 0.5


def test_k_evaluates_the_first_labels_of_each_row():
    truth, chosen, training = reference.random_problem(5, padded=False)
    for k in range(1, chosen.shape[1] + 1):
        expected = evaluate(truth, chosen[:, :k], priors=training)
        assert evaluate(truth, chosen, k=k, priors=training) == expected


def test_present_leaves_out_labels_without_a_true_instance():
    truth, chosen = np.array([[1, 0, 0], [1, 0, 1]]), np.array([[0, 1], [0, 1]])
    assert evaluate(truth, chosen)["macro-precision"] == pytest.approx(1 / 3)
    assert evaluate(truth, chosen, labels="present")["macro-precision"] == pytest.approx(1 / 2)
    assert evaluate(truth, chosen, labels="present")["catalogue-coverage"] == pytest.approx(1 / 2)


@pytest.mark.parametrize("zero_division", ZERO_DIVISIONS)
def test_an_average_over_no_label_is_zero_over_zero(zero_division):
    found = evaluate(np.zeros((2, 3), dtype=int), [[0], [1]], labels="present", zero_division=zero_division)
    assert found["macro-f1"] == pytest.approx(zero_division, nan_ok=True)
    assert found["coverage"] == pytest.approx(zero_division, nan_ok=True)


def test_a_perfect_ranking_scores_one():
    truth, _, training = reference.random_problem(2)
    truth[:, 0] = 1
    weights = np.array(reference.inverse_propensities(training))
    k = int(truth.sum(axis=1).max())
    best = np.argsort(-truth * weights, axis=1)[:, :k]
    found = evaluate(truth, best, ["recall", "ndcg", "ps-precision-normalised", "ps-ndcg"], k=k, priors=training)
    assert list(found.values()) == pytest.approx([1.0] * 4)
