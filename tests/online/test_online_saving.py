"""Saved streams go on as if nothing had happened; damaged files are refused in words."""

import io
import json

import numpy as np
import pytest
from reference import selection as reference
from reference.formulas import compiled, shrunk

import tailwise as tw
from tailwise.errors import FileError, InputError, TailwiseError, UtilityError
from tailwise.utilities import MacroF1, Utility

N, M = 10, 6
MATRIX = reference.random_matrix(4, N, M, density=0.8)
TRAINING = reference.random_training(2, M)
PRIORS = tw.LabelPriors(TRAINING.counts, TRAINING.n_instances)
READABLE = ("macro-f1", "macro-fbeta(0.3)", "coverage", "0.1*precision + 0.7*macro-recall + 1e-05*coverage", "hamming")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "stream.npz"


def half_way(utility, **options):
    selector = tw.OnlineSelector(utility, 2, M, **options)
    selector.select(MATRIX[:5])
    return selector


def check_goes_on(selector, loaded):
    assert (loaded.utility, loaded.k, loaded.n_labels) == (selector.utility, selector.k, selector.n_labels)
    np.testing.assert_array_equal(loaded.select(MATRIX[5:]).labels, selector.select(MATRIX[5:]).labels)
    for name in ("t", "q", "p", "log_failure"):
        assert getattr(loaded.totals, name).tobytes() == getattr(selector.totals, name).tobytes()
    assert loaded.n_instances == selector.n_instances == N


@pytest.mark.parametrize("utility", [*READABLE, 1 / 3 * MacroF1()], ids=str)
def test_a_saved_stream_goes_on(path, utility):
    selector = half_way(utility)
    selector.save(path)
    check_goes_on(selector, tw.OnlineSelector.load(path))


GIVEN = {
    "weights": MacroF1(weights=np.arange(M)),
    "formula": compiled(shrunk),
    "formula by the name of another": Utility.from_formula(shrunk, name="macro-f1"),
}


@pytest.mark.parametrize("name", GIVEN)
def test_a_utility_that_no_file_can_hold_is_given_again(path, name):
    selector = half_way(GIVEN[name])
    selector.save(path)
    with pytest.raises(
        UtilityError, match=r"does not hold the whole utility .* Pass it again: OnlineSelector\.load\(path, util"
    ):
        tw.OnlineSelector.load(path)
    check_goes_on(selector, tw.OnlineSelector.load(path, utility=GIVEN[name]))


def test_priors_are_given_again(path):
    selector = half_way("power-law(0.3)", priors=PRIORS)
    selector.save(path)
    with pytest.raises(UtilityError, match=r"does not hold the whole utility power-law\(0\.3\), which depends on more"):
        tw.OnlineSelector.load(path)
    check_goes_on(selector, tw.OnlineSelector.load(path, "power-law(0.3)", priors=PRIORS))


def test_a_given_utility_must_be_the_saved_one(path):
    half_way("macro-f1").save(path)
    assert tw.OnlineSelector.load(path, "macro-f1").n_instances == 5
    with pytest.raises(UtilityError, match=r"utility must be the one that .* was saved with, macro-f1. Got coverage"):
        tw.OnlineSelector.load(path, "coverage")


def test_the_same_stream_gives_the_same_file(path, tmp_path):
    selector = half_way("macro-f1")
    selector.save(path)
    selector.save(tmp_path / "other.npz")
    tw.OnlineSelector.load(path).save(tmp_path / "third.npz")
    assert path.read_bytes() == (tmp_path / "other.npz").read_bytes() == (tmp_path / "third.npz").read_bytes()


def test_certain_hits_are_kept(path):
    selector = tw.OnlineSelector("coverage", 1, 2)
    selector.select(np.array([[1.0, 0.5]]))
    selector.save(path)
    loaded = tw.OnlineSelector.load(path)
    assert loaded.totals.log_failure.tolist() == [-np.inf, 0.0]
    assert loaded.select(np.array([[1.0, 0.1]])).labels.tolist() == [[1]]


def test_a_file_that_cannot_be_written_leaves_the_old_one(path):
    half_way("macro-f1").save(path)
    before = path.read_bytes()
    with pytest.raises(FileError, match="path must lie in a folder that exists"):
        half_way("macro-f1").save(path.parent / "nowhere" / "stream.npz")
    with pytest.raises(FileError, match="path must name a file"):
        half_way("macro-f1").save(path.parent)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]


