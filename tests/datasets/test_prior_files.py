"""Training counts and label names survive a file, and broken files are refused."""

import numpy as np
import pytest

import tailwise as tw
from tailwise.datasets import LabelNames, load_label_names, load_priors, save_label_names, save_priors
from tailwise.errors import FileError


def test_priors_survive(tmp_path):
    priors = tw.LabelPriors([3, 0, 7], n_instances=9)
    save_priors(tmp_path / "priors.npz", priors)
    assert load_priors(tmp_path / "priors.npz") == priors


def test_equal_priors_give_equal_bytes(tmp_path):
    for name in ("a.npz", "b.npz"):
        save_priors(tmp_path / name, tw.LabelPriors([3, 0, 7], n_instances=9))
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


BROKEN = {
    "counts too large": {"counts": np.array([5.0]), "n_instances": np.array(3)},
    "no counts": {"n_instances": np.array(3)},
    "many sizes": {"counts": np.array([1.0]), "n_instances": np.array([3, 4])},
    "text": {"counts": np.array(["a"]), "n_instances": np.array(3)},
    "objects": {"counts": np.array([None]), "n_instances": np.array(3)},
}


@pytest.mark.parametrize("arrays", BROKEN.values(), ids=BROKEN)
def test_broken_priors(tmp_path, arrays):
    np.savez(tmp_path / "priors.npz", **arrays)
    with pytest.raises(FileError, match=r"priors\.npz must hold the label counts"):
        load_priors(tmp_path / "priors.npz")


def test_priors_that_are_cut_short(tmp_path):
    save_priors(tmp_path / "priors.npz", tw.LabelPriors(np.ones(500), n_instances=9))
    whole = (tmp_path / "priors.npz").read_bytes()
    for size in (0, 3, 100, len(whole) // 2, len(whole) - 30):
        (tmp_path / "cut.npz").write_bytes(whole[:size])
        with pytest.raises(FileError, match=r"cut\.npz must hold"):
            load_priors(tmp_path / "cut.npz")


def test_no_priors(tmp_path):
    with pytest.raises(FileError, match="does not exist"):
        load_priors(tmp_path / "none.npz")


@pytest.mark.parametrize("titles", [None, ["Earth", "", "Mönd"]])
def test_names_survive(tmp_path, titles):
    names = LabelNames(["a", "b", "c"], titles)
    save_label_names(tmp_path / "labels.txt", names)
    assert load_label_names(tmp_path / "labels.txt") == names


def test_counts_serve_wherever_training_labels_do(tmp_path):
    rng = np.random.default_rng(0)
    training = (rng.random((50, 6)) < 0.3).astype(np.int8)
    probabilities = rng.uniform(0.05, 0.6, size=(20, 6))
    truth = (rng.random((20, 6)) < probabilities).astype(np.int8)
    path = tmp_path / "priors.npz"
    save_priors(path, tw.LabelPriors.from_labels(training))
    options = {"utility": "ps-precision", "k": 2}
    selection = tw.select(probabilities, priors=path, **options)
    assert (selection.labels == tw.select(probabilities, priors=training, **options).labels).all()
    assert tw.evaluate(truth, selection, priors=path) == tw.evaluate(truth, selection, priors=training)
    shifted = tw.shift_to_priors(probabilities, path).to_csr()
    assert (shifted != tw.shift_to_priors(probabilities, training).to_csr()).nnz == 0
