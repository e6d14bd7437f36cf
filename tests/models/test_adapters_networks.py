"""Logits of torch, and the files of LightXML."""

from collections import namedtuple

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit

from tailwise.errors import FileError, InputError
from tailwise.models.adapters import from_lightxml, from_logits

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(-2, 3, size=(6, 9)).astype(np.float32)
TOP = np.argsort(-LOGITS, axis=1)[:, :4]
TOP_LOGITS = np.take_along_axis(LOGITS, TOP, axis=1)
TopK = namedtuple("TopK", "values indices")  # as torch.topk names its parts


def keep(dense, labels):
    kept = np.zeros_like(dense)
    np.put_along_axis(kept, labels, np.take_along_axis(dense, labels, axis=1), axis=1)
    return kept


def test_dense_logits():
    found = from_logits(LOGITS)
    assert isinstance(found, sp.csr_array)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found.toarray(), expit(LOGITS))


def test_the_top_of_dense_logits():
    np.testing.assert_array_equal(from_logits(LOGITS, top=4).toarray(), keep(expit(LOGITS), TOP))


def test_a_shortlist():
    expected = keep(expit(LOGITS), TOP)
    np.testing.assert_array_equal(from_logits(TOP_LOGITS, TOP, n_labels=9).toarray(), expected)
    np.testing.assert_array_equal(from_logits(TopK(TOP_LOGITS, TOP), n_labels=9).toarray(), expected)
    np.testing.assert_array_equal(
        from_logits(TOP_LOGITS, TOP, n_labels=9, top=2).toarray(), from_logits(LOGITS, top=2).toarray()
    )


def test_precision_follows_the_logits():
    assert from_logits(LOGITS.astype(np.float64)).dtype == np.float64
    assert from_logits(LOGITS.astype(np.float16)).dtype == np.float32
    assert from_logits([[0, 1]]).dtype == np.float64  # Python's integers are 64 bits wide


def test_infinite_logits_are_certain():
    assert from_logits([[np.inf, -np.inf, 0.0]]).toarray().tolist() == [[1.0, 0.0, 0.5]]


def test_torch():
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(LOGITS, requires_grad=True)
    np.testing.assert_array_equal(from_logits(tensor).toarray(), expit(LOGITS))
    np.testing.assert_array_equal(
        from_logits(torch.topk(tensor, 4), n_labels=9).toarray(), from_logits(LOGITS, top=4).toarray()
    )
    np.testing.assert_allclose(from_logits(tensor.bfloat16()).toarray(), expit(LOGITS), atol=0.01)


REFUSED = {
    "nan": (([[0.5, np.nan]],), {}, r"logits must not contain NaN\. Got nan in row 0, column 1\. Check whether"),
    "flat": (([0.5, 1.0],), {}, r"logits must be a dense matrix .* Got shape \(2,\)\."),
    "empty": ((np.empty((0, 4)),), {}, r"logits must be a dense matrix .* Got shape \(0, 4\)\."),
    "sparse": ((sp.csr_array(LOGITS),), {}, r"logits must be a dense matrix"),
    "text": (([["a"]],), {}, r"logits must hold numbers"),
    "no number": ((TOP_LOGITS, TOP), {}, r"n_labels must be given with a shortlist.* Got None\."),
    "shapes": ((TOP_LOGITS, TOP[:, :2]), {"n_labels": 9}, r"labels must have the shape .*\(6, 4\)\. Got \(6, 2\)\."),
    "too large": ((TOP_LOGITS, TOP), {"n_labels": 3}, r"labels must be integers between 0 and 2.* Got \d\."),
    "fractions": ((TOP_LOGITS, TOP + 0.5), {"n_labels": 9}, r"labels must be integers between 0 and 8"),
    "twice": (([[0.5, 1.0]], [[1, 1]]), {"n_labels": 9}, r"Instance 0 holds label 1 twice"),
    "top": ((LOGITS,), {"top": 0}, r"top must be an integer of at least 1\. Got 0\."),
}


@pytest.mark.parametrize(("arguments", "options", "message"), REFUSED.values(), ids=REFUSED)
def test_bad_logits_are_refused(arguments, options, message):
    with pytest.raises(InputError, match=message):
        from_logits(*arguments, **options)


# LightXML. Its label map: names as they stand in train_labels.txt, numbered in the order of the text.

NAMES = sorted(map(str, range(12)))  # 0, 1, 10, 11, 2, 3, ...
LABEL_MAP = {name: number for number, name in enumerate(NAMES)}
SCORES = np.sort(RNG.random((5, 4)).astype(np.float32))[:, ::-1].copy()
LABELS = np.array([RNG.permutation(12)[:4] for _ in range(5)])
DENSE = RNG.normal(-2, 3, size=(5, 12)).astype(np.float32)


def renumbered(labels, values):
    dense = np.zeros((len(labels), 12), dtype=values.dtype)
    for i, row in enumerate(labels):
        for theirs, value in zip(row, values[i], strict=True):
            dense[i, int(NAMES[theirs])] = value
    return dense


def test_labels_and_scores(tmp_path):
    np.save(tmp_path / "amazon670k_t0-labels.npy", LABELS)
    np.save(tmp_path / "amazon670k_t0-scores.npy", SCORES)
    files = tmp_path / "amazon670k_t0-scores.npy", str(tmp_path / "amazon670k_t0-labels.npy")
    found = from_lightxml(*files, kind="probabilities", label_map=LABEL_MAP)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found.toarray(), renumbered(LABELS, SCORES))


