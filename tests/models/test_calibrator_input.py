"""What a Calibrator refuses, and its files."""

import json
import os

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from tailwise.errors import FileError, InputError
from tailwise.models.calibrator import Calibrator
from tailwise.models.calibrator_file import _checksum

RNG = np.random.default_rng(0)
PROBABILITIES = RNG.random((40, 6))
TRUTH = (RNG.random((40, 6)) < PROBABILITIES**2).astype(np.int8)

REFUSED = {
    "method": ({"method": "beta"}, {}, r"method must be one of isotonic, platt, temperature, context\. Got 'beta'\."),
    "by": ({"by": "label"}, {}, r"by must be one of all, frequency\. Got 'label'\."),
    "bins": ({"bins": (5, 2)}, {}, r"bins must be one or more ascending training counts\. Got \(5, 2\)\."),
    "random state": ({"random_state": None}, {}, r"random_state must be an integer of at least 0\. Got None\."),
    "no priors": ({"by": "frequency"}, {}, r'by="frequency" needs label priors\. Got priors=None\. Use fit\('),
    "labels": ({}, {"probabilities": PROBABILITIES[:, :5]}, r"probabilities must have 6 labels\. Got 5\."),
    "instances": (
        {},
        {"probabilities": PROBABILITIES[:9]},
        r"probabilities must have the 40 instances of truth\. Got 9",
    ),
    "priors": ({"by": "frequency"}, {"priors": TRUTH[:, :5]}, r"priors covers 5 labels, truth has 6"),
    "truth": ({}, {"truth": PROBABILITIES}, r"truth must hold only 0 and 1\. Got 0\.\d+\."),
    "logits": ({}, {"probabilities": PROBABILITIES * 3}, r"probabilities must lie in \[0, 1\]\..*logits"),
    "nan": ({}, {"probabilities": np.full((40, 6), np.nan)}, r"probabilities must lie in \[0, 1\]\. Got nan"),
    "nothing true": (
        {},
        {"truth": np.zeros((40, 6))},
        r"truth must contain at least one candidate.*Got none\. Check that",
    ),
    "no candidates": ({}, {"probabilities": np.zeros((40, 6))}, r"truth must contain at least one candidate of prob"),
}


@pytest.mark.parametrize(("parameters", "changed", "message"), REFUSED.values(), ids=REFUSED)
def test_fit_refuses(parameters, changed, message):
    given = {"probabilities": PROBABILITIES, "truth": TRUTH} | changed
    with pytest.raises(InputError, match=message):
        Calibrator(**parameters).fit(**given)


def test_transform_refuses_other_labels():
    calibrator = Calibrator().fit(PROBABILITIES, TRUTH)
    with pytest.raises(InputError, match=r"probabilities must have 6 labels\. Got 5\. .*n_labels=6"):
        calibrator.transform(PROBABILITIES[:, :5])


@pytest.mark.parametrize("call", [lambda c: c.transform(PROBABILITIES), lambda c: c.save("never.npz")])
def test_nothing_before_it_is_fitted(call):
    with pytest.raises(NotFittedError, match="This Calibrator instance is not fitted yet"):
        call(Calibrator())


@pytest.mark.parametrize("method", ["isotonic", "platt", "temperature", "context"])
def test_all_true_and_one_candidate_are_no_trouble(method):
    everything = Calibrator(method).fit(PROBABILITIES, np.ones((40, 6))).transform(PROBABILITIES)
    assert everything.data.min() >= PROBABILITIES.min()
    single = Calibrator(method).fit([[0.3]], [[1]]).transform([[0.3]])
    assert 0.3 <= single[0, 0] < 1


# Files


@pytest.mark.parametrize("method", ["isotonic", "platt", "temperature", "context"])
@pytest.mark.parametrize("by", ["all", "frequency"])
def test_a_file_gives_the_same_calibrator_back(tmp_path, method, by):
    path = tmp_path / "calibrator.npz"
    calibrator = Calibrator(method, by=by, bins=[20], random_state=4).fit(PROBABILITIES, TRUTH, priors=TRUTH)
    calibrator.save(path)
    loaded = Calibrator.load(path)
    assert loaded.get_params() == {**calibrator.get_params(), "bins": (20.0,)}
    np.testing.assert_array_equal(
        loaded.transform(PROBABILITIES).toarray(), calibrator.transform(PROBABILITIES).toarray()
    )
    loaded.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == path.read_bytes()


