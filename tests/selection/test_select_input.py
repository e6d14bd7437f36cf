"""What select accepts and refuses."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from reference import selection as reference
from selection import semi

import tailwise as tw
from tailwise.errors import InputError, UtilityError
from tailwise.utilities import LogPrecision, WeightedInstance

MATRIX = reference.random_matrix(7, 4, 3)
PRIORS = tw.LabelPriors([1, 2, 3], 9)
EVERY_INIT = "init must be one of top, random, greedy, or a selection. Got"
NO_BUDGETS = "k must be an integer, an array of integers with one budget per instance, or None. Got"
NO_POSITIVES = "condition_positives must be 3 finite numbers of at least 0, one per label. Got"
OTHER_PRIORS = "priors covers 2 labels, probabilities has 3."

REFUSED = {
    "method": ({"method": "best"}, "method must be one of auto, instance, ascent, global, greedy. Got 'best'."),
    "method instance": (
        {"method": "instance"},
        "needs a utility that is linear in the predictions. Got macro-f1. Use method='ascent' (--method ascent).",
    ),
    "method without budget": (
        {"k": None, "method": "ascent"},
        "method must be 'auto' where there is no budget (k=None, -k none). Got 'ascent'.",
    ),
    "expectation": ({"expectation": "full"}, "expectation must be one of auto, semi, exact. Got 'full'."),
    "fill": ({"fill": "zero"}, "fill must be one of auto, least-loss, none. Got 'zero'."),
    "fill None": ({"fill": None}, "fill must be one of auto, least-loss, none. Got None."),
    "init": ({"init": "best"}, f"{EVERY_INIT} 'best'."),
    "init rows": ({"init": np.zeros((3, 1), int)}, "init must have the 4 instances of probabilities. Got 3."),
    "init labels": (
        {"init": np.full((4, 1), 3)},
        "init must hold labels from 0 to 2, or -1 for an empty slot. Got 3.",
    ),
    "init twice": ({"init": np.ones((4, 2), int)}, "init must hold each label of an instance once."),
    "init floats": ({"init": np.zeros((4, 1))}, "init must be an integer array of shape (n, k) or a 0/1 matrix"),
    "init None": ({"init": None}, "init must be"),
    "init columns": (
        {"init": sp.eye_array(4).tocsr()},
        "init must have the 3 labels of probabilities. Got 4.",
    ),
    "tolerance": ({"tolerance": -1e-3}, "tolerance must be a finite number of at least 0. Got -0.001."),
    "tolerance nan": ({"tolerance": np.nan}, "tolerance must be a finite number of at least 0. Got nan."),
    "tolerance inf": ({"tolerance": np.inf}, "tolerance must be a finite number of at least 0. Got inf."),
    "tolerance text": ({"tolerance": "1e-7"}, "tolerance must be a finite number of at least 0. Got '1e-7'."),
    "max_passes": ({"max_passes": 0}, "max_passes must be an integer of at least 1. Got 0."),
    "max_passes float": ({"max_passes": 10.0}, "max_passes must be an integer of at least 1. Got 10.0."),
    "batch": (
        {"group_size": 0},
        "group_size must be an integer of at least 1, or 'auto'. Got 0. The paper's algorithm is 1.",
    ),
    "batch text": ({"group_size": "all"}, "group_size must be an integer of at least 1, or 'auto'. Got 'all'."),
    "batch float": ({"group_size": 2.5}, "group_size must be an integer of at least 1, or 'auto'. Got 2.5."),
    "batch True": ({"group_size": True}, "group_size must be an integer of at least 1, or 'auto'. Got True."),
    "batch array": (
        {"group_size": np.array([1, 2])},
        "group_size must be an integer of at least 1, or 'auto'. Got array([1, 2]).",
    ),
    "seed": ({"seed": -1}, "seed must be an integer of at least 0. Got -1."),
    "seed None": ({"seed": None}, "seed must be an integer of at least 0. Got None."),
    "seed float": ({"seed": 1.5}, "seed must be an integer of at least 0. Got 1.5."),
    "workers": ({"workers": 0}, "workers must be an integer of at least 1, or None for all cores. Got 0."),
    "workers text": ({"workers": "all"}, "workers must be an integer of at least 1, or None for all cores. Got 'all'."),
    "workers float": ({"workers": 2.0}, "workers must be an integer of at least 1, or None for all cores. Got 2.0."),
    "k zero": (
        {"k": 0},
        "k must be an integer between 1 and 3, the number of labels. Got 0. Use k=None (-k none) for no budget.",
    ),
    "k negative": ({"k": -1}, "k must be an integer between 1 and 3, the number of labels. Got -1."),
    "k large": ({"k": 4}, "k must be an integer between 1 and 3, the number of labels. Got 4."),
    "k float": ({"k": 2.0}, f"{NO_BUDGETS} 2.0."),
    "k True": ({"k": True}, f"{NO_BUDGETS} True."),
    "k text": ({"k": "2"}, f"{NO_BUDGETS} '2'."),
    "k matrix": ({"k": [[1], [1], [1], [1]]}, NO_BUDGETS),
    "k floats": ({"k": [1.0, 1.0, 1.0, 1.0]}, NO_BUDGETS),
    "k booleans": ({"k": [True, True, True, True]}, NO_BUDGETS),
    "k empty": ({"k": []}, NO_BUDGETS),
    "k short": ({"k": [1, 2]}, "k as an array must hold one budget per instance, 4. Got 2."),
    "k array negative": ({"k": [1, -1, 1, 1]}, "k must be an integer between 0 and 3, the number of labels. Got -1."),
    "k array large": ({"k": [0, 4, 0, 0]}, "k must be an integer between 0 and 3, the number of labels. Got 4."),
    "p short": ({"condition_positives": [1.0, 2.0]}, f"{NO_POSITIVES} shape (2,), smallest 1."),
    "p empty": ({"condition_positives": []}, f"{NO_POSITIVES} shape (0,)."),
    "p number": ({"condition_positives": 1.0}, f"{NO_POSITIVES} shape ()"),
    "p negative": ({"condition_positives": [1.0, -2.0, 1.0]}, f"{NO_POSITIVES} shape (3,), smallest -2."),
    "p nan": ({"condition_positives": [1.0, np.nan, 1.0]}, f"{NO_POSITIVES} shape (3,)"),
    "p infinite": ({"condition_positives": [1.0, np.inf, 1.0]}, f"{NO_POSITIVES} shape (3,)"),
    "p word": ({"condition_positives": "prior"}, "condition_positives must be one of priors. Got 'prior'."),
    "p without priors": (
        {"condition_positives": "priors"},
        'condition_positives="priors" needs priors. Got none. Give priors=training_labels (--priors FILE).',
    ),
    "p of other priors": (
        {"condition_positives": "priors", "priors": tw.LabelPriors([1, 2], 9)},
        OTHER_PRIORS,
    ),
    "priors of other labels": (
        {"priors": tw.LabelPriors([1, 2], 9)},
        OTHER_PRIORS,
    ),
    "training labels of other labels": (
        {"priors": np.ones((9, 2), int)},
        OTHER_PRIORS,
    ),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InputError, match=re.escape(message)):
        semi.select(MATRIX, "macro-f1", **{"k": 2, **options})


# A start is checked also where it is not used: a typing error must not pass in silence.
STARTS = [name for name in REFUSED if name.startswith("init")]


@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize("case", [("precision", 2, "auto"), ("macro-f1", 2, "greedy"), ("macro-f1", None, "auto")])
def test_bad_starts_are_refused_by_every_method(name, case):
    utility, k, method = case
    options, message = REFUSED[name]
    with pytest.raises(InputError, match=re.escape(message)):
        semi.select(MATRIX, utility, k, method=method, **options)


BAD_UTILITIES = {
    "name": ("macro-f2", {}, "utility must be a known name. Got 'macro-f2'. Did you mean macro-fbeta(2)?"),
    "type": (None, {}, "utility must be a Utility or a name. Got NoneType."),
    "priors": ("ps-precision", {}, "PropensityScoredPrecision needs the label priors of the training set. Got none."),
    "wrong priors": (
        LogPrecision(tw.LabelPriors([1, 2], 9)),
        {},
        "Weights and priors must be one number per label, 3 in all. Got shape (2,).",
    ),
    "wrong weights": (
        WeightedInstance(w11=[1.0, 2.0]),
        {},
        "Weights and priors must be one number per label, 3 in all. Got shape (2,).",
    ),
}


@pytest.mark.parametrize(("utility", "options", "message"), BAD_UTILITIES.values(), ids=BAD_UTILITIES)
def test_bad_utilities_are_refused(utility, options, message):
    with pytest.raises(UtilityError, match=re.escape(message)):
        semi.select(MATRIX, utility, 2, **options)


BAD_PROBABILITIES = {
    "above one": (
        [[0.5, 1.5]],
        "probabilities must lie in [0, 1]. Got 1.5 for instance 0, label 1. If these are percentages",
    ),
    "negative": ([[0.5, 0.1], [-0.5, 0.1]], "probabilities must lie in [0, 1]. Got -0.5 for instance 1, label 0."),
    "nan": (
        [[0.5, np.nan]],
        "probabilities must lie in [0, 1]. Got nan for instance 0, label 1. Remove or replace such",
    ),
    "flat": ([0.5, 0.1], "probabilities must be a matrix with at least one instance and one label. Got shape 2."),
    "empty": (np.zeros((0, 3)), "probabilities must be a matrix with at least one instance and one label."),
    "words": ([["a", "b"]], "probabilities must hold numbers."),
    "None": (None, "probabilities must hold numbers."),
}


@pytest.mark.parametrize(("probabilities", "message"), BAD_PROBABILITIES.values(), ids=BAD_PROBABILITIES)
@pytest.mark.parametrize("utility", ["precision", "macro-f1"])
def test_bad_probabilities_are_refused(probabilities, message, utility):
    with pytest.raises(InputError, match=re.escape(message)):
        semi.select(probabilities, utility, 1)


def test_options_are_keywords():
    with pytest.raises(TypeError):
        semi.select(MATRIX, "macro-f1", 2, "ascent")


@pytest.mark.parametrize("utility", ["macro-f1", "ps-precision"])
def test_files_stand_for_what_they_hold(tmp_path, utility):
    training = (np.random.default_rng(0).random((9, 3)) < 0.5).astype(float)
    sp.save_npz(tmp_path / "probabilities.npz", sp.csr_matrix(MATRIX))
    sp.save_npz(tmp_path / "training.npz", sp.csr_matrix(training))
    expected = semi.select(MATRIX, utility, 2, priors=training)
    for form in (str, lambda path: path):
        paths = form(tmp_path / "probabilities.npz"), form(tmp_path / "training.npz")
        found = semi.select(paths[0], utility, 2, priors=paths[1])
        np.testing.assert_array_equal(found.labels, expected.labels)
        assert found.expected == expected.expected


@pytest.mark.parametrize(
    "options",
    [
        {"seed": np.int64(3)},
        {"group_size": np.int32(2)},
        {"max_passes": np.uint8(5)},
        {"tolerance": 0},
        {"tolerance": np.float32(1e-3)},
        {"workers": np.int64(1)},
        {"workers": 8},
        {"priors": PRIORS, "condition_positives": "priors"},
        {"condition_positives": [0, 0, 0]},
    ],
    ids=str,
)
def test_good_options_are_accepted(options):
    assert semi.select(MATRIX, "macro-f1", 2, **options).labels.shape == (4, 2)
