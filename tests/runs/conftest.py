"""A small problem, as matrices and as a folder."""

import numpy as np
import pytest

import tailwise as tw

N_TRAIN, N_LABELS = 240, 30


@pytest.fixture
def data():
    """Features and labels for training and for the test."""
    rng = np.random.default_rng(0)
    centres = rng.random((N_LABELS, 40)) * (rng.random((N_LABELS, 40)) < 0.2)
    Y = (rng.random((300, N_LABELS)) < 1 / np.arange(3, N_LABELS + 3)).astype(np.int8)
    X = (Y @ centres + 0.1 * rng.random((300, 40)) * (rng.random((300, 40)) < 0.2)).astype(np.float32)
    return {"X": X[:N_TRAIN], "Y": Y[:N_TRAIN], "X_test": X[N_TRAIN:], "Y_test": Y[N_TRAIN:]}


@pytest.fixture
def folder(tmp_path, data):
    """The same in files."""
    place = tmp_path / "data"
    place.mkdir()
    for name, key in (("X.trn", "X"), ("Y.trn", "Y"), ("X.tst", "X_test"), ("Y.tst", "Y_test")):
        tw.save(place / f"{name}.npz", data[key])
    return place
