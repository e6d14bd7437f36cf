"""Damaged and masked matrices are refused at every door, before compiled code follows their indices."""

import re

import numpy as np
import pytest
import scipy
import scipy.sparse as sp

import tailwise as tw
from tailwise.errors import InputError
from tailwise.inputs import matrices
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.matrices import as_indicator, canonical_csr
from tailwise.models.adapters import from_pecos

SCIPY = tuple(int(part) for part in scipy.__version__.split(".")[:2])

N, M = 6, 5
TRUTH = (np.arange(N)[:, None] % M == np.arange(M)).astype(float)
FORMATS = ("csr", "csc", "bsr")


def beyond(matrix):
    matrix.indices[0] = 10**6


def negative(matrix):
    matrix.indices[-1] = -1


def falling(matrix):
    matrix.indptr[1] = 5
    matrix.indptr[2] = 3


def late(matrix):
    matrix.indptr[0] = 1


def long_row(matrix):
    matrix.indptr[-1] = 10**6


def few_pointers(matrix):
    matrix.indptr = matrix.indptr[:2]


def few_values(matrix):
    matrix.data = matrix.data[:1]


def real_indices(matrix):
    matrix.indices = matrix.indices + 0.5


DAMAGES = {
    beyond: "must have indices from 0 to .* Got 1000000. Correct the index",
    negative: "must have indices from 0 to .* Got -1. Correct the index",
    falling: r"must have an indptr of \d+ integers .* non-decreasing .*.* the matrix is corrupt\. Rebuild it",
    late: "indptr of .* integers that starts",
    long_row: "indptr of .* integers that starts",
    few_pointers: "indptr of .* integers that starts",
    few_values: "must have one index per stored value. Got 6 indices for 1 values: the matrix is corrupt",
    real_indices: "must have integer indices. Got dtype float64",
}
DOORS = {
    "probabilities": lambda damaged: tw.select(damaged, "macro-f1", 2),
    "probabilities of candidates": lambda damaged: Candidates.of(damaged),
    "selection": lambda damaged: tw.evaluate(TRUTH, damaged),
    "truth": lambda damaged: tw.evaluate(damaged, TRUTH > 0),
    "priors": lambda damaged: tw.LabelPriors.from_labels(damaged),
    "init": lambda damaged: tw.select(TRUTH, "macro-f1", 1, init=damaged),
    "certified selection": lambda damaged: tw.certify(TRUTH, "macro-f1", 1, damaged),
    "X of fit": lambda damaged: tw.LabelTree().fit(damaged, TRUTH),
    "Y of fit": lambda damaged: tw.LabelTree().fit(TRUTH, damaged),
    "X of predict_proba": lambda damaged: tw.LabelTree().fit(TRUTH, TRUTH).predict_proba(damaged),
    "X of select": lambda damaged: tw.LabelTree().fit(TRUTH, TRUTH).select(damaged, "coverage", 1),
    "calibrated": lambda damaged: tw.Calibrator().fit(damaged, TRUTH),
    "truth of a calibrator": lambda damaged: tw.Calibrator().fit(TRUTH, damaged),
    "X of cross-validation": lambda damaged: tw.Calibrator().fit_cross_validated(tw.LabelTree(), damaged, TRUTH),
    "Y of cross-validation": lambda damaged: tw.Calibrator().fit_cross_validated(tw.LabelTree(), TRUTH, damaged),
    "reliability": lambda damaged: tw.reliability(damaged, TRUTH),
    "shift": lambda damaged: tw.shift_to_priors(damaged, TRUTH),
}


def refusal(call, *arguments):
    with pytest.raises(InputError) as caught:
        call(*arguments)
    return str(caught.value)


def damaged(damage, kind="csr"):
    matrix = sp.csr_array(TRUTH).asformat(kind)
    damage(matrix)
    return matrix


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("door", DOORS)
def test_a_damaged_matrix_is_refused_at_every_door(door, damage):
    assert re.search(DAMAGES[damage], refusal(DOORS[door], damaged(damage)))


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("kind", FORMATS)
def test_every_compressed_layout_is_looked_at(kind, damage):
    assert refusal(canonical_csr, damaged(damage, kind), "probabilities").startswith("probabilities must have ")


def test_damaged_predictions_of_another_model():
    assert "predictions must have indices from 0 to 4" in refusal(from_pecos, damaged(beyond))


@pytest.mark.parametrize("kind", FORMATS)
def test_a_damaged_matrix_is_not_written(tmp_path, kind):
    assert "must have indices from 0 to" in refusal(tw.datasets.save, tmp_path / "a.npz", damaged(beyond, kind))


def coo():
    matrix = sp.coo_array(TRUTH)
    matrix.coords[1][0] = 99
    return matrix


def short_coo():
    matrix = sp.coo_array(TRUTH)
    matrix.data = matrix.data[:2]
    return matrix


def lil():
    matrix = sp.lil_array(TRUTH)
    matrix.rows[2] = [99]
    return matrix


def short_lil():
    matrix = sp.lil_array(TRUTH)
    matrix.data[2] = [0.5, 0.5]
    return matrix


