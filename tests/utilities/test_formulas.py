"""Every utility's formula against confusion matrices that are counted by plain loops."""

import numpy as np
import pytest
from reference import utilities as reference

from tailwise.utilities import (
    UTILITY_NAMES,
    LabelPriors,
    MacroAUC,
    Precision,
    UtilityClass,
    WeightedInstance,
    as_utility,
)

SEEDS = range(12)
CLASSES = {
    "precision": UtilityClass.FULLY_LINEAR,
    "ps-precision": UtilityClass.FULLY_LINEAR,
    "power-law": UtilityClass.FULLY_LINEAR,
    "log": UtilityClass.FULLY_LINEAR,
    "hamming": UtilityClass.FULLY_LINEAR,
    "macro-accuracy": UtilityClass.FULLY_LINEAR,
    "macro-recall": UtilityClass.LINEAR_IN_PREDICTIONS,
    "macro-balanced-accuracy": UtilityClass.LINEAR_IN_PREDICTIONS,
    "macro-precision": UtilityClass.LINEAR_IN_LABELS,
    "macro-f1": UtilityClass.NONLINEAR,
    "macro-fbeta": UtilityClass.NONLINEAR,
    "macro-jaccard": UtilityClass.NONLINEAR,
    "macro-gmean": UtilityClass.NONLINEAR,
    "macro-hmean": UtilityClass.NONLINEAR,
    "macro-auc": UtilityClass.NONLINEAR,
    "coverage": UtilityClass.NONLINEAR,
}


def random_outcome(seed, *, is_binary=True):
    """True labels or probabilities (n, m) and a 0/1 selection, some labels never or always true or selected."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 9)), 8
    truth = rng.random((n, m))
    truth = (truth < 0.4).astype(float) if is_binary else truth
    chosen = (rng.random((n, m)) < 0.4).astype(int)
    truth[:, 1:3], truth[:, 3:5] = 0, 1
    chosen[:, [1, 3, 5]], chosen[:, [2, 4, 6]] = 0, 1
    return truth.tolist(), chosen.tolist()


def columns(rows):
    return [list(column) for column in zip(*rows, strict=True)]


def training_of(seed, m):
    counts = np.random.default_rng(seed).integers(0, 30, m)
    return reference.Training(tuple(int(count) for count in counts), 40)


def values_by_library(utility, truth, chosen, k):
    counts = [reference.counts_of(*pair) for pair in zip(columns(truth), columns(chosen), strict=True)]
    return utility.psi(*zip(*counts, strict=True), n_instances=len(truth), k=k)


def values_by_reference(name, setting, truth, chosen):
    pairs = zip(columns(truth), columns(chosen), strict=True)
    return [reference.label_value(name, setting, j, y, z) for j, (y, z) in enumerate(pairs)]


def test_reference_knows_every_name():
    assert {*reference.LINEAR, *reference.NONLINEAR} == set(UTILITY_NAMES)


@pytest.mark.parametrize("name", reference.NAMES)
@pytest.mark.parametrize("k", [1, 3])
def test_formula_of_observed_counts(name, k):
    for seed in SEEDS:
        truth, chosen = random_outcome(seed)
        training = training_of(seed, len(truth[0]))
        utility = as_utility(name, LabelPriors(training.counts, training.n_instances))
        setting = reference.Setting(len(truth[0]), k * len(truth), training)
        expected = values_by_reference(name, setting, truth, chosen)
        np.testing.assert_allclose(values_by_library(utility, truth, chosen, k), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", [name for name in reference.NAMES if name != "coverage"])
def test_formula_of_expected_counts(name):
    for seed in SEEDS:
        probabilities, chosen = random_outcome(seed, is_binary=False)
        training = training_of(seed, len(chosen[0]))
        utility = as_utility(name, LabelPriors(training.counts, training.n_instances))
        setting = reference.Setting(len(chosen[0]), 2 * len(chosen), training)
        found = values_by_library(utility, probabilities, chosen, 2)
        expected = values_by_reference(name, setting, probabilities, chosen)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_weighted_instance(seed):
    truth, chosen = random_outcome(seed)
    weights = np.random.default_rng(seed).normal(size=(4, len(truth[0])))
    found = values_by_library(WeightedInstance(*weights), truth, chosen, 1)
    pairs = zip(weights.T, columns(truth), columns(chosen), strict=True)
    np.testing.assert_allclose(found, [reference.weighted_value(*pair) for pair in pairs], rtol=1e-12, atol=1e-15)
    found = values_by_library(WeightedInstance(0.1, -0.2, -0.3, 0.4), truth, chosen, 1)
    pairs = zip(columns(truth), columns(chosen), strict=True)
    expected = [reference.weighted_value((0.1, -0.2, -0.3, 0.4), *pair) for pair in pairs]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("seed", SEEDS)
def test_auc_is_the_share_of_pairs_in_order(seed):
    truth, chosen = random_outcome(seed)
    pairs = zip(columns(truth), columns(chosen), strict=True)
    expected = [reference.share_of_ordered_pairs(*pair) / len(truth[0]) for pair in pairs]
    np.testing.assert_allclose(values_by_library(MacroAUC(), truth, chosen, 1), expected, rtol=1e-12)


def test_mixture_adds_its_parts():
    truth, chosen = random_outcome(3)
    mixture = {"precision": 0.7, "macro-f1": 0.2, "coverage": 1.5}
    setting = reference.Setting(len(truth[0]), 2 * len(truth))
    pairs = zip(columns(truth), columns(chosen), strict=True)
    expected = [reference.mixture_value(mixture, setting, j, y, z) for j, (y, z) in enumerate(pairs)]
    found = values_by_library(as_utility(reference.as_text(mixture)), truth, chosen, 2)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_fractional_budget_is_the_mean():
    # Three instances with budgets 1, 1 and 2: four slots.
    assert Precision().psi([2.0], [4], [2.0], n_instances=3, k=4 / 3).sum() == pytest.approx(0.5)


@pytest.mark.parametrize("name", UTILITY_NAMES)
def test_class(name):
    assert as_utility(name, LabelPriors([1, 2], 3)).kind is CLASSES[name]


MIXED_CLASSES = {
    "precision + hamming": UtilityClass.FULLY_LINEAR,
    "precision + macro-recall": UtilityClass.LINEAR_IN_PREDICTIONS,
    "precision + macro-precision": UtilityClass.LINEAR_IN_LABELS,
    "macro-recall + macro-precision": UtilityClass.NONLINEAR,
    "precision + macro-f1": UtilityClass.NONLINEAR,
}


@pytest.mark.parametrize("text", MIXED_CLASSES)
def test_class_of_a_mixture(text):
    assert as_utility(text).kind is MIXED_CLASSES[text]


def test_classes_in_words():
    assert [kind.value for kind in UtilityClass] == [
        "fully linear",
        "linear in predictions",
        "linear in labels",
        "nonlinear",
    ]


def test_weights_of_a_wrong_length_are_refused():
    message = r"Weights and priors must be one number per label, 3 in all\. Got shape \(2,\)\."
    for utility in (WeightedInstance(w11=[1, 2]), as_utility("log", LabelPriors([1, 2], 3))):
        with pytest.raises(ValueError, match=message):
            utility.psi([0.0, 1.0, 0.0], [1, 1, 1], [1.0, 1.0, 1.0], n_instances=2)
