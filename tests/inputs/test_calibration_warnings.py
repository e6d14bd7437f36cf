"""Warnings about probabilities that are not calibrated: where they can be known, and nowhere else."""

import warnings

import numpy as np
import pytest

import tailwise as tw
from tailwise.errors import CalibrationWarning

RNG = np.random.default_rng(5)
HONEST = RNG.beta(0.3, 2.0, (400, 20))
TRUTH = (RNG.random(HONEST.shape) < HONEST).astype(int)
TRAINING = (RNG.random(HONEST.shape) < HONEST).astype(int)
INFLATED = HONEST**0.5


def caught(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [str(each.message) for each in found if each.category is CalibrationWarning]


def test_more_labels_than_the_training_data_have():
    (message,) = caught(lambda: tw.select(INFLATED, "ps-precision", 3, priors=TRAINING))
    implied, density = INFLATED.sum() / 400, TRAINING.sum() / 400
    assert f"imply {implied:.3g} labels per instance, but the training labels have {density:.3g}" in message
    assert "Use shift_to_priors(probabilities, priors), or Calibrator" in message
    shifted = tw.shift_to_priors(INFLATED, TRAINING)
    assert caught(lambda: tw.select(shifted, "ps-precision", 3, priors=TRAINING)) == []
    assert len(caught(lambda: tw.select(HONEST**3, "ps-precision", 3, priors=TRAINING))) == 1


@pytest.mark.parametrize("size", [3, 30, 400])
def test_calibrated_probabilities(size):
    assert caught(lambda: tw.select(HONEST[:size], "ps-precision", 3, priors=TRAINING)) == []
    options = {"probabilities": HONEST[:size]}
    assert caught(lambda: tw.evaluate(TRUTH[:size], tw.select(HONEST[:size], "macro-f1", 3), **options)) == []


def test_few_instances_prove_nothing():
    assert caught(lambda: tw.select(INFLATED[:2], "ps-precision", 3, priors=TRAINING)) == []


def test_fewer_true_positives_than_implied():
    selection = tw.select(INFLATED, "macro-f1", 3)
    (message,) = caught(lambda: tw.evaluate(TRUTH, selection, ["macro-f1"], probabilities=INFLATED))
    implied = np.take_along_axis(INFLATED, selection.labels, axis=1).sum()
    true = np.take_along_axis(TRUTH, selection.labels, axis=1).sum()
    assert f"imply {implied:,.0f} true positives among the chosen labels, but {true:,.0f} are true" in message
    assert "Fit a Calibrator" in message


def test_nothing_is_known_without_priors_and_truth():
    assert caught(lambda: tw.select(INFLATED, "macro-f1", 3)) == []


def test_shifted_candidates_keep_their_ids():
    pd = pytest.importorskip("pandas")
    names = [f"label {j}" for j in range(20)]
    frame = pd.DataFrame(INFLATED, columns=names)
    training = pd.DataFrame(TRAINING[:, ::-1], columns=names[::-1])
    shifted = tw.shift_to_priors(frame, training)
    assert list(shifted.label_names) == names
    assert np.allclose(shifted.to_csr().toarray(), tw.shift_to_priors(INFLATED, TRAINING).to_csr().toarray())