def dia():
    matrix = sp.dia_array(TRUTH)
    matrix.data = matrix.data[:1]
    return matrix


OTHERS = {
    coo: "indices from 0 to 4 to match its shape. Got 99.",
    short_coo: "one index per stored value. Got 6 indices for 2",
    lil: "indices from 0 to 4 to match its shape. Got 99.",
    short_lil: "one index per stored value. Got 1 indices for 2",
    dia: "one index per stored value. Got 2 indices for 1",
}


@pytest.mark.parametrize("make", OTHERS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("door", ["probabilities", "truth", "X of fit", "Y of fit"])
def test_other_layouts_are_looked_at(door, make):
    assert OTHERS[make] in refusal(DOORS[door], make())


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo", "lil", "dia", "dok"])
def test_whole_matrices_of_every_layout_are_taken(kind):
    np.testing.assert_array_equal(canonical_csr(sp.csr_array(TRUTH).asformat(kind), "truth").toarray(), TRUTH)


def test_room_after_the_last_row_is_no_entry():
    whole = sp.csr_array(TRUTH)
    roomy = whole.copy()
    roomy.data, roomy.indices = np.append(roomy.data, [7.0, 7.0]), np.append(roomy.indices, [3, 99]).astype(np.int32)
    assert canonical_csr(roomy, "truth").data.tolist() == whole.data.tolist()
    assert Candidates.of(roomy).condition_positives().tolist() == TRUTH.sum(axis=0).tolist()
    assert roomy.data.size == whole.data.size + 2  # the input stays as it was


def test_an_array_of_one_dimension_is_no_matrix():
    line = sp.coo_array(np.ones(4))
    assert "must be a matrix with at least one instance and one label. Got shape 4." in refusal(Candidates.of, line)
    if SCIPY >= (1, 15):  # CSR of one dimension
        assert "must be a matrix with at least one instance" in refusal(Candidates.of, line.tocsr())


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("as_rows", [False, True], ids=["array", "list of rows"])
def test_masked_entries_are_refused(door, as_rows):
    masked = np.ma.array(TRUTH, mask=np.arange(N * M).reshape(N, M) == 7)
    message = refusal(DOORS[door], list(masked) if as_rows else masked)
    assert "must not have masked entries. Got a masked array. Fill them in" in message


def test_a_mask_that_hides_nothing_is_taken():
    masked = np.ma.array(TRUTH, mask=False)
    np.testing.assert_array_equal(Candidates.of(masked).to_csr().toarray(), TRUTH)
    assert tw.LabelTree().fit(masked, masked).n_labels_ == M


def test_masked_pairs_are_refused():
    labels, values = np.array([[0, 1], [2, 3]]), np.full((2, 2), 0.5)
    mask = [[False, True], [False, False]]
    assert refusal(Candidates.of, (np.ma.array(labels, mask=mask), values)).startswith("labels must not have masked")
    assert refusal(Candidates.of, (labels, np.ma.array(values, mask=mask))).startswith(
        "probabilities must not have masked"
    )


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float16, np.float64])
def test_a_matrix_of_0_and_1_keeps_only_the_ones(dtype):
    stored = sp.csr_array((np.array([1, 0, 1], dtype=dtype), [2, 0, 1], [0, 2, 3]), shape=(2, 3))
    found = as_indicator(stored, "truth", "Give labels.")
    np.testing.assert_array_equal(found.toarray(), [[0, 0, 1], [0, 1, 0]])
    assert found.nnz == 2
    assert stored.data.tolist() == [1, 0, 1]  # the input stays as it was
    assert stored.indices.tolist() == [2, 0, 1]


@pytest.mark.parametrize(("value", "came"), [(2, "2"), (-1, "-1"), (0.5, "0.5"), (np.nan, "nan"), (np.inf, "inf")])
def test_any_other_number_is_refused(value, came):
    with pytest.raises(InputError) as caught:
        as_indicator(np.array([[1, 0], [1, value]]), "truth", "Give labels.")
    assert str(caught.value) == f"truth must hold only 0 and 1. Got {came}. Give labels."


@pytest.mark.parametrize("n_parts", [1, 2, 3])
def test_parts_of_labels_cover_all_and_candidates_of_rare_labels_cost_more(monkeypatch, n_parts):
    sizes = np.array([40, 40, *[10] * 8])
    monkeypatch.setattr(matrices, "CACHED_LABELS", 2)
    edges = matrices.cut_labels(sizes, n_parts)
    assert edges[0] == 0
    assert edges[-1] == sizes.size
    assert sorted(edges) == edges
    if n_parts == 2:  # 80 candidates each, but those of the last eight labels cost half as much again
        assert edges == [0, 4, 10]


@pytest.mark.parametrize("dtype", [">i4", ">u4", ">u2", "<i8"])
def test_indices_in_any_byte_order(dtype):
    matrix = sp.csr_array((2, 5))
    matrix.indptr, matrix.data = np.array([0, 1, 3]).astype(dtype), np.array([0.5, 0.2, 0.3])
    matrix.indices = np.array([1, 0, 3]).astype(dtype)
    assert tw.select(matrix, "precision", 1).labels.tolist() == [[1], [3]]
