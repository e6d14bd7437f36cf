"""A small data set in a folder, with features, labels and probabilities."""

import numpy as np
import pytest
import scipy.sparse as sp

from tailwise.datasets import save
from tailwise.experiments.experiment_data import ExperimentData

N_TRAIN, N_TEST, N_LABELS = 400, 120, 40


@pytest.fixture(scope="session")
def problem():
    """Features, labels and probabilities of a problem with a tail."""
    rng = np.random.default_rng(0)
    n = N_TRAIN + N_TEST
    centres = rng.random((N_LABELS, 30)) * (rng.random((N_LABELS, 30)) < 0.2)
    probabilities = np.clip(rng.beta(0.5, 4, size=(n, N_LABELS)) * 8 / np.arange(2, N_LABELS + 2), 0.001, 0.95)
    labels = (rng.random((n, N_LABELS)) < probabilities).astype(np.int8)
    features = labels @ centres + 0.1 * rng.random((n, 30)) * (rng.random((n, 30)) < 0.3)
    return features, labels, probabilities


@pytest.fixture
def folder(tmp_path, problem):
    """The problem in the layout of npz files, and probabilities.npz beside it."""
    features, labels, probabilities = problem
    place = tmp_path / "small"
    place.mkdir()
    for name, rows in (("trn", slice(N_TRAIN)), ("tst", slice(N_TRAIN, None))):
        save(place / f"X.{name}.npz", features[rows])
        save(place / f"Y.{name}.npz", labels[rows])
    save(tmp_path / "probabilities.npz", sp.csr_array(0.5 * probabilities[N_TRAIN:]))  # too low, as those of trees are
    return place


@pytest.fixture
def given(folder, tmp_path):
    """The data of an experiment with probabilities from a file."""
    return ExperimentData(folder, folder.parent / "probabilities.npz", tmp_path)


@pytest.fixture
def untrained(folder, tmp_path):
    """The data of an experiment without probabilities: a label tree is trained when asked for."""
    store = tmp_path / "store"
    store.mkdir()
    return ExperimentData(folder, None, store)
