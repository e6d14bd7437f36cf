"""The Evaluation object: mapping, table, labels, frequency bins, frames."""

import math
import sys

import numpy as np
import pytest
from reference import metrics as reference

from tailwise.errors import InputError, MissingExtraError
from tailwise.inputs.priors import LabelPriors
from tailwise.metrics import METRIC_NAMES, Evaluation, evaluate

TRUTH = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1]])
CHOSEN = np.array([[0, 1], [0, 1], [0, 2]])


def test_the_default_is_every_metric_the_input_allows():
    matrix = reference.as_matrix(CHOSEN, 3).astype(bool)
    propensity_scored = ["ps-precision", "ps-precision-normalised", "ps-ndcg"]
    assert list(evaluate(TRUTH, CHOSEN, priors=TRUTH)) == list(METRIC_NAMES)
    assert list(evaluate(TRUTH, CHOSEN)) == [name for name in METRIC_NAMES if name not in propensity_scored]
    assert set(METRIC_NAMES) - set(evaluate(TRUTH, matrix, priors=TRUTH)) == {"ndcg", "ps-ndcg"}


def test_is_a_mapping_of_floats():
    evaluation = evaluate(TRUTH, CHOSEN, ["macro-f1", "precision", "macro-f1"])
    assert isinstance(evaluation, Evaluation)
    assert list(evaluation) == ["macro-f1", "precision"]
    assert len(evaluation) == 2
    assert evaluation.to_dict() == dict(evaluation)
    assert all(type(value) is float for value in evaluate(TRUTH, CHOSEN, priors=TRUTH).values())
    assert "recall" not in evaluation


def test_to_dict_is_a_copy():
    evaluation = evaluate(TRUTH, CHOSEN, "precision")
    evaluation.to_dict()["precision"] = 0.0
    assert evaluation["precision"] == pytest.approx(2 / 3)


def test_prints_as_a_table():
    evaluation = evaluate(TRUTH, CHOSEN, ["precision", "macro-fbeta(0.5)"], k=2, zero_division=math.nan)
    expected = "Evaluation of 3 instances and 3 labels at k=2\n  precision         0.6667\n  macro-fbeta(0.5)  0.7566"
    assert repr(evaluation) == str(evaluation) == expected
    assert repr(evaluate(TRUTH, CHOSEN, [])) == "Evaluation of 3 instances and 3 labels"


@pytest.mark.boundscheck
@pytest.mark.parametrize("zero_division", [0.0, 1.0, math.nan])
@pytest.mark.parametrize("labels", ["all", "present"])
def test_per_label_equals_its_reference(labels, zero_division):
    truth, chosen, _ = reference.random_problem(4)
    predicted = reference.as_matrix(chosen, truth.shape[1])
    table = evaluate(truth, chosen, labels=labels, zero_division=zero_division).per_label()
    kept = np.flatnonzero(truth.any(axis=0) | (labels == "all"))
    expected = reference.label_metrics(truth, predicted, zero_division=zero_division)
    assert table["label"].tolist() == kept.tolist()
    assert table["true_positives"].tolist() == (truth * predicted).sum(axis=0)[kept].tolist()
    assert table["predicted_positives"].tolist() == predicted.sum(axis=0)[kept].tolist()
    assert table["condition_positives"].tolist() == truth.sum(axis=0)[kept].tolist()
    for name in ("precision", "recall", "f1"):
        np.testing.assert_allclose(table[name], np.array(expected[f"macro-{name}"])[kept])


def test_per_label_gives_arrays_of_its_own():
    evaluation = evaluate(TRUTH, CHOSEN)
    evaluation.per_label()["true_positives"][:] = 7
    assert evaluation.per_label()["true_positives"].tolist() == [2, 1, 1]


@pytest.mark.parametrize("bins", [(3,), (2, 10), (0, 5, 12, 25)])
def test_by_frequency_equals_its_reference(bins):
    truth, chosen, training = reference.random_problem(8, max_labels=40)
    predicted = reference.as_matrix(chosen, truth.shape[1])
    expected = reference.label_metrics(truth, predicted)
    rows = evaluate(truth, chosen, "precision", priors=training, bins=bins).by_frequency()
    limits = [-math.inf, *bins, math.inf]
    for row, low, high in zip(rows, limits[:-1], limits[1:], strict=True):
        inside = [j for j, seen in enumerate(training.sum(axis=0)) if low < seen <= high]
        assert row.n_labels == len(inside)
        for name in ("macro-precision", "macro-recall", "macro-f1", "coverage"):
            value = reference.mean([expected[name][j] for j in inside], 0.0)
            assert getattr(row, name.replace("-", "_")) == pytest.approx(value)


def test_by_frequency_names_its_bins():
    priors = LabelPriors([10, 11, 101], 1000)
    rows = evaluate(TRUTH, CHOSEN, priors=priors).by_frequency()
    assert [(row.name, row.n_labels) for row in rows] == [
        ("tail (<= 10)", 1),
        ("torso (<= 100)", 1),
        ("head (> 100)", 1),
    ]
    rows = evaluate(TRUTH, CHOSEN, priors=priors, bins=[20]).by_frequency()
    assert [(row.name, row.n_labels) for row in rows] == [("tail (<= 20)", 2), ("head (> 20)", 1)]


def test_by_frequency_counts_the_averaged_labels_only():
    truth = np.array([[1, 0, 0], [1, 0, 1]])
    rows = evaluate(truth, [[0], [1]], priors=LabelPriors([1, 1, 200], 300), labels="present").by_frequency()
    assert [row.n_labels for row in rows] == [1, 0, 1]
    assert rows[1].macro_f1 == 0.0


def test_by_frequency_without_priors_names_the_remedy():
    with pytest.raises(InputError, match=r"by_frequency needs label priors. Got priors=None. Use evaluate"):
        evaluate(TRUTH, CHOSEN).by_frequency()


def test_to_frame_has_one_row_per_metric():
    frame = evaluate(TRUTH, CHOSEN, ["precision", "recall"]).to_frame()
    assert frame.index.name == "metric"
    assert frame["value"].to_dict() == evaluate(TRUTH, CHOSEN, ["precision", "recall"]).to_dict()


def test_to_frame_without_pandas_names_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match="pip install pandas"):
        evaluate(TRUTH, CHOSEN).to_frame()