def test_dense_scores(tmp_path):
    np.save(tmp_path / "eurlex4k-scores.npy", DENSE)
    found = from_lightxml(tmp_path / "eurlex4k-scores.npy", kind="logits", label_map=LABEL_MAP)
    np.testing.assert_array_equal(found.toarray(), renumbered(np.tile(np.arange(12), (5, 1)), expit(DENSE)))
    top = from_lightxml(DENSE, kind="logits", label_map=LABEL_MAP, top=3)
    assert np.diff(top.indptr).tolist() == [3] * 5
    assert top.has_canonical_format


def test_the_same_numbering_needs_no_map():
    expected = np.zeros((5, 12), dtype=np.float32)
    np.put_along_axis(expected, LABELS, SCORES, axis=1)
    np.testing.assert_array_equal(from_lightxml(SCORES, LABELS, kind="probabilities", n_labels=12).toarray(), expected)
    assert from_lightxml(DENSE, kind="logits").shape == (5, 12)
    assert from_lightxml(DENSE, kind="logits", n_labels=15).shape == (5, 15)


def test_a_map_as_an_array():
    numbers = np.array([int(name) for name in NAMES])
    found = from_lightxml(SCORES, LABELS, kind="probabilities", label_map=numbers, n_labels=20)
    assert found.shape == (5, 20)
    np.testing.assert_array_equal(found.toarray()[:, :12], renumbered(LABELS, SCORES))


def test_a_label_that_a_short_group_was_padded_with_counts_once():
    found = from_lightxml([[0.9, 0.5, 0.5, 0.5]], [[3, 7, 7, 7]], kind="probabilities", n_labels=8)
    assert found.nnz == 2
    assert found.toarray()[0, [3, 7]].tolist() == [0.9, 0.5]


def test_logits_of_a_shortlist():
    found = from_lightxml([[2.0, -1.0]], [[1, 0]], kind="logits", n_labels=2)
    np.testing.assert_allclose(found.toarray(), expit([[-1.0, 2.0]]))


LIGHTXML_REFUSED = {
    "kind": ({"kind": "scores"}, r"kind must be one of probabilities, logits\. Got 'scores'\."),
    "are logits": (
        {"scores": DENSE[:, :4], "kind": "probabilities"},
        r"scores must be probabilities, as given by kind='probabilities'\. Got values .* Use kind='logits'",
    ),
    "are probabilities": (
        {"kind": "logits"},
        r"scores must be logits.*which are probabilities\. Use kind='probabilities'",
    ),
    "no number": ({"n_labels": None}, r"n_labels must be given with a shortlist"),
    "too large": ({"n_labels": 5}, r"labels must be integers between 0 and 4, because n_labels=5"),
    "shapes": (
        {"labels": LABELS[:, :2]},
        r"labels must be integers in the shape of scores, \(5, 4\)\. Got int64 \(5, 2\)",
    ),
    "fractions": ({"labels": LABELS + 0.5}, r"labels must be integers .* Got float64"),
    "names": ({"label_map": {"cats": 0, "dogs": 1}}, r"label_map as a mapping .* Got \('cats', 0\)\. Give an array"),
    "holes": ({"label_map": {"0": 0, "1": 2}}, r"label_map must number the labels of LightXML from 0 to 1"),
    "short map": ({"label_map": [0, 1, 2]}, r"labels must be integers between 0 and 2"),
    "map twice": ({"label_map": [1] * 12}, r"label_map must map to different labels"),
    "map negative": ({"label_map": [-1, 0]}, r"label_map must hold one non-negative label number per label"),
    "map beyond": ({"label_map": np.arange(12) + 5}, r"labels must be integers between 0 and 11.* Got 12\."),
    "columns": (
        {"scores": DENSE, "labels": None, "kind": "logits", "label_map": [0, 1]},
        r"label_map must cover the 12 labels of scores\. Got 2\.",
    ),
    "columns beyond": (
        {"scores": DENSE, "labels": None, "kind": "logits", "n_labels": 4},
        r"labels must be integers between 0 and 3",
    ),
}


@pytest.mark.parametrize(("changes", "message"), LIGHTXML_REFUSED.values(), ids=LIGHTXML_REFUSED)
def test_bad_lightxml_is_refused(changes, message):
    given = {"scores": SCORES, "labels": LABELS, "kind": "probabilities", "n_labels": 12} | changes
    with pytest.raises(InputError, match=message):
        from_lightxml(**given)


def test_the_kind_must_be_named():
    with pytest.raises(TypeError, match="kind"):
        from_lightxml(SCORES, LABELS, n_labels=12)


FILES = {
    "missing": (lambda path: None, r"x-scores\.npy does not exist"),
    "truncated": (
        lambda path: path.write_bytes(b"\x93NUMPY\x01\x00"),
        r"x-scores\.npy must be a complete and valid \.npy file",
    ),
    "text": (lambda path: path.write_text("0.5"), r"x-scores\.npy must be a complete and valid \.npy file"),
    "objects": (
        lambda path: np.save(path, np.array([None]), allow_pickle=True),
        r"must be a complete and valid \.npy file of numbers",
    ),
}


@pytest.mark.parametrize(("write", "message"), FILES.values(), ids=FILES)
def test_bad_files_are_refused(tmp_path, write, message):
    path = tmp_path / "x-scores.npy"
    write(path)
    with pytest.raises(FileError, match=message):
        from_lightxml(path, kind="logits")
