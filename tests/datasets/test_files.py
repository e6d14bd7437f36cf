"""Matrices, labels and selections survive a file, in the form that scipy reads."""

import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

import tailwise as tw
from tailwise.datasets import Contents, load, load_labels, load_selection, save, save_selection
from tailwise.datasets.formats.registry import FORMATS, Format
from tailwise.errors import FileError, InputError
from tailwise.inputs.chosen import Chosen

LAYOUTS = ["csr", "csc", "coo", "bsr", "dia"]


@pytest.fixture
def dense():
    rng = np.random.default_rng(0)
    return np.where(rng.random((6, 9)) < 0.4, rng.random((6, 9)), 0.0)


@pytest.fixture
def ranked():
    return Chosen.of(np.array([[3, 0, 1], [2, -1, -1], [-1, -1, -1], [4, 1, 0]]), n_labels=5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, bool])
def test_a_matrix_comes_back_as_it_was_saved(tmp_path, dense, dtype):
    matrix = dense.astype(dtype)
    save(tmp_path / "a.npz", matrix)
    loaded = load(tmp_path / "a.npz")
    assert isinstance(loaded, sp.csr_array)
    assert loaded.dtype == dtype
    np.testing.assert_array_equal(loaded.toarray(), matrix)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_every_layout_that_scipy_saves_is_read(tmp_path, dense, layout, kind):
    sp.save_npz(tmp_path / "a.npz", getattr(sp, f"{layout}_{kind}")(dense))
    loaded = load(tmp_path / "a.npz")
    assert isinstance(loaded, sp.csr_array)
    np.testing.assert_array_equal(loaded.toarray(), dense)


def test_scipy_reads_what_save_wrote(tmp_path, dense):
    save(tmp_path / "a.npz", sp.csc_array(dense))
    read = sp.load_npz(tmp_path / "a.npz")
    assert read.format == "csr"
    np.testing.assert_array_equal(read.toarray(), dense)


def test_unsorted_rows_come_back_sorted_and_the_input_stays_unsorted(tmp_path):
    matrix = sp.csr_array((np.array([0.3, 0.1, 0.2]), np.array([2, 0, 1]), np.array([0, 3])), shape=(1, 3))
    save(tmp_path / "a.npz", matrix)
    assert matrix.indices.tolist() == [2, 0, 1]
    assert load(tmp_path / "a.npz").indices.tolist() == [0, 1, 2]


def test_half_precision_is_read_as_single(tmp_path, dense):
    csr = sp.csr_array(dense)
    half = sp.csr_array((csr.data.astype(np.float16), csr.indices, csr.indptr), shape=csr.shape)
    sp.save_npz(tmp_path / "a.npz", half)
    loaded = load(tmp_path / "a.npz")
    assert loaded.dtype == np.float32
    np.testing.assert_array_equal(loaded.toarray(), dense.astype(np.float16).astype(np.float32))


def test_stored_zeros_are_kept(tmp_path):
    save(tmp_path / "a.npz", sp.csr_array((np.array([0.0, 0.5]), np.array([0, 2]), np.array([0, 2])), shape=(1, 3)))
    assert load(tmp_path / "a.npz").nnz == 2


def test_equal_matrices_give_equal_bytes(tmp_path, dense):
    wide = sp.csr_array(dense)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    forms = [dense, sp.csr_matrix(dense), sp.coo_array(dense), sp.csc_array(dense), wide]
    for number, form in enumerate(forms):
        save(tmp_path / f"{number}.npz", form)
    assert len({(tmp_path / f"{number}.npz").read_bytes() for number in range(len(forms))}) == 1


def test_a_file_holds_no_time_and_no_pickle(tmp_path, ranked):
    save_selection(tmp_path / "a.npz", ranked)
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    with np.load(tmp_path / "a.npz", allow_pickle=False) as archive:
        assert all(archive[name].dtype != object for name in archive.files)


def test_the_suffix_is_read_in_any_case_and_from_text(tmp_path, dense):
    save(str(tmp_path / "A.NPZ"), dense)
    assert load(str(tmp_path / "A.NPZ")).shape == dense.shape
    assert os.listdir(tmp_path) == ["A.NPZ"]


@pytest.mark.parametrize("use", [load, lambda path: save(path, np.eye(2))])
def test_an_unknown_suffix_names_the_known_ones(tmp_path, use):
    path = tmp_path / "a.bin"
    path.touch()
    with pytest.raises(
        FileError, match=r"must end in a known suffix: .*\.npz \(scipy sparse matrix\), .*\. Got .*a\.bin"
    ):
        use(path)


