"""Whatever form a selection comes in, the same padded rows of labels stand behind it, and the input stays as it was."""

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwise.errors import InputError
from tailwise.inputs.chosen import EMPTY, Chosen

RANKED = np.array([[3, 0], [-1, -1], [2, -1]])
INDICATOR = np.array([[1, 0, 0, 1], [0, 0, 0, 0], [0, 0, 1, 0]])
UNRANKED = [[0, 3], [-1, -1], [2, -1]]
FORMATS = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")
LAYOUTS = [f"{name}_{kind}" for name in FORMATS for kind in ("array", "matrix")]


def assert_is_canonical(chosen, labels, *, is_ranked):
    assert chosen.labels.tolist() == labels
    assert chosen.labels.dtype == np.int32
    assert chosen.is_ranked is is_ranked
    assert chosen.shape == (chosen.n_instances, chosen.n_labels) == (3, 4)


def with_stored_zeros():
    """INDICATOR, unsorted, with zeros stored at three places."""
    data = np.array([1.0, 0.0, 1.0, 0.0, 0.0, 1.0])
    indices, indptr = np.array([3, 1, 0, 2, 3, 2]), np.array([0, 3, 4, 6])
    return sp.csr_array((data, indices, indptr), shape=INDICATOR.shape)


# Arrays of labels


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_labels_of_any_integer_type(dtype, order):
    chosen = Chosen.of(np.array(RANKED, dtype=dtype, order=order), 4)
    assert_is_canonical(chosen, RANKED.tolist(), is_ranked=True)


def test_unsigned_labels_and_lists():
    assert Chosen.of(np.array([[255, 0]], dtype=np.uint8), 256).labels.tolist() == [[255, 0]]
    assert_is_canonical(Chosen.of(RANKED.tolist(), 4), RANKED.tolist(), is_ranked=True)


def test_empty_slots_move_to_the_end_and_the_order_stays():
    chosen = Chosen.of(np.array([[-1, 3, -1, 1], [2, -1, 0, 1], [-1, -1, -1, -1]]), 4)
    assert_is_canonical(chosen, [[3, 1, -1, -1], [2, 0, 1, -1], [-1] * 4], is_ranked=True)
    assert EMPTY == -1


def test_it_prints_its_sizes():
    assert repr(Chosen.of(RANKED, 4)) == "Chosen(3 instances, at most 2 of 4 labels)"


def test_chosen_passes_through():
    chosen = Chosen.of(RANKED, 4)
    assert Chosen.of(chosen) is chosen
    assert Chosen.of(chosen, 4) is chosen


# Matrices


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.float32, np.float64])
def test_every_sparse_layout(layout, dtype):
    chosen = Chosen.of(getattr(sp, layout)(INDICATOR.astype(dtype)), 4)
    assert_is_canonical(chosen, UNRANKED, is_ranked=False)


@pytest.mark.parametrize("matrix", [INDICATOR == 1, (INDICATOR == 1).tolist(), np.asfortranarray(INDICATOR == 1)])
def test_dense_booleans(matrix):
    assert_is_canonical(Chosen.of(matrix), UNRANKED, is_ranked=False)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8])
def test_dense_integers_where_the_number_of_labels_is_known(dtype):
    assert_is_canonical(Chosen.of(INDICATOR.astype(dtype), 4), UNRANKED, is_ranked=False)


@pytest.mark.parametrize("matrix", [[[0, 1], [1, 1]], [[0, 0], [1, 0]], [[1], [0]]])
def test_few_labels_of_integers_that_are_no_ranking(matrix):
    chosen = Chosen.of(matrix, len(matrix[0]))
    assert not chosen.is_ranked
    assert chosen.to_csr().toarray().tolist() == matrix


def test_a_ranking_of_two_labels_with_a_column_of_empty_slots():
    chosen = Chosen.of([[0, 1, -1], [1, 0, -1]], 2)
    assert chosen.labels.tolist() == [[0, 1, -1], [1, 0, -1]]
    assert chosen.is_ranked


def test_a_matrix_tells_its_number_of_labels():
    assert Chosen.of(sp.csr_array(INDICATOR)).n_labels == 4


