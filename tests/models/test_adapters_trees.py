"""napkinXC, Omikuji and PECOS: fakes with the layout of what napkinXC 0.7.2, Omikuji 0.5.2 and PECOS 1.2.8 gave."""

import numpy as np
import pytest
import scipy.sparse as sp

import tailwise as tw
from tailwise.errors import FileError, InputError
from tailwise.models.adapters import from_napkinxc, from_omikuji, from_pecos

# PLT.predict_proba(X, top_k=3), and with threshold=0.5; [model.predict(row, top_k=3) for row in rows]
PAIRS = [
    [(2, 0.8266535401344299), (3, 0.7223615050315857), (7, 0.05414503812789917)],
    [(2, 0.8934497237205505), (6, 0.04874720424413681), (5, 0.03748059645295143)],
]
THRESHOLDED = [[(2, 0.8266535401344299), (3, 0.7223615050315857)], [], [(0, 1.0)]]
ADAPTERS = {"napkinxc": from_napkinxc, "omikuji": from_omikuji}


def as_dense(rows, n_labels):
    dense = np.zeros((len(rows), n_labels))
    for i, row in enumerate(rows):
        for j, value in row:
            dense[i, j] = value
    return dense


@pytest.mark.parametrize("adapt", ADAPTERS.values(), ids=ADAPTERS)
@pytest.mark.parametrize("rows", [PAIRS, THRESHOLDED, [[]]], ids=["top", "threshold", "nothing"])
def test_lists_of_pairs(adapt, rows):
    found = adapt(rows, 8)
    assert isinstance(found, sp.csr_array)
    assert found.nnz == sum(map(len, rows))
    np.testing.assert_array_equal(found.toarray(), as_dense(rows, 8))


@pytest.mark.parametrize("adapt", ADAPTERS.values(), ids=ADAPTERS)
def test_select_takes_them(adapt):
    assert tw.select(adapt(PAIRS, 8), "precision", k=2).labels.tolist() == [[2, 3], [2, 6]]


@pytest.mark.parametrize("adapt", ADAPTERS.values(), ids=ADAPTERS)
def test_tuples_and_generators_serve_too(adapt):
    np.testing.assert_array_equal(adapt((tuple(row) for row in PAIRS), 8).toarray(), as_dense(PAIRS, 8))


REFUSED = {
    "labels only": ([[2, 3], [2, 6]], 8, r"one list of \(label, probability\) pairs per instance\. Got other lists"),
    "odd labels only": (
        [[2, 3, 5], [2, 6]],
        8,
        r"one list of \(label, probability\) pairs per instance\. Got other lists",
    ),
    "triples": ([[(0, 1, 0.5), (0, 2, 0.5)]], 8, r"one list of \(label, probability\) pairs per instance"),
    "one instance": (
        [(2, 0.8), (3, 0.7)],
        8,
        r"one list of \(label, probability\) pairs per instance\. Got other lists",
    ),
    "flat": ([0.5, 0.5], 8, r"Got list of single values\. Put the list of a single instance into a list\."),
    "number": (5, 8, r"predictions must be one list .* Got int\."),
    "names": ([[("cat", 0.5)]], 8, r"pairs per instance\. Got other lists"),
    "no instances": ([], 8, r"predictions must hold at least one instance\. Got none\."),
    "too large": (PAIRS, 7, r"labels must be integers between 0 and 6, because n_labels=7\. Got 7\."),
    "negative": ([[(-1, 0.5)]], 8, r"labels must be integers between 0 and 7.* Got -1\."),
    "fraction": ([[(1.5, 0.5)]], 8, r"labels must be integers between 0 and 7.* Got 1\.5\."),
    "twice": ([[(1, 0.5), (1, 0.25)]], 8, r"Instance 0 holds label 1 twice"),
    "logits": ([[(1, -0.5)]], 8, r"probabilities must lie in \[0, 1\]\. Got -0\.5 for instance 0, label 1\."),
    "no number of labels": (PAIRS, 0, r"n_labels must be an integer of at least 1.* Got 0\."),
    "number of labels unknown": (PAIRS, None, r"n_labels must be an integer of at least 1.* Got None\."),
}


