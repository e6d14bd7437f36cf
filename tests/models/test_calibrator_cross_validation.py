"""Calibration without held-out labels: by cross-validation of the model."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from tailwise.errors import InputError
from tailwise.models.adapters import from_sklearn
from tailwise.models.calibrator import Calibrator
from tailwise.models.reliability import reliability


class Recorder(BaseEstimator):
    """Says for an instance it was trained on that every label is certain, and one half otherwise."""

    fits = ()  # of all copies, in order

    def __init__(self, certain=1.0):
        self.certain = certain

    def fit(self, X, Y):
        self.seen_ = set(np.asarray(X)[:, 0])
        self.n_labels_ = Y.shape[1]
        type(self).fits += ((self, X, Y),)
        return self

    def predict_proba(self, X, top=None):
        self.top_ = top
        values = [self.certain if x in self.seen_ else 0.5 for x in np.asarray(X)[:, 0]]
        return np.repeat(values, self.n_labels_).reshape(-1, self.n_labels_)


@pytest.fixture
def problem(monkeypatch):
    monkeypatch.setattr(Recorder, "fits", ())
    X = np.arange(23.0)[:, None]
    return X, (np.random.default_rng(0).random((23, 4)) < 0.4).astype(np.int8)


def test_models_predict_only_what_they_were_not_trained_on(problem):
    X, Y = problem
    model = Recorder()
    calibrator = Calibrator("platt").fit_cross_validated(model, X, Y, folds=5)
    # Every prediction was one half, so that one half becomes the share of true labels.
    assert calibrator.transform(np.full((1, 4), 0.5))[0, 0] == pytest.approx(Y.mean(), abs=0.01)
    assert not hasattr(model, "seen_")
    assert sorted(len(X_fold) for _, X_fold, _ in Recorder.fits) == [18, 18, 18, 19, 19]
    left_out = [x for _, X_fold, _ in Recorder.fits for x in set(X[:, 0]) - set(X_fold[:, 0])]
    assert sorted(left_out) == X[:, 0].tolist()


def test_rows_are_put_back_in_their_order(problem):
    X, Y = problem

    class Echo(Recorder):
        """Says of each instance what is true of it, for sure."""

        def predict_proba(self, X):
            return Y[np.asarray(X)[:, 0].astype(int)] * 0.8 + 0.1

    calibrator = Calibrator("isotonic").fit_cross_validated(Echo(), X, Y, folds=3)
    assert calibrator.transform(np.full((1, 4), 0.9))[0, 0] > 0.95
    assert calibrator.transform(np.full((1, 4), 0.1))[0, 0] < 0.05


def test_options_reach_predict_proba(problem):
    Calibrator().fit_cross_validated(Recorder(), *problem, folds=2, top=3)
    assert [model.top_ for model, _, _ in Recorder.fits] == [3, 3]


def test_the_model_gets_labels_in_the_form_they_came(problem):
    X, Y = problem
    Calibrator().fit_cross_validated(Recorder(), X, Y, folds=2)
    assert all(isinstance(labels, np.ndarray) for _, _, labels in Recorder.fits)
    Recorder.fits = ()
    Calibrator().fit_cross_validated(Recorder(), X, sp.csr_matrix(Y), folds=2)
    assert all(sp.issparse(labels) for _, _, labels in Recorder.fits)


def test_folds_follow_the_seed(problem):
    def left_out(seed):
        Recorder.fits = ()
        Calibrator(random_state=seed).fit_cross_validated(Recorder(), *problem, folds=4)
        return [sorted(model.seen_) for model, _, _ in Recorder.fits]

    assert left_out(0) == left_out(0) != left_out(1)


def test_frequency_bins_come_from_the_labels(problem):
    X, Y = problem
    Y[:, 0] = 0
    Y[3, 0] = 1
    calibrator = Calibrator(by="frequency", bins=(2,)).fit_cross_validated(Recorder(), X, Y)
    assert calibrator.label_bins_.tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize(
    "model",
    [
        OneVsRestClassifier(LogisticRegression(C=1000.0, max_iter=500)),
        RandomForestClassifier(20, max_features=None, random_state=0),
    ],
    ids=["array", "list"],
)
def test_an_overconfident_model_becomes_calibrated(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 12))
    Y = (rng.random((900, 5)) < 1 / (1 + np.exp(2 - X[:, :5]))).astype(int)
    fitted = model.fit(X[:450], Y[:450])
    calibrator = Calibrator("platt").fit_cross_validated(model, X[:450], Y[:450], folds=4)
    said = from_sklearn(fitted, X[450:])
    before, after = reliability(said, Y[450:]).error, reliability(calibrator.transform(said), Y[450:]).error
    assert after < before


REFUSED = {
    "one fold": ({"folds": 1}, {}, r"folds must be an integer between 2 and 23, the number of instances\. Got 1\."),
    "too many": ({"folds": 24}, {}, r"folds must be .* Got 24\."),
    "fraction": ({"folds": 2.0}, {}, r"folds must be .* Got 2\.0\."),
    "seed": ({}, {"random_state": -1}, r"random_state must be an integer of at least 0\. Got -1\."),
    "method": ({}, {"method": "none"}, r"method must be one of"),
}


@pytest.mark.parametrize(("options", "parameters", "message"), REFUSED.values(), ids=REFUSED)
def test_bad_input_is_refused_before_anything_is_trained(problem, options, parameters, message):
    with pytest.raises(InputError, match=message):
        Calibrator(**parameters).fit_cross_validated(Recorder(), *problem, **options)
    assert Recorder.fits == ()


def test_other_instances_are_refused(problem):
    X, Y = problem
    with pytest.raises(InputError, match=r"X must have the 23 instances of Y\. Got 22\."):
        Calibrator().fit_cross_validated(Recorder(), X[:22], Y)