def test_a_new_format_needs_only_its_entry(tmp_path, dense, monkeypatch):
    def read(path):
        return Contents(sp.csr_array(np.loadtxt(path, ndmin=2)))

    def write(path, contents):
        np.savetxt(path, contents.matrix.toarray())

    table = Format("table", "table of numbers", (".tab",), read, write)
    monkeypatch.setattr("tailwise.datasets.formats.registry.FORMATS", [*FORMATS, table])
    save(tmp_path / "a.tab", dense)
    np.testing.assert_array_equal(load(tmp_path / "a.tab").toarray(), dense)
    with pytest.raises(FileError, match=r"\.npz \(scipy sparse matrix\), .*\.tab \(table of numbers\)"):
        save(tmp_path / "a.xyz", dense)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.ones((2, 2), dtype=complex), "matrix must hold numbers"),
        (sp.csr_array(np.ones((2, 2), dtype=complex)), "matrix must hold numbers. Got an array of dtype complex128"),
        (np.ones(3), "matrix must be a matrix with at least one instance"),
        (sp.coo_array((np.ones(2), ([0, 0], [1, 1])), shape=(1, 2)), "Instance 0 holds label 1 twice"),
    ],
)
def test_save_refuses_what_is_no_matrix_of_numbers(tmp_path, matrix, message):
    with pytest.raises(InputError, match=message):
        save(tmp_path / "a.npz", matrix)
    assert not os.listdir(tmp_path)


def test_labels_are_ones_without_stored_zeros(tmp_path):
    save(tmp_path / "a.npz", sp.csr_array((np.array([1.0, 0.0, 1.0]), np.array([0, 1, 2]), np.array([0, 2, 3]))))
    labels = load_labels(tmp_path / "a.npz")
    assert labels.dtype == np.int8
    assert labels.nnz == 2
    assert labels.toarray().tolist() == [[1, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize(("value", "came"), [(0.25, "0.25"), (2, "2"), (-1, "-1"), (np.nan, "nan")])
def test_labels_other_than_0_and_1_are_refused(tmp_path, value, came):
    save(tmp_path / "a.npz", np.array([[1, value]]))
    with pytest.raises(FileError, match=rf"a\.npz must hold only 0 and 1\. Got {came}\. Give a file of true labels"):
        load_labels(tmp_path / "a.npz")


def test_a_selection_keeps_its_ranking(tmp_path, ranked):
    save_selection(tmp_path / "a.npz", ranked)
    loaded = load_selection(tmp_path / "a.npz")
    assert loaded.is_ranked
    assert loaded.n_labels == 5
    assert loaded.labels.dtype == np.int32
    np.testing.assert_array_equal(loaded.labels, ranked.labels)


def test_a_selection_is_a_0_1_matrix_to_scipy(tmp_path, ranked):
    save_selection(tmp_path / "a.npz", ranked)
    np.testing.assert_array_equal(sp.load_npz(tmp_path / "a.npz").toarray(), ranked.to_csr().toarray())
    np.testing.assert_array_equal(load_labels(tmp_path / "a.npz").toarray(), ranked.to_csr().toarray())


def test_a_0_1_matrix_is_a_selection_without_ranking(tmp_path, ranked):
    sp.save_npz(tmp_path / "a.npz", ranked.to_csr())
    loaded = load_selection(tmp_path / "a.npz")
    assert not loaded.is_ranked
    np.testing.assert_array_equal(loaded.to_csr().toarray(), ranked.to_csr().toarray())
    save_selection(tmp_path / "b.npz", loaded)
    assert not load_selection(tmp_path / "b.npz").is_ranked


def test_a_selection_without_any_label_survives(tmp_path):
    save_selection(tmp_path / "a.npz", Chosen.of(np.full((3, 2), -1), n_labels=4))
    assert load_selection(tmp_path / "a.npz").labels.tolist() == [[-1, -1]] * 3


def test_only_a_selection_is_saved_as_one(tmp_path):
    with pytest.raises(InputError, match=r"chosen must be a Selection or Chosen\. Got ndarray\. Use Chosen\.of"):
        save_selection(tmp_path / "a.npz", np.array([[1, 2]]))


def write_selection(path, matrix, labels):
    parts = {"indices": matrix.indices, "indptr": matrix.indptr, "data": matrix.data, "shape": matrix.shape}
    np.savez(path, format=b"csr", labels=labels, **parts)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([[0, 1], [1, 0]], "must hold the same selection in its matrix and in its array 'labels'"),
        ([[0, 2]], "must hold the same selection"),
        ([[0, 2], [1, 7]], r"labels in .*a\.npz must hold labels from 0 to 2, or -1 for an empty slot. Got 7"),
        ([[0, 0], [1, 2]], "Instance 0 holds label 0 twice"),
        ([0.5, 1.0], "must be an integer array"),
    ],
)
def test_a_ranking_must_agree_with_its_matrix(tmp_path, labels, message):
    write_selection(tmp_path / "a.npz", sp.csr_array(np.array([[1, 0, 1], [0, 1, 0]])), np.array(labels))
    with pytest.raises(FileError, match=message):
        load_selection(tmp_path / "a.npz")


def test_probabilities_are_no_selection(tmp_path, dense):
    save(tmp_path / "a.npz", dense)
    with pytest.raises(FileError, match=r"the selection in .*a\.npz must hold only 0 and 1"):
        load_selection(tmp_path / "a.npz")


def test_names_that_are_not_there():
    assert set(tw.datasets.__all__) == set(dir(tw.datasets))
    with pytest.raises(AttributeError, match=r"module 'tailwise\.datasets' has no attribute 'lod'"):
        tw.datasets.lod  # noqa: B018


@pytest.mark.parametrize("module", ["inputs.label_names", "inputs.paths", "datasets.formats.disk", "engines"])
def test_any_module_may_be_imported_first(module):
    subprocess.run([sys.executable, "-c", f"import tailwise.{module}"], check=True)
