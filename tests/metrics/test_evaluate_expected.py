"""What was expected beside what came true."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp

from tailwise.datasets import save
from tailwise.errors import InputError
from tailwise.metrics import METRIC_NAMES, evaluate
from tailwise.selection import expected_utility

PROBABILITIES = np.array([[0.9, 0.4, 0.1], [0.2, 0.7, 0.0]])
TRUTH = np.array([[1, 0, 0], [0, 1, 1]])
CHOSEN = np.array([[1, 0], [1, 2]])
PRIORS = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 0], [1, 1, 1]])
NO_UTILITIES = {
    "recall",
    "ndcg",
    "ps-precision-normalised",
    "ps-ndcg",
    "micro-f1",
    "catalogue-coverage",
}
UTILITIES = [name for name in (*METRIC_NAMES, "macro-fbeta(2)") if name not in NO_UTILITIES]


def average_over_all_outcomes(**options):
    """Evaluate on each of the 64 matrices that the labels may turn out to be, weighted by its probability."""
    totals = dict.fromkeys(UTILITIES, 0.0)
    for bits in itertools.product((0, 1), repeat=6):
        truth = np.array(bits).reshape(2, 3)
        weight = np.where(truth, PROBABILITIES, 1 - PROBABILITIES).prod()
        if weight > 0:
            values = evaluate(truth, CHOSEN, UTILITIES, priors=PRIORS, **options)
            totals = {name: totals[name] + weight * values[name] for name in UTILITIES}
    return totals


@pytest.mark.parametrize("options", [{}, {"k": 1}, {"k": 2, "propensity": (0.6, 2.6)}], ids=str)
def test_expected_is_the_average_over_all_outcomes(options):
    found = evaluate(TRUTH, CHOSEN, UTILITIES, priors=PRIORS, probabilities=PROBABILITIES, **options)
    assert found.expected == pytest.approx(average_over_all_outcomes(**options), abs=1e-6)


def test_all_metrics_that_are_utilities_and_no_others():
    found = evaluate(TRUTH, CHOSEN, priors=PRIORS, probabilities=PROBABILITIES)
    assert set(found) - set(found.expected) == NO_UTILITIES
    assert set(found.expected) < set(found)
    assert found == evaluate(TRUTH, CHOSEN, priors=PRIORS)


def test_precision_is_left_out_where_slots_differ():
    chosen = np.array([[1, 0], [1, -1]])
    found = evaluate(TRUTH, chosen, ["precision", "macro-f1"], probabilities=PROBABILITIES)
    assert list(found.expected) == ["macro-f1"]
    assert list(evaluate(TRUTH, chosen, "precision", k=2, probabilities=PROBABILITIES).expected) == ["precision"]


def test_nothing_is_expected_without_probabilities():
    assert evaluate(TRUTH, CHOSEN).expected == {}


def test_prints_both():
    found = evaluate(TRUTH, CHOSEN, ["precision", "recall"], probabilities=PROBABILITIES)
    assert repr(found).split("\n") == [
        "Evaluation of 2 instances and 3 labels",
        "             realised  expected",
        "  precision    0.7500    0.5000",
        "  recall       1.0000",
    ]


def test_to_frame_has_both():
    frame = evaluate(TRUTH, CHOSEN, ["precision", "recall"], probabilities=PROBABILITIES).to_frame()
    assert list(frame.columns) == ["value", "expected"]
    assert frame["expected"]["precision"] == 0.5
    assert math.isnan(frame["expected"]["recall"])


def test_every_form_of_probabilities(tmp_path):
    save(tmp_path / "p.npz", PROBABILITIES)
    expected = evaluate(TRUTH, CHOSEN, probabilities=PROBABILITIES).expected
    for form in (sp.csr_array(PROBABILITIES), tmp_path / "p.npz", str(tmp_path / "p.npz")):
        assert evaluate(TRUTH, CHOSEN, probabilities=form).expected == expected


REFUSED = {
    "shape": ({"probabilities": PROBABILITIES[:, :2]}, r"must have the shape of truth, \(2, 3\)\. Got \(2, 2\)\."),
    "logits": ({"probabilities": -PROBABILITIES}, r"probabilities must lie in \[0, 1\]"),
    "present": ({"labels": "present"}, r"probabilities need labels='all' and zero_division=0.*Got labels='present'"),
    "zero": (
        {"zero_division": 1.0},
        r"probabilities need labels='all'.*zero_division=1\.0\. Omit probabilities\.",
    ),
    "filter": ({"filter": [[0, 1]]}, r"probabilities and filter cannot be combined"),
    "nan": ({"zero_division": math.nan}, r"probabilities need labels='all'.*zero_division=nan"),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_bad_input_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        evaluate(TRUTH, CHOSEN, **({"probabilities": PROBABILITIES} | options))


@pytest.mark.parametrize("basis", [{"expectation": "semi"}, {"condition_positives": "priors"}])
def test_expected_by_what_the_selection_was_made_by(basis):
    found = evaluate(TRUTH, CHOSEN, ["macro-f1"], probabilities=PROBABILITIES, priors=PRIORS, **basis)
    value = expected_utility(PROBABILITIES, "macro-f1", CHOSEN, 2, priors=PRIORS, **basis)
    assert found.expected["macro-f1"] == value
    assert value != pytest.approx(evaluate(TRUTH, CHOSEN, probabilities=PROBABILITIES).expected["macro-f1"])