def test_a_matrix_without_any_label():
    for matrix in (sp.csr_array((3, 4)), np.zeros((3, 4), dtype=bool)):
        assert_is_canonical(Chosen.of(matrix), [[-1]] * 3, is_ranked=False)


def test_stored_zeros_are_no_labels():
    assert_is_canonical(Chosen.of(with_stored_zeros()), UNRANKED, is_ranked=False)


# To a matrix and back


def test_to_csr_is_canonical():
    csr = Chosen.of(RANKED, 4).to_csr()
    assert csr.toarray().tolist() == INDICATOR.tolist()
    assert csr.dtype == np.int8
    assert csr.has_canonical_format
    assert csr.nnz == 3


@settings(deadline=None)  # a kernel may be compiled in between
@given(arrays.arrays(bool, arrays.array_shapes(min_dims=2, max_dims=2, max_side=6)))
def test_any_indicator_comes_back(indicator):
    chosen = Chosen.of(sp.csr_array(indicator))
    np.testing.assert_array_equal(chosen.to_csr().toarray(), indicator)
    again = Chosen.from_labels(chosen.labels, indicator.shape[1])
    np.testing.assert_array_equal(again.labels, chosen.labels)
    np.testing.assert_array_equal(Chosen.of(indicator).labels, chosen.labels)


@settings(deadline=None)  # a kernel may be compiled in between
@given(st.integers(1, 6).flatmap(lambda m: st.lists(st.permutations(range(-3, m)), min_size=1, max_size=4)))
def test_any_ranking_comes_back(rows):
    n_labels = max(rows[0]) + 1
    labels = np.maximum(np.array(rows), EMPTY)  # the numbers -3, -2 and -1 are three empty slots
    chosen = Chosen.of(labels, n_labels)
    for given_row, row in zip(labels.tolist(), chosen.labels.tolist(), strict=True):
        assert row == [j for j in given_row if j >= 0] + [EMPTY] * 3
    assert chosen.to_csr().toarray().tolist() == [[1] * n_labels] * len(rows)


# Inputs

INPUTS = {
    "labels": lambda: (labels := np.array([[-1, 3], [1, 0]]), [labels]),
    "boolean": lambda: (matrix := INDICATOR == 1, [matrix]),
    "csr": lambda: (csr := sp.csr_array(INDICATOR), [csr.data, csr.indices, csr.indptr]),
    "stored zeros": lambda: (csr := with_stored_zeros(), [csr.data, csr.indices, csr.indptr]),
    "sorted zeros": lambda: (csr := with_stored_zeros().sorted_indices(), [csr.data, csr.indices, csr.indptr]),
    "coo": lambda: (coo := with_stored_zeros().tocoo(), [coo.data, coo.row, coo.col]),
}


@pytest.mark.parametrize("make", INPUTS.values(), ids=INPUTS)
def test_inputs_stay_as_they_are(make):
    selection, parts = make()
    before = [(part.tobytes(), part.dtype, part.shape, str(part.flags)) for part in parts]
    nnz = selection.nnz if sp.issparse(selection) else None
    chosen = Chosen.of(selection, 4)
    assert [(part.tobytes(), part.dtype, part.shape, str(part.flags)) for part in parts] == before
    assert nnz is None or selection.nnz == nnz
    assert not any(np.shares_memory(chosen.labels, part) for part in parts)


@pytest.mark.parametrize("make", INPUTS.values(), ids=INPUTS)
def test_read_only_inputs_are_accepted(make):
    selection, parts = make()
    for part in parts:
        part.flags.writeable = False
    assert Chosen.of(selection, 4).n_labels == 4


# Errors


def make_csr(indices, indptr, data=None):
    data = np.ones(len(indices)) if data is None else np.asarray(data)
    return sp.csr_array((data, np.asarray(indices), np.asarray(indptr)), shape=(3, 4))