def test_parameters_changed_after_fitting_do_no_harm(tmp_path):
    calibrator = Calibrator("platt").fit(PROBABILITIES, TRUTH)
    expected = calibrator.transform(PROBABILITIES).toarray()
    calibrator.set_params(method="context", by="frequency", random_state=np.int64(3))
    np.testing.assert_array_equal(calibrator.transform(PROBABILITIES).toarray(), expected)
    calibrator.save(tmp_path / "calibrator.npz")
    loaded = Calibrator.load(tmp_path / "calibrator.npz")
    np.testing.assert_array_equal(loaded.transform(PROBABILITIES).toarray(), expected)


@pytest.fixture
def path(tmp_path):
    target = tmp_path / "calibrator.npz"
    Calibrator(by="frequency", bins=[20]).fit(PROBABILITIES, TRUTH, priors=TRUTH).save(target)
    return target


def rewrite(path, *, has_right_checksums=True, **changes):
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(str(arrays.pop("header")))
    told = changes.pop("header", {})
    arrays = {name: array for name, array in {**arrays, **changes}.items() if array is not None}
    if has_right_checksums:
        header["checksums"] = {name: _checksum(array) for name, array in arrays.items()}
    header = None if told is None else header | told
    np.savez(path, header=np.array(json.dumps(header)), **arrays)


@pytest.mark.parametrize(
    ("version", "remedy"), [(1, "Create it again with this tailwise"), (3, "Update tailwise to read it")]
)
def test_other_versions_are_refused(path, version, remedy):
    rewrite(path, header={"version": version})
    with pytest.raises(FileError, match=rf"must have version 2 of its format\. Got version {version}\. {remedy}\."):
        Calibrator.load(path)


def test_a_file_of_another_kind_is_refused(path):
    rewrite(path, header={"kind": "tailwise label tree"})
    with pytest.raises(FileError, match=r"must be a complete file .* Got a file of the kind 'tailwise label tree'\."):
        Calibrator.load(path)


DAMAGE = {
    "truncated": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_text("method,isotonic\n"),
    "foreign": lambda path: np.savez(path, numbers=np.arange(3)),
    "objects": lambda path: np.savez(path, header=np.array([{}], dtype=object), allow_pickle=True),
    "missing curve": lambda path: rewrite(path, header={"n_curves": 3}),
    "other curve": lambda path: rewrite(path, header={"curve": "Logistic"}),
    "too few labels": lambda path: rewrite(path, label_bins_=np.zeros(5, dtype=int)),
    "label bins": lambda path: rewrite(path, label_bins_=np.full(6, 7)),
    "one array less": lambda path: rewrite(path, label_bins_=None, has_right_checksums=False),
    "one array more": lambda path: rewrite(path, thesis=np.zeros(3), has_right_checksums=False),
    "no curves": lambda path: rewrite(path, header={"n_curves": 0}),
    "many curves": lambda path: rewrite(path, header={"n_curves": "many"}),
    "parameters": lambda path: rewrite(path, header={"parameters": {"bins": [20], "thesis": 1}}),
    "a method": lambda path: rewrite(path, header={"parameters": {"bins": [20], "method": "thesis"}}),
    "no object": lambda path: rewrite(path, header=None),
    "no numbers": lambda path: rewrite(path, **{"knots 0": np.array(["a"])}),
    "no probabilities": lambda path: rewrite(path, **{"values 0": np.array([0.5, 1.5]), "knots 0": np.arange(2.0)}),
    "falling knots": lambda path: rewrite(path, **{"values 0": np.array([0.5, 0.5]), "knots 0": np.array([0.5, 0.1])}),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_and_foreign_files_are_refused(path, damage):
    damage(path)
    with pytest.raises(FileError, match=r"calibrator\.npz must be a complete file that .* wrote\.") as caught:
        Calibrator.load(path)
    assert "pickle" not in str(caught.value)


def test_a_missing_file(tmp_path):
    with pytest.raises(FileError, match=r"none\.npz does not exist"):
        Calibrator.load(tmp_path / "none.npz")


def test_a_file_appears_whole_or_not_at_all(path, monkeypatch):
    before = path.read_bytes()

    def fail(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(FileError, match="could not be written: No space left"):
        Calibrator().fit(PROBABILITIES, TRUTH).save(path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]