@pytest.mark.parametrize(("rows", "n_labels", "message"), REFUSED.values(), ids=REFUSED)
def test_other_lists_are_refused(rows, n_labels, message):
    with pytest.raises(InputError, match=message):
        from_napkinxc(rows, n_labels)


def test_the_remedy_names_the_right_call():
    with pytest.raises(InputError, match=r"Use predict_proba\(X, top_k=100\)"):
        from_napkinxc([[2, 3]], 8)
    with pytest.raises(InputError, match=r"Use \[model\.predict\(features, top_k=100\) for features in instances\]"):
        from_omikuji([[2, 3]], 8)


# PECOS: float32 csr_matrix, labels of a row by score, not by number


def pecos(values):
    indices, indptr = np.array([2, 3, 4, 2, 7, 4, 1, 2, 6], dtype=np.int32), np.array([0, 3, 6, 9], dtype=np.int32)
    return sp.csr_matrix((np.array(values, dtype=np.float32), indices, indptr), shape=(3, 8))


HINGE = pecos([9.9999774e-01, 9.9986464e-01, 5.5e-03, 9.9998075e-01, 1.3e-03, 3.8e-04, 1.0, 9.9998075e-01, 0.9])
LOGARITHMS = pecos([-0.602, -0.609, -1.51, -0.843, -1.83, -2.32, -0.623, -0.624, -0.837])
MARGINS = pecos([1.4164028, 1.327708, -0.332752, 1.3185672, -0.2145, -0.3967, 1.3482, 1.2694, 1.226])


def test_pecos():
    assert not HINGE.has_sorted_indices
    found = from_pecos(HINGE)
    assert isinstance(found, sp.csr_array)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found.toarray(), HINGE.toarray())
    assert found.indices[:3].tolist() == [2, 3, 4]
    assert HINGE.indices[3:6].tolist() == [2, 7, 4]


def test_pecos_logarithms():
    found = from_pecos(LOGARITHMS, kind="log-probabilities")
    np.testing.assert_allclose(found.toarray()[0, 2:5], np.exp(LOGARITHMS.data[:3]))
    assert found.nnz == 9


def test_pecos_files(tmp_path):
    sp.save_npz(tmp_path / "predictions.npz", HINGE)
    np.testing.assert_array_equal(from_pecos(tmp_path / "predictions.npz").toarray(), HINGE.toarray())
    with pytest.raises(FileError, match="does not exist"):
        from_pecos(tmp_path / "none.npz")


PECOS_REFUSED = {
    "margins": ((MARGINS, {}), r"predictions must lie in \[0, 1\]\. Got values from -0\.3967 to 1\.4164.*'sigmoid'"),
    "logarithms": ((LOGARITHMS, {}), r"predictions must lie in \[0, 1\].*kind='log-probabilities' for 'log-sigmoid'"),
    "no logarithms": (
        (HINGE, {"kind": "log-probabilities"}),
        r"must be at most 0 with kind='log-probabilities'\. Got 1",
    ),
    "nan": ((pecos([np.nan] * 9), {}), r"predictions must lie in \[0, 1\]"),
    "kind": ((HINGE, {"kind": "logits"}), r"kind must be one of probabilities, log-probabilities\. Got 'logits'\."),
    "dense": ((HINGE.toarray(), {}), r"predictions must be the sparse matrix that predict returns\. Got ndarray\."),
}


@pytest.mark.parametrize(("call", "message"), PECOS_REFUSED.values(), ids=PECOS_REFUSED)
def test_pecos_refused(call, message):
    with pytest.raises(InputError, match=message):
        from_pecos(call[0], **call[1])