RULE = r"selection must be an integer array of shape \(n, k\) or a 0/1 matrix \(sparse or boolean\)\. Got shape "
TWICE = r"selection must hold each label of an instance once\. Instance 2 holds label 1 twice\."
REFUSED = {
    "scalar": (3, 4, RULE + r"\(\) and dtype int64\."),
    "vector": ([1, 2], 4, RULE + r"\(2,\) and dtype int64\."),
    "cube": ([[[1]]], 4, RULE + r"\(1, 1, 1\) and dtype int64\."),
    "floats": (RANKED * 1.0, 4, RULE + r"\(3, 2\) and dtype float64\."),
    "text": ([["a"]], 4, RULE + r"\(1, 1\) and dtype <U1\."),
    "none": (None, 4, RULE + r"\(\) and dtype object\."),
    "ragged": ([[0, 1], [2]], 4, "selection must be a matrix with rows of equal length"),
    "no instance": (np.zeros((0, 2), int), 4, RULE + r"\(0, 2\)"),
    "no slot": (np.zeros((3, 0), int), 4, RULE + r"\(3, 0\)"),
    "no n_labels": (
        RANKED,
        None,
        r"selection is an array of labels, which does not determine the number of labels\. Give n_labels\.",
    ),
    "label too large": (RANKED, 3, r"selection must hold labels from 0 to 2, or -1 for an empty slot\. Got 3\."),
    "label too small": ([[0, -2]], 4, r"selection must hold labels from 0 to 3, or -1 for an empty slot\. Got -2\."),
    "twice": ([[0, 1], [-1, -1], [1, 1]], 4, TWICE),
    "twice apart": ([[0, 1, 2], [-1, -1, 0], [1, -1, 1]], 4, TWICE),
    "csr twice": (make_csr([0, 1, 1], [0, 1, 1, 3]), 4, TWICE),
    "coo twice": (sp.coo_array(([1, 1], ([2, 2], [1, 1])), shape=(3, 4)), 4, TWICE),
    "boolean coo twice": (sp.coo_array(([True, True], ([2, 2], [1, 1])), shape=(3, 4)), 4, TWICE),
    "scores": (
        sp.csr_array(INDICATOR * 0.5),
        4,
        r"selection must hold only 0 and 1\. Got 0\.5\. If these are probabilities, choose labels",
    ),
    "counts": (sp.csr_array(INDICATOR * 2), 4, r"must hold only 0 and 1\. Got 2\."),
    "minus one": (sp.csr_array(-INDICATOR), 4, r"must hold only 0 and 1\. Got -1\."),
    "nan": (sp.csr_array(INDICATOR * np.nan), 4, r"must hold only 0 and 1\. Got nan\."),
    "flat booleans": (INDICATOR[0] == 1, 4, r"selection must be a matrix with at least one instance .* Got shape 4\."),
    "empty matrix": (
        sp.csr_array((0, 4)),
        4,
        r"selection must be a matrix with at least one instance .* Got shape 0x4\.",
    ),
    "other labels": (sp.csr_array(INDICATOR), 5, r"selection must have the 5 labels of the rest\. Got 4\."),
    "other chosen": (Chosen.of(RANKED, 4), 3, r"selection must have the 3 labels of the rest\. Got 4\."),
    "0/1 matrix of other labels": (
        [[0, 1, 0]],
        4,
        r"holds label 0 twice\. Give a 0/1 matrix as sparse or bool",
    ),
    "either of two labels": (
        [[0, 1], [1, 0]],
        2,
        r"of 0 and 1 for 2 labels, which could be .* Give a 0/1 matrix as sparse or bool",
    ),
    "either of one label": ([[0], [0]], 1, r"of 0 and 1 for 1 labels, which could be an array of labels"),
    "index beyond the labels": (make_csr([0, 7], [0, 1, 1, 2]), 4, r"selection must .*7"),
    "negative index": (make_csr([0, -1], [0, 1, 1, 2]), 4, r"selection must .*-1"),
}


@pytest.mark.parametrize(("selection", "n_labels", "message"), REFUSED.values(), ids=REFUSED)
def test_bad_input_is_refused(selection, n_labels, message):
    with pytest.raises(InputError, match=message):
        Chosen.of(selection, n_labels)


@pytest.mark.parametrize("selection", [RANKED * 1.0, RANKED, INDICATOR == 2, sp.csr_array(INDICATOR * 3)], ids=type)
def test_messages_name_the_parameter(selection):
    with pytest.raises(InputError, match=r"^init "):
        Chosen.of(selection, 2, name="init")
