"""What certify accepts and refuses."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from reference import selection as reference
from reference.formulas import shrunk

import tailwise as tw
from tailwise.errors import InputError, UtilityError
from tailwise.utilities import Utility

MATRIX = reference.random_matrix(7, 4, 3)
NO_SHARE = "target_gap must be a finite number of at least 0, a share of the value. Got"
NO_BUDGETS = "k must be an integer, an array of integers with one budget per instance, or None. Got"

REFUSED = {
    "rounds": ({"rounds": 0}, "rounds must be an integer of at least 1. Got 0."),
    "rounds negative": ({"rounds": -3}, "rounds must be an integer of at least 1. Got -3."),
    "rounds float": ({"rounds": 10.0}, "rounds must be an integer of at least 1. Got 10.0."),
    "rounds True": ({"rounds": True}, "rounds must be an integer of at least 1. Got True."),
    "target_gap": (
        {"target_gap": -1e-3},
        f"{NO_SHARE} -0.001.",
    ),
    "target_gap nan": (
        {"target_gap": np.nan},
        f"{NO_SHARE} nan.",
    ),
    "target_gap text": (
        {"target_gap": "1%"},
        f"{NO_SHARE} '1%'.",
    ),
    "selection rows": ({"selection": np.zeros((3, 1), int)}, "must have the 4 instances of probabilities. Got 3."),
    "selection labels": (
        {"selection": np.full((4, 1), 3)},
        "selection must hold labels from 0 to 2, or -1 for an empty slot. Got 3.",
    ),
    "selection twice": ({"selection": np.ones((4, 2), int)}, "selection must hold each label of an instance once."),
    "selection floats": (
        {"selection": np.zeros((4, 1))},
        "selection must be an integer array of shape (n, k) or a 0/1",
    ),
    "selection columns": (
        {"selection": sp.eye_array(4).tocsr()},
        "selection must have the 3 labels of probabilities. Got 4.",
    ),
    "expectation": ({"expectation": "full"}, "expectation must be one of auto, semi, exact. Got 'full'."),
    "fill": ({"fill": "zero"}, "fill must be one of auto, least-loss, none. Got 'zero'."),
    "seed": ({"seed": -1}, "seed must be an integer of at least 0. Got -1."),
    "workers": ({"workers": 0}, "workers must be an integer of at least 1, or None for all cores. Got 0."),
    "k": (
        {"k": 0},
        "between 1 and 3, the number of labels. Got 0. Use k=None (-k none) for no budget.",
    ),
    "k float": ({"k": 2.0}, f"{NO_BUDGETS} 2.0."),
    "k short": ({"k": [1, 2]}, "k as an array must hold one budget per instance, 4. Got 2."),
    "priors": ({"priors": tw.LabelPriors([1, 2], 9)}, "priors covers 2 labels, probabilities has 3."),
    "p": ({"condition_positives": [1.0]}, "condition_positives must be 3 finite numbers of at least 0, one per label."),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InputError, match=re.escape(message)):
        tw.certify(MATRIX, "macro-f1", **{"k": 2, **options})


def test_a_selection_beyond_the_budget_is_refused():
    with pytest.raises(InputError, match=r"selection must .*Got") as caught:
        tw.certify(MATRIX, "macro-f1", 1, np.array([[0, 1], [0, 1], [0, 1], [0, 1]]))
    assert "k" in str(caught.value)


def test_bad_probabilities_are_refused():
    with pytest.raises(InputError, match=re.escape("probabilities must lie in [0, 1]. Got 1.5 for instance 0")):
        tw.certify([[0.5, 1.5]], "macro-f1", 1)


@pytest.mark.parametrize("name", ["macro-gmean", "macro-hmean", "macro-auc", "0.5*macro-f1 + 0.5*macro-gmean"])
@pytest.mark.parametrize("expectation", ["auto", "semi", "exact"])
def test_utilities_without_a_bound_are_refused(name, expectation):
    with pytest.raises(UtilityError) as caught:
        tw.certify(MATRIX, name, 2, expectation=expectation)
    message = str(caught.value)
    assert name.rpartition("*")[2] in message  # what came
    assert "macro-f1" in message or "linear" in message or "affine" in message  # the rule, or what can be certified


def squared_recall(t, q, p):
    return (t / p) ** 2 if p > 0 else 0.0


def rounded_precision(t, q, p):
    """Affine nearly everywhere: but for a step."""
    return (t + (0.5 if t >= 0.9 * q else 0.0)) / (q + 1.0) if q > 0 else 0.0


def jaccard_of_mine(t, q, p):
    return t / (q + p - t) if q + p > t else 0.0


@pytest.mark.parametrize("function", [squared_recall, rounded_precision, jaccard_of_mine])
def test_formulas_that_are_not_affine_are_refused(function):
    with pytest.raises(UtilityError) as caught:
        tw.certify(reference.random_matrix(0, 12, 4), Utility.from_formula(function), 2)
    message = str(caught.value)
    assert "linear in t at fixed q and p" in message
    assert re.search(r"t=[\d.e-]+, q=[\d.e-]+, p=[\d.e-]+", message)  # the point


def test_formulas_that_gain_by_filling_are_refused_where_slots_are_filled():
    formula = Utility.from_formula(lambda t, q, p: (t + 0.05 * q) / (p + 1.0))
    matrix = np.array([[0.5, 0.2, 0.0], [0.3, 0.0, 0.0]])
    with pytest.raises(UtilityError, match=r"does not rise with q at fixed t. It does at .* Use fill='none'"):
        tw.certify(matrix, formula, 2)
    assert tw.certify(matrix, formula, 2, fill="none").upper >= 0


def test_formulas_are_certified_by_the_semi_empirical_expectation_only():
    formula = Utility.from_formula(shrunk, name="own")
    with pytest.raises(InputError, match="own") as caught:
        tw.certify(MATRIX, formula, 2, expectation="exact")
    assert "semi" in str(caught.value)  # the remedy


@pytest.mark.parametrize("name", ["macro-gmean", "macro-auc"])
def test_select_refuses_what_cannot_be_certified(name):
    with pytest.raises(UtilityError, match=name):
        tw.select(MATRIX, name, 2, certify=True)


def test_options_are_keywords():
    with pytest.raises(TypeError):
        tw.certify(MATRIX, "macro-f1", 2, None, "semi")


@pytest.mark.parametrize(
    "options",
    [
        {"rounds": np.int64(3)},
        {"rounds": 1},
        {"target_gap": 0},
        {"target_gap": np.float32(1e-2)},
        {"seed": np.int64(3)},
        {"workers": 8},
        {"condition_positives": [0, 0, 0]},
        {"condition_positives": "priors", "priors": tw.LabelPriors([1, 2, 3], 9)},
        {"k": [0, 1, 2, 3]},
        {"k": None},
    ],
    ids=str,
)
def test_good_options_are_accepted(options):
    assert tw.certify(MATRIX, "macro-f1", **{"k": 2, **options}).prices.shape == (4,)


def test_files_stand_for_what_they_hold(tmp_path):
    sp.save_npz(tmp_path / "probabilities.npz", sp.csr_matrix(MATRIX))
    found = tw.select(MATRIX, "macro-f1", 2)
    sp.save_npz(tmp_path / "selection.npz", sp.csr_matrix(found.to_csr()))
    expected = tw.certify(MATRIX, "macro-f1", 2, found, rounds=3)
    by_path = tw.certify(tmp_path / "probabilities.npz", "macro-f1", 2, tmp_path / "selection.npz", rounds=3)
    assert (by_path.value, by_path.upper) == (expected.value, expected.upper)


def test_inputs_are_not_changed():
    # Unsorted, with a stored zero.
    parts = (np.array([0.5, 0.9, 0.0, 0.3, 0.7]), np.array([2, 0, 1, 2, 1]), np.array([0, 2, 3, 5]))
    matrix = sp.csr_array(parts, shape=(3, 3))
    selection, k, p = np.array([[2, 1], [-1, 1], [1, 2]]), np.array([2, 1, 2]), np.array([1.0, 2.0, 2.5])
    given_arrays = (matrix.data, matrix.indices, matrix.indptr, selection, k, p)
    before = [array.copy() for array in given_arrays]
    for text in ("macro-f1", "coverage", "precision"):
        for expectation in ("semi", "exact"):
            tw.certify(matrix, text, k, selection, expectation=expectation, condition_positives=p, rounds=3)
    for array, copy in zip(given_arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)
    assert not matrix.has_sorted_indices


@pytest.mark.boundscheck
@pytest.mark.parametrize("text", ["precision", "macro-f1", "coverage", "macro-jaccard"])
def test_nothing_is_a_candidate(text):
    for expectation in ("semi", "exact"):
        certificate = tw.certify(np.zeros((3, 4)), text, 2, expectation=expectation)
        assert certificate.value == pytest.approx(0.0, abs=1e-12)
        assert certificate.upper == pytest.approx(0.0, abs=1e-9)


@pytest.mark.boundscheck
def test_one_instance_one_label():
    for text in ("precision", "macro-f1", "coverage", "macro-jaccard", "hamming"):
        certificate = tw.certify([[0.5]], text, 1)
        assert certificate.upper == pytest.approx(certificate.value, rel=2e-5, abs=1e-9)
