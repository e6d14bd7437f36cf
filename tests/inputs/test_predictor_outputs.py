"""Inputs that scikit-learn users tend to pass."""

import numpy as np
import pytest

import tailwise as tw
from tailwise.errors import InputError

YES = np.array([[0.9, 0.2, 0.1], [0.3, 0.6, 0.2]])


def test_what_a_forest_returns():
    parts = [np.column_stack([1 - column, column]) for column in YES.T]
    candidates = tw.Candidates.of(parts)
    assert np.allclose(candidates.to_csr().toarray(), YES)
    assert candidates.holds_all_labels


def test_a_forest_itself():
    forest = pytest.importorskip("sklearn.ensemble").RandomForestClassifier(5, random_state=0)
    features, truth = np.random.default_rng(0).random((30, 4)), np.tile([[1, 0], [0, 1], [1, 1]], (10, 1))
    given = forest.fit(features, truth).predict_proba(features)
    assert np.allclose(tw.Candidates.of(given).to_csr().toarray(), np.column_stack([each[:, 1] for each in given]))
    with pytest.raises(
        InputError, match=r"must be numbers, not a model\. Got a RandomForestClassifier\. Give what it pr"
    ):
        tw.select(forest, "macro-f1", 1)
    pipeline = pytest.importorskip("sklearn.pipeline").make_pipeline(forest)
    with pytest.raises(InputError, match=r"Got a Pipeline\. Give what it predicts: model\.predict_proba\(X\)\."):
        tw.select(pipeline, "macro-f1", 1)


@pytest.mark.parametrize(
    ("parts", "came"),
    [([np.ones((4, 2)) / 2, np.ones((4, 1))], r"shape \(4, 1\) for label 1"), ([np.ones((4, 2))], "other arrays")],
)
def test_other_lists_of_arrays(parts, came):
    with pytest.raises(InputError, match=rf"an array of shape \(n, 2\) for each label.* Got {came}\. Give a matrix"):
        tw.Candidates.of(parts)


def test_lists_of_rows_are_matrices():
    assert tw.Candidates.of([YES[0], YES[1]]).shape == (2, 3)
    assert tw.Candidates.of(YES.tolist()).shape == (2, 3)
