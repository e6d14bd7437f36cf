"""Stacked models: what the regression sees, whom it holds out, and files."""

import numpy as np
import pytest
import scipy.sparse as sp
from reference import label_tree as reference

import tailwise as tw
from tailwise.errors import InputError
from tailwise.models.stacking import describe_pairs, expected_calibration_error, fit_stack, pool

X, Y = reference.random_data(13, n=60, m=15)


def test_what_the_regression_sees():
    first, second = sp.csr_array([[0.9, 0.0, 0.2]]), sp.csr_array([[0.0, 0.5, 0.4]])
    seen = describe_pairs(pool([first, second]), np.array([1.0, 2.0, 3.0]))
    assert seen.shape == (3, 8)
    np.testing.assert_allclose(seen[:, 1], np.log1p([0, 2, 1]))
    np.testing.assert_allclose(seen[:, 4], np.log1p([2, 0, 1]))
    np.testing.assert_allclose(seen[:, 2], np.log(1.2), rtol=1e-6)
    np.testing.assert_allclose(seen[:, 6], np.log1p([1, 2, 3]))
    mean = np.array([0.45, 0.25, 0.3])
    np.testing.assert_allclose(seen[:, 7], np.log(mean / (1 - mean)), rtol=1e-5)


def test_probabilities_are_the_regression():
    model = tw.Ensemble().fit(X, Y)
    pooled = pool([member.predict_proba(X, top=100) for member in model.members_.values()])
    seen = describe_pairs(pooled, model.priors_.counts)
    weights = list(model.weights_.values())
    expected = 1 / (1 + np.exp(-seen @ weights[:-1] - weights[-1]))
    np.testing.assert_allclose(model.predict_proba(X).data, expected, rtol=1e-4)
    assert 0 <= model.calibration_error_ < 0.2


@pytest.mark.parametrize("options", [{}, {"folds": 3}, {"split": "time"}], ids=str)
def test_files_and_threads(options, tmp_path):
    one, two = (tw.Ensemble(n_jobs=n, **options).fit(X, Y) for n in (1, 2))
    one.save(tmp_path / "e.model")
    for other in (two, tw.load_model(tmp_path / "e.model")):
        assert (other.predict_proba(X, top=5) != one.predict_proba(X, top=5)).nnz == 0
        assert other.weights_ == one.weights_


def test_parts_of_features():
    both = tw.SideBySide(sp.csr_array(X), X[:, :4])
    members = [
        ("words", tw.Neighbours(), "sparse"),
        ("space", tw.Neighbours(), "dense"),
        ("tree", tw.LabelTree(), "sparse"),
    ]
    model = tw.Ensemble(members).fit(both, Y)
    assert model.members_["space"].n_features_in_ == 4
    assert len(model.weights_) == 12


def test_groups_are_held_out_together():
    groups = np.arange(60) // 6
    for held in tw.Ensemble(folds=3)._list_held(60, groups, 0):
        assert not set(groups[held]) & set(np.delete(groups, held))
    np.testing.assert_array_equal(tw.Ensemble(split="time")._list_held(60, None, 0)[0], np.arange(48, 60))
    assert sum(each.size for each in tw.Ensemble(folds=3)._list_held(60, None, 0)) == 60


def test_the_error_of_calibration():
    assert expected_calibration_error(np.full(30, 0.5), np.arange(30) % 2 == 0) == pytest.approx(1 / 30, abs=0.05)
    assert expected_calibration_error(np.full(30, 0.9), np.zeros(30, bool)) == pytest.approx(0.9)


def test_without_a_single_hit():
    weights, bias = fit_stack(np.ones((8, 2)), np.zeros(8, bool))
    assert not weights.any()
    assert 1 / (1 + np.exp(-bias)) == pytest.approx(0.1)


REFUSED = {
    "split must be one of random, time": lambda: tw.Ensemble(split="x").fit(X, Y),
    "folds must be an integer of at least 2": lambda: tw.Ensemble(folds=1).fit(X, Y),
    "folds must be None for split='time'": lambda: tw.Ensemble(folds=3, split="time").fit(X, Y),
    "members must have different names": lambda: tw.Ensemble([("a", tw.Neighbours()), ("a", tw.LabelTree())]).fit(X, Y),
    "the part of a member must be one of": lambda: tw.Ensemble([("a", tw.Neighbours(), "x")]).fit(X, Y),
    "X must have dense features": lambda: tw.Ensemble([("a", tw.Neighbours(), "dense")]).fit(sp.csr_array(X), Y),
    "groups must have one entry for each of the 60 rows. Got 2": lambda: tw.Ensemble().fit(X, Y, groups=[0, 1]),
    "An ensemble needs at least 5 rows, to hold some out. Got 3": lambda: tw.Ensemble().fit(X[:3], Y[:3]),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_refused(words):
    with pytest.raises(InputError, match=words):
        REFUSED[words]()
