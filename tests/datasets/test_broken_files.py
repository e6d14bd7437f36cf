"""Every file that cannot be read is refused with a reason and a remedy, and never crashes compiled code."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from tailwise.datasets import load, load_selection, save, save_selection
from tailwise.errors import FileError, TailwiseError
from tailwise.inputs.chosen import Chosen


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.npz"


def assert_refused(path, message):
    with pytest.raises(FileError, match=message) as caught:
        load(path)
    assert isinstance(caught.value, OSError)
    assert isinstance(caught.value, TailwiseError)
    assert str(path) in str(caught.value)


def write_parts(path, **changes):
    """A valid 2 x 3 matrix in the layout of scipy, with some of its arrays replaced or (None) left out."""
    parts = {"indices": [0, 2, 1], "indptr": [0, 2, 3], "data": [0.1, 0.2, 0.3], "shape": [2, 3], "format": b"csr"}
    parts.update(changes)
    np.savez(path, **{name: np.array(part) for name, part in parts.items() if part is not None})


def with_damage(content, position, change):
    damaged = bytearray(content)
    damaged[position] ^= int(change)
    return damaged


def test_the_parts_alone_are_valid(path):
    write_parts(path)
    assert load(path).toarray().tolist() == [[0.1, 0.0, 0.2], [0.0, 0.3, 0.0]]


def test_no_such_file(path):
    assert_refused(path, r"a\.npz does not exist\. Check the spelling and the folder")
    assert_refused(path / "b.npz", "does not exist")


def test_a_file_as_folder(path):
    path.touch()
    assert_refused(path / "b.npz", "does not exist")


def test_a_directory(tmp_path):
    assert_refused(tmp_path, r"must contain or match at least one file\. It does not\. Check the spelling")


def test_no_permission(path, monkeypatch):
    def refuse(*arguments):
        raise PermissionError(13, "Permission denied")

    # The superuser may read everything, so the refusal is played.
    monkeypatch.setattr("tailwise.datasets.formats.disk.open", refuse, raising=False)
    assert_refused(path, r"path must name a readable file\. Got .*: Permission denied\. Check its name")


@pytest.mark.parametrize("content", [b"", b"no archive", pickle.dumps({"format": "csr"})])
def test_no_npz(path, content):
    path.write_bytes(content)
    assert_refused(
        path, r"must be an \.npz file\. It is not one, or it was cut short\. Write it with scipy\.sparse\.save_npz"
    )


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.999])
def test_a_file_cut_short(path, share):
    save(path, np.eye(50))
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    assert_refused(path, "was cut short")


def test_a_changed_byte_is_found(path):
    save(path, np.eye(50) * 0.7)
    content = bytearray(path.read_bytes())
    content[content.index(np.float64(0.7).tobytes()) + 3] ^= 1
    path.write_bytes(content)
    assert_refused(
        path, r"must be a complete and valid \.npz file\. Reading it failed with BadZipFile: .*\. Copy it again"
    )


@pytest.mark.parametrize("compressed", [True, False])
def test_damage_anywhere_is_a_file_error_or_harmless(path, compressed):
    rng = np.random.default_rng(0)
    sp.save_npz(path, sp.coo_array(np.maximum(0, rng.normal(size=(8, 9)))), compressed=compressed)
    whole = load(path).toarray()
    content = path.read_bytes()
    refused = 0
    for position in rng.integers(len(content), size=300):
        path.write_bytes(with_damage(content, position, rng.integers(1, 256)))
        try:
            np.testing.assert_array_equal(load(path).toarray(), whole)
        except FileError:
            refused += 1
    assert refused > 150


def test_damage_to_the_list_of_contents_never_loses_a_ranking(path):
    save_selection(path, Chosen.of(np.array([[2, 0], [1, -1], [3, 1]]), n_labels=5))
    content = path.read_bytes()
    for position in range(content.index(b"PK\x01\x02"), len(content)):
        for change in (1, 2, 32, 64, 255):
            path.write_bytes(with_damage(content, position, change))
            try:
                loaded = load_selection(path)
            except FileError:
                continue
            assert loaded.is_ranked
            assert loaded.labels.tolist() == [[2, 0], [1, -1], [3, 1]]


def test_more_than_fits_in_memory(path, monkeypatch):
    def refuse(file):
        msg = "Unable to allocate 9 PiB"
        raise MemoryError(msg)

    write_parts(path)
    monkeypatch.setattr("tailwise.datasets.formats.npz.sp.load_npz", refuse)
    assert_refused(path, "must fit in memory. It does not: Unable to allocate 9 PiB")


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
def test_dense_arrays_in_an_npz(path, write):
    write(path, np.eye(3), np.eye(2))
    assert_refused(
        path, r"must hold a sparse matrix\. Got the arrays arr_0, arr_1\. Save one with scipy\.sparse\.save_npz"
    )


def test_an_empty_npz(path):
    np.savez(path)
    assert_refused(path, r"Got the arrays \(none\)")


def test_a_single_array_under_the_wrong_name(path):
    with open(path, "wb") as file:
        np.save(file, np.eye(3))
    assert_refused(path, r"Got a single array in the \.npy format\. Save one with scipy\.sparse\.save_npz\(path")


@pytest.mark.parametrize("missing", ["indices", "indptr", "data", "shape"])
def test_a_missing_array(path, missing):
    write_parts(path, **{missing: None})
    assert_refused(path, f"Reading it failed with KeyError: .*{missing}")


@pytest.mark.parametrize(
    "changes",
    [
        {"indices": [0, 3, 1]},
        {"indices": [0, -1, 1]},
        {"indices": [0, 2**40, 1]},
        {"indices": [0, 2]},
        {"indices": [[0, 2, 1]]},
        {"indptr": [0, 2]},
        {"indptr": [0, 2, 4]},
        {"indptr": [0, 5, 3]},
        {"indptr": [1, 2, 3]},
        {"indptr": [0, -2, 3]},
        {"indptr": [0, 5, 0], "indices": np.zeros(0, dtype=int), "data": np.zeros(0)},
        {"shape": [2, 2]},
        {"shape": [9, 3]},
        {"shape": [-2, 3]},
        {"data": [0.1]},
        {"format": b"csc", "indices": [0, 2, 1], "indptr": [0, 1, 2, 3]},
        {"format": b"coo", "row": [0, 2, 1], "col": [0, 1, 2]},
        {"format": b"lil"},
        {"format": b"made_up"},
        {"format": 3},
    ],
    ids=str,
)
def test_arrays_that_make_no_matrix(path, changes):
    write_parts(path, **changes)
    assert_refused(
        path, r"(must be a complete and valid \.npz file\. Reading it failed with |the matrix in .* must have )"
    )


def test_a_pickled_array_is_never_opened(path):
    class Bomb:
        def __reduce__(self):
            return pytest.fail, ("a file was unpickled",)

    write_parts(path, data=np.array([Bomb(), 0.2, 0.3], dtype=object))
    assert_refused(path, "it holds Python objects, not numbers")
    write_parts(path, labels=np.array([[Bomb()], [1]], dtype=object))
    assert_refused(path, "it holds Python objects, not numbers")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"indices": [2, 2, 1]},
            r"the matrix in .* must hold each label of an instance once\. Instance 0 holds label 2",
        ),
        ({"format": b"coo", "row": [0, 1, 1], "col": [0, 2, 2]}, "Instance 1 holds label 2 twice"),
        ({"data": [1j, 2, 3]}, r"the matrix in .* must hold numbers\. Got an array of dtype complex128"),
        ({"shape": [0, 3], "indptr": [0], "indices": np.zeros(0, dtype=int), "data": np.zeros(0)}, "Got shape 0x3"),
    ],
)
def test_a_matrix_that_breaks_the_rules(path, changes, message):
    write_parts(path, **changes)
    assert_refused(path, message)


def test_duplicate_blocks(path):
    data = np.ones((2, 1, 1))
    write_parts(path, format=b"bsr", data=data, indices=[1, 1], indptr=[0, 2], shape=[1, 3])
    assert_refused(path, "Instance 0 holds label 1 twice")