# Files that are none


def write(path, header=None, **changes):
    """A file whose parts are changed; a part that is None is left out."""
    half_way("macro-f1").save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    known = json.loads(str(arrays["header"]))
    arrays["header"] = np.array(json.dumps({**known, **header})) if isinstance(header, dict) else arrays["header"]
    arrays.update(changes)
    content = io.BytesIO()
    np.savez(content, **{name: array for name, array in arrays.items() if array is not None})
    path.write_bytes(content.getvalue())


def counts(column=0, value=0.5):
    changed = np.zeros((M, 5))
    changed[0, column] = value
    return changed


DAMAGED = {
    "no counts": {"counts": None},
    "no number of rows": {"n_seen": None},
    "other columns": {"counts": np.zeros((M, 4))},
    "other dimensions": {"counts": np.zeros(5)},
    "single precision": {"counts": np.zeros((M, 5), dtype=np.float32)},
    "nan": {"counts": counts(value=np.nan)},
    "negative": {"counts": counts(value=-1.0)},
    "more than rows": {"counts": counts(1, 7.0)},
    "failure above 1": {"counts": counts(3, 1.5)},
    "logarithm above 0": {"counts": counts(4, 0.5)},
    "half a row": {"n_seen": np.array(2.5)},
    "endless rows": {"n_seen": np.array(np.inf)},
    "nan rows": {"n_seen": np.array(np.nan)},
    "two numbers of rows": {"n_seen": np.array([1.0, 2.0])},
    "rows as text": {"n_seen": np.array("five")},
    "k": {"header": {"k": 0}},
    "k above labels": {"header": {"k": M + 1}},
    "k as text": {"header": {"k": "2"}},
    "utility as a number": {"header": {"utility": 0}},
    "name": {"header": {"name": None}},
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_numbers_are_refused(path, name):
    write(path, **DAMAGED[name])
    with pytest.raises(FileError, match=r"must hold the totals of an online selector. They are damaged. Save the"):
        tw.OnlineSelector.load(path)


@pytest.mark.parametrize("header", [None, np.array("{"), np.array("[1]"), np.array('{"kind": "other"}'), np.zeros(2)])
def test_files_of_another_kind_are_refused(path, header):
    write(path)
    with np.load(path) as archive:
        arrays = {**archive, "header": header}
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    with pytest.raises(FileError, match=r"must be a file that OnlineSelector.save wrote. Got"):
        tw.OnlineSelector.load(path)


def test_totals_are_no_selector(path):
    half_way("macro-f1").totals.save(path)
    with pytest.raises(
        FileError, match=r"must be a file that OnlineSelector.save wrote. Got a file of the kind 'tailwise totals'"
    ):
        tw.OnlineSelector.load(path)


def test_a_later_version_is_refused(path):
    write(path, header={"version": 2})
    with pytest.raises(FileError, match=r"must have version 1 of its format. Got version 2. Update tailwise"):
        tw.OnlineSelector.load(path)


def test_an_unknown_utility_is_named(path):
    write(path, header={"utility": "macro-f7"})
    with pytest.raises(UtilityError, match=r"utility must be a known name. Got 'macro-f7'"):
        tw.OnlineSelector.load(path)


def test_nothing_is_unpickled(path):
    write(path, counts=np.array([print], dtype=object))
    with pytest.raises(FileError, match=r"it holds Python objects, not numbers. Save the selector again"):
        tw.OnlineSelector.load(path)


def test_files_cut_short_or_missing(path):
    with pytest.raises(TailwiseError, match=r"stream\.npz"):
        tw.OnlineSelector.load(path)
    half_way("macro-f1").save(path)
    content = path.read_bytes()
    for size in (0, 10, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:size])
        with pytest.raises(FileError, match=r"must be a file that OnlineSelector.save wrote. Reading it failed"):
            tw.OnlineSelector.load(path)


@pytest.mark.parametrize("odd", [None, 3, b"\0"])
def test_paths_that_are_none(odd):
    with pytest.raises((InputError, FileError)):
        tw.OnlineSelector.load(odd)
    with pytest.raises((InputError, FileError)):
        half_way("macro-f1").save(odd)
