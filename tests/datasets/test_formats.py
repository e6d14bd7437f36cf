"""Every format gives back what was written to it, is recognised, and is read the same in blocks as whole."""

import gzip
import json

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import tailwise as tw
from tailwise.datasets import (
    LabelNames,
    load,
    load_contents,
    load_features,
    load_labels,
    load_selection,
    read_blocks,
    save,
    save_selection,
)
from tailwise.datasets.formats.registry import FORMATS, find_format
from tailwise.errors import FileError, InputError
from tailwise.inputs.chosen import Chosen

# The files that hold scores, and the format of each.
SCORES = {
    "a.npz": "npz",
    "a.smat.npz": "smat",
    "a-labels.npy": "npy",
    "a-scores.npy": "npy",
    "a.txt": "predictions",
    "a.txt.gz": "predictions",
    "a.jsonl": "jsonl",
    "a.jsonl.gz": "jsonl",
    "a.jsonl.zst": "jsonl",
    "a.json": "json",
    "records.jsonl": "records",
    "a.csv": "csv",
    "a.csv.gz": "csv",
    "a.tsv.zst": "tsv",
    "a.parquet": "parquet",
    "a.store": "store",
    "split.txt": "split",
}
RANKED = ["a.npz", "a-labels.npy", "a.txt", "a.txt.gz", "a.jsonl", "a.json", "a.csv", "a.tsv", "a.parquet"]
NAMED = ["a.txt", "a.jsonl", "a.jsonl.gz", "a.json", "a.csv", "a.tsv", "a.parquet"]
LABELLED = {"a.txt": "repository", "a.txt.gz": "repository", "a.svm": "svmlight", "a.svmlight.gz": "svmlight"}
CHOSEN = Chosen.of(np.array([[3, 0, 1], [2, -1, -1], [-1, -1, -1], [4, 1, 0]]), n_labels=5)
NAMES = ["gnd:1", "gnd:2", "c", "d", "e"]


def format_of(name):
    return next((format for format in ("split", "records") if name.startswith(format)), None)


@pytest.fixture
def dense():
    rng = np.random.default_rng(0)
    matrix = np.where(rng.random((7, 9)) < 0.4, rng.random((7, 9)), 0.0)
    matrix[3] = 0  # an instance without labels
    matrix[6] = 0
    matrix[0, 8] = 0.5
    return matrix.astype(np.float32)


def test_all_formats_are_in_the_tables():
    assert {*SCORES.values(), *LABELLED.values()} == {each.name for each in FORMATS if each.write is not None}


@pytest.mark.parametrize("name", SCORES)
def test_a_matrix_comes_back(tmp_path, dense, name):
    save(tmp_path / name, dense, format=format_of(name))
    found = load(tmp_path / name)
    assert isinstance(found, sp.csr_array)
    assert found.has_canonical_format
    np.testing.assert_array_equal(found.toarray(), dense)
    assert find_format(tmp_path / name).name == SCORES[name]


@settings(max_examples=40, deadline=None)
@given(data=st.data(), name=st.sampled_from(sorted(SCORES)))
def test_any_matrix_comes_back(tmp_path_factory, data, name):
    n, m = data.draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    numbers = st.one_of(st.just(0.0), st.floats(0, 1, width=32, allow_subnormal=False))
    dense = np.array(data.draw(st.lists(st.lists(numbers, min_size=m, max_size=m), min_size=n, max_size=n)))
    path = tmp_path_factory.mktemp("any") / name
    save(path, dense, format=format_of(name))
    np.testing.assert_array_equal(load(path, n_labels=m, format=SCORES[name]).toarray(), dense)


@pytest.mark.parametrize("name", ["a.npz", "a.smat.npz", "a.parquet", "a.txt", "a.jsonl"])
def test_double_precision_is_kept_where_it_is_no_text(tmp_path, name):
    dense = np.random.default_rng(0).random((5, 6))
    save(tmp_path / name, dense)
    found = load(tmp_path / name)
    kind = np.float32 if name in ("a.txt", "a.jsonl") else np.float64
    assert found.dtype == kind
    np.testing.assert_array_equal(found.toarray(), dense.astype(kind))


@pytest.mark.parametrize("name", SCORES)
def test_equal_matrices_give_equal_bytes(tmp_path, dense, name):
    contents = []
    for form in (dense, sp.coo_array(dense)):
        save(tmp_path / name, form, format=format_of(name))
        files = [tmp_path / name] if (tmp_path / name).is_file() else sorted((tmp_path / name).iterdir())
        contents.append([file.read_bytes() for file in files])
    assert contents[0] == contents[1]


@pytest.mark.parametrize("rows", [1, 2, 100])
@pytest.mark.parametrize("name", SCORES)
def test_blocks_are_the_whole_in_pieces(tmp_path, dense, name, rows):
    save(tmp_path / name, dense, format=format_of(name))
    blocks = list(read_blocks(tmp_path / name, rows, n_labels=9))
    assert all(block.matrix.shape[0] <= rows for block in blocks)
    np.testing.assert_array_equal(np.vstack([block.matrix.toarray() for block in blocks]), dense)


@pytest.mark.parametrize("text", ["1 2:1\n", "2:1\n", "a:1\n", '{"labels": [1]}\n'])
def test_blocks_come_before_the_file_is_read(tmp_path, text, monkeypatch):
    for module in ("text.BLOCK", "prediction_text.ROWS", "jsonl.ROWS"):
        monkeypatch.setattr(f"tailwise.datasets.formats.{module}", 20)
    path = tmp_path / ("a.jsonl" if text.startswith("{") else "a.txt")
    path.write_text(text * 100 + "x:y\n")
    blocks = read_blocks(path, 10)
    assert next(blocks).matrix.shape[0] > 0
    with pytest.raises(FileError, match="line 101: expected"):
        list(blocks)


def test_rows_of_a_block_are_a_number():
    with pytest.raises(InputError, match=r"rows must be an integer of at least 1\. Got 0\."):
        read_blocks("a.txt", 0)


# Features


@pytest.mark.parametrize("name", LABELLED)
def test_features_and_labels_come_back(tmp_path, dense, name):
    labels = (dense > 0.3).astype(int)
    save(tmp_path / name, labels, features=dense)
    found = load_contents(tmp_path / name)
    np.testing.assert_array_equal(found.matrix.toarray(), labels[:, : found.matrix.shape[1]])
    np.testing.assert_array_equal(found.features.toarray(), dense.astype(np.float32))
    assert find_format(tmp_path / name).name == LABELLED[name]
    assert load_labels(tmp_path / name).dtype == np.int8
    np.testing.assert_array_equal(load_features(tmp_path / name).toarray(), found.features.toarray())
    blocks = list(read_blocks(tmp_path / name, 3, n_labels=9))
    np.testing.assert_array_equal(np.vstack([block.matrix.toarray() for block in blocks]), labels)
    np.testing.assert_array_equal(sp.vstack([block.features for block in blocks]).toarray(), dense.astype(np.float32))


def test_features_alone_are_a_matrix(tmp_path, dense):
    save(tmp_path / "X.txt", dense, format="split")
    np.testing.assert_array_equal(load_features(tmp_path / "X.txt").toarray(), dense)


def test_scikit_learn_reads_the_same(tmp_path, dense):
    from sklearn.datasets import dump_svmlight_file, load_svmlight_file

    labels = (dense > 0.3).astype(int)
    save(tmp_path / "ours.svm", labels, features=dense.astype(np.float32))
    features, targets = load_svmlight_file(str(tmp_path / "ours.svm"), multilabel=True, zero_based=True, n_features=9)
    np.testing.assert_array_equal(features.toarray().astype(np.float32), dense.astype(np.float32))
    assert [list(map(int, each)) for each in targets] == [np.flatnonzero(row).tolist() for row in labels]
    dump_svmlight_file(dense[:3], labels[:3], str(tmp_path / "theirs.svm"), multilabel=True, comment="by another")
    found = load_contents(tmp_path / "theirs.svm", n_labels=9)
    np.testing.assert_array_equal(found.matrix.toarray(), labels[:3])
    np.testing.assert_allclose(found.features.toarray(), dense[:3], rtol=1e-6)


def test_labels_and_features_that_come_twice(tmp_path):
    (tmp_path / "a.txt").write_text("2 3 3\n1,1 0:1 0:2\n 2:1\n")
    found = load_contents(tmp_path / "a.txt")
    assert found.matrix.toarray().tolist() == [[0, 1, 0], [0, 0, 0]]
    assert found.features.toarray().tolist() == [[3, 0, 0], [0, 0, 1]]


# Recognition

TEXTS = {
    "2 3 4\n1,3 0:0.5\n 2:1\n": "repository",
    "2 4\n1:0.5\n3:1\n": "split",
    "1,3 0:0.5\n 2:1\n": "svmlight",
    " 0:0.5\n2 2:1\n": "svmlight",
    "# by hand\n1 0:0.5\n": "svmlight",
    "1\n2\n": "svmlight",
    "3:0.5 1:0.25\n\n2:1\n": "predictions",
    "gnd:1:0.5 gnd:2:0.25\n": "predictions",
}


@pytest.mark.parametrize(("text", "name"), TEXTS.items(), ids=map(repr, TEXTS))
@pytest.mark.parametrize("suffix", [".txt", ".TXT", ".txt.gz"])
def test_text_is_recognised_by_its_first_lines(tmp_path, text, name, suffix):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(gzip.compress(text.encode()) if suffix.endswith("gz") else text.encode())
    assert find_format(path).name == name


def test_long_text_is_recognised_by_its_whole_lines(tmp_path):
    (tmp_path / "a.txt").write_text("12:0.25 13:0.125\n" * 10_000)
    assert find_format(tmp_path / "a.txt").name == "predictions"
    assert load(tmp_path / "a.txt").shape == (10_000, 14)


def test_text_of_no_format(tmp_path):
    (tmp_path / "a.txt").write_text('{"labels": [1]}\n')
    with pytest.raises(FileError, match=r"a\.txt, line 1: expected one of the text formats \(.*\)\. Got '\{"):
        load(tmp_path / "a.txt")


def test_a_format_by_name(tmp_path, dense):
    save(tmp_path / "a.dat", dense, format="jsonl")
    np.testing.assert_array_equal(load(tmp_path / "a.dat", format="jsonl").toarray(), dense)
    with pytest.raises(InputError, match=r"format must be one of smat, npz, .*\. Got 'yaml'\."):
        load(tmp_path / "a.dat", format="yaml")


# Rankings


@pytest.mark.parametrize("name", RANKED)
def test_a_selection_keeps_its_ranking(tmp_path, name):
    save_selection(tmp_path / name, CHOSEN)
    found = load_selection(tmp_path / name)
    assert found.is_ranked
    np.testing.assert_array_equal(found.labels, CHOSEN.labels)
    np.testing.assert_array_equal(load_labels(tmp_path / name).toarray(), CHOSEN.to_csr().toarray())


@pytest.mark.parametrize("name", ["a-labels.npy", "a.txt", "a.jsonl", "a.parquet"])
def test_scores_go_with_the_labels_chosen(tmp_path, name):
    probabilities = np.array([[0.5, 0.25, 0, 0, 0], [0, 0, 1, 0, 0], [0, 1, 0, 0, 0], [0.5, 0, 0, 0, 0.75]])
    save_selection(tmp_path / name, CHOSEN, probabilities=probabilities)
    found = load_contents(tmp_path / name)
    np.testing.assert_array_equal(found.ranked_labels(), CHOSEN.labels)
    np.testing.assert_array_equal(found.matrix.toarray(), np.where(CHOSEN.to_csr().toarray(), probabilities, 0))
    with pytest.raises(
        InputError, match=r"probabilities must have the shape of the selection, \(4, 5\)\. Got \(4, 4\)"
    ):
        save_selection(tmp_path / name, CHOSEN, probabilities=probabilities[:, :4])


def test_predictions_are_a_selection_in_their_order(tmp_path):
    (tmp_path / "a.txt").write_text("3:0.5 1:0.9\n\n2:1\n")
    assert load_selection(tmp_path / "a.txt", n_labels=5).labels.tolist() == [[3, 1], [-1, -1], [2, -1]]


def test_a_selection_without_order_is_not_given_one(tmp_path):
    unranked = Chosen.of(CHOSEN.to_csr())
    for name in ("a.txt", "a.jsonl", "a-labels.npy"):
        with pytest.raises(
            InputError, match=r"must have a format without an order of labels: the selection has none\. Use \.npz"
        ):
            save_selection(tmp_path / name, unranked)
    for name in ("a.npz", "a.parquet"):
        save_selection(tmp_path / name, unranked)
        assert not load_selection(tmp_path / name).is_ranked


def test_the_order_of_pecos_is_a_ranking(tmp_path):
    parts = np.array([0.9, 0.5, 0.7, 0.2], dtype=np.float32), np.array([3, 1, 0, 2]), np.array([0, 2, 4])
    matrix = sp.csr_matrix(parts, shape=(2, 4))
    sp.save_npz(tmp_path / "pecos.npz", matrix, compressed=False)
    assert load_selection(tmp_path / "pecos.npz").labels.tolist() == [[3, 1], [0, 2]]
    save(tmp_path / "a.smat.npz", matrix)
    with np.load(tmp_path / "a.smat.npz") as archive:
        assert archive["format"].item() == b"csr"
        assert archive["indices"].tolist() == [3, 1, 0, 2]
        assert "_is_array" not in archive.files
    np.testing.assert_array_equal(sp.load_npz(tmp_path / "a.smat.npz").toarray(), matrix.toarray())


@pytest.mark.parametrize("values", [[1, 1, 1, 1], [0.5, 0.9, 0.7, 0.2]])
def test_unsorted_rows_without_falling_scores_are_no_ranking(tmp_path, values):
    sp.save_npz(tmp_path / "a.npz", sp.csr_matrix((values, [3, 1, 0, 2], [0, 2, 4]), shape=(2, 4)))
    assert load_contents(tmp_path / "a.npz").ranks is None
    a, b, c, d = values
    (tmp_path / "a.txt").write_text(f"2 4\n3:{a} 1:{b}\n0:{c} 2:{d}\n")
    assert load_contents(tmp_path / "a.txt", format="split").ranks is None


def test_the_order_of_split_text_is_a_ranking(tmp_path):
    (tmp_path / "a.txt").write_text("2 4\n3:0.9 1:0.5\n0:0.7 2:0.7\n")
    assert load_selection(tmp_path / "a.txt").labels.tolist() == [[3, 1], [0, 2]]


def test_entries_beyond_the_last_row(tmp_path):
    matrix = sp.csr_array((np.array([0.9, 0.5, 0.7]), np.array([3, 1, 0]), np.array([0, 2, 3])), shape=(2, 4))
    matrix.data, matrix.indices = np.append(matrix.data, 0.1), np.append(matrix.indices, 2)
    sp.save_npz(tmp_path / "a.npz", matrix)
    assert load(tmp_path / "a.npz").toarray().tolist() == [[0, 0.5, 0, 0.9], [0.7, 0, 0, 0]]


def test_unsigned_indices_of_pecos(tmp_path):
    arrays = {"indices": np.array([3, 1], dtype=np.uint32), "indptr": np.array([0, 2], dtype=np.uint64)}
    np.savez(tmp_path / "a.npz", data=np.array([0.5, 0.25], dtype=np.float32), shape=[1, 4], format=b"csr", **arrays)
    assert load(tmp_path / "a.npz").toarray().tolist() == [[0, 0.25, 0, 0.5]]


# Names


@pytest.mark.parametrize("name", NAMED)
def test_names_take_the_place_of_numbers(tmp_path, name):
    save_selection(tmp_path / name, CHOSEN, label_names=NAMES)
    found = load_contents(tmp_path / name)
    assert {found.label_names.ids[j] for j in found.matrix.indices} == {"gnd:1", "gnd:2", "c", "d", "e"}
    again = load_selection(tmp_path / name, label_names=NAMES)
    np.testing.assert_array_equal(again.labels, CHOSEN.labels)
    blocks = list(read_blocks(tmp_path / name, 3, label_names=NAMES))
    matrix = np.vstack([block.matrix.toarray() for block in blocks])
    np.testing.assert_array_equal(matrix, CHOSEN.to_csr().toarray())


def test_a_name_that_is_not_known(tmp_path):
    save_selection(tmp_path / "a.jsonl", CHOSEN, label_names=NAMES)
    with pytest.raises(FileError, match=r"a\.jsonl must only use the 4 label names given\. Got 'd'\. Add the missing"):
        load(tmp_path / "a.jsonl", label_names=["gnd:1", "gnd:2", "c", "e"])


def test_parquet_keeps_all_names_and_sizes(tmp_path):
    names = LabelNames(NAMES, ["one", "two", "", "four", "five"])
    matrix = np.zeros((4, 5))
    matrix[1, 2] = 0.5
    save(tmp_path / "a.parquet", matrix, label_names=names, instance_names=["x", "y", "z", "w"])
    found = load_contents(tmp_path / "a.parquet")
    assert found.label_names == names
    assert found.instance_names == ("x", "y", "z", "w")
    np.testing.assert_array_equal(found.matrix.toarray(), matrix)


def test_jsonl_keeps_ids_and_shows_titles(tmp_path):
    names = LabelNames(["q1", "q2"], ["Erde", "Mönd"])
    save(tmp_path / "a.jsonl", np.array([[0.25, 0.5]]), label_names=names, instance_names=["doc-7"])
    text = (tmp_path / "a.jsonl").read_text(encoding="utf-8")
    assert json.loads(text) == {
        "id": "doc-7",
        "labels": ["q2", "q1"],
        "scores": [0.5, 0.25],
        "titles": ["Mönd", "Erde"],
    }
    assert load_contents(tmp_path / "a.jsonl").instance_names == ("doc-7",)


def test_labels_without_scores_and_ids(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"labels": [2, 0]}\n{"labels": []}\n')
    found = load_contents(tmp_path / "a.jsonl", n_labels=4)
    assert found.matrix.toarray().tolist() == [[1, 0, 1, 0], [0, 0, 0, 0]]
    assert found.instance_names is None


def test_names_in_a_file_of_their_own(tmp_path):
    (tmp_path / "labels.txt").write_text("gnd:1\tErde\r\ngnd:2\t\ngnd:3\tMond", encoding="utf-8")
    names = tw.datasets.load_label_names(tmp_path / "labels.txt")
    assert names == LabelNames(["gnd:1", "gnd:2", "gnd:3"], ["Erde", "", "Mond"])
    assert [names.title_of(j) for j in range(3)] == ["Erde", "gnd:2", "Mond"]
    assert (names.number_of("gnd:3"), names.number_of("gnd:4")) == (2, None)
    assert repr(names) == "LabelNames(3 labels, with titles)"
    assert tw.datasets.find_label_names(tmp_path / "probabilities.npz", 3) == names
    assert tw.datasets.find_label_names(tmp_path / "probabilities.npz", 4) is None


BAD_NAMES = {
    "twice": (lambda: LabelNames(["a", "b", "a"]), InputError, r"label names must be unique\. Got 'a' twice\."),
    "titles": (
        lambda: LabelNames(["a"], ["b", "c"]),
        InputError,
        r"one title for each of the 1 ids\. Got 2\.",
    ),
}


@pytest.mark.parametrize(("make", "error", "message"), BAD_NAMES.values(), ids=BAD_NAMES)
def test_bad_names(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_bad_files_of_names(tmp_path, dense):
    (tmp_path / "labels.txt").write_text("a\na\n")
    with pytest.raises(FileError, match=r"labels\.txt: label names must be unique\. Got 'a' twice"):
        save(tmp_path / "a.jsonl", dense, label_names=tmp_path / "labels.txt")
    (tmp_path / "labels.txt").write_bytes(b"\xff\n")
    with pytest.raises(FileError, match=r"labels\.txt must be UTF-8 text\. Invalid UTF-8 at byte 0\."):
        tw.datasets.load_label_names(tmp_path / "labels.txt")


# What cannot be written


REFUSED = {
    "features": (
        "a.npz",
        {"features": np.ones((7, 2))},
        r"scipy sparse matrix cannot hold features\. Use separate files",
    ),
    "scores beside features": ("a.svm", {"features": np.ones((7, 2))}, r"svmlight text cannot hold scores\. Use "),
    "no features": ("a.svm", {}, r"svmlight text cannot hold scores\. Use \.smat\.npz \(PECOS matrix\), \.npz"),
    "size of features": (
        "a.txt",
        {"features": np.ones((3, 2))},
        r"must have 7 entries, one per instance\. Got 3\.",
    ),
    "size of names": (
        "a.jsonl",
        {"label_names": ["a"]},
        r"label_names must have 9 entries, one per label\. Got 1\.",
    ),
    "size of ids": (
        "a.jsonl",
        {"instance_names": ["a"]},
        r"must have 7 entries, one per instance\. Got 1\.",
    ),
    "space": (
        "a.txt",
        {"label_names": [*"abcdefgh", "i j"]},
        r"must be words without spaces\. Got 'i j'\. Use \.jsonl",
    ),
    "dense": ("a.npy", {}, r"path must end in -labels\.npy or -scores\.npy, which name a pair of files\. Got .*a\.npy"),
}


@pytest.mark.parametrize(("name", "options", "message"), REFUSED.values(), ids=REFUSED)
def test_what_a_format_cannot_hold_is_refused(tmp_path, dense, name, options, message):
    with pytest.raises(InputError, match=message):
        save(tmp_path / name, dense, **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a.smat.npz", "a.svm"])
def test_a_ranking_is_not_lost(tmp_path, name):
    with pytest.raises(InputError, match="cannot hold ranking"):
        save_selection(tmp_path / name, CHOSEN)


# Arrays of numpy


def test_a_dense_array_is_a_matrix(tmp_path, dense):
    np.save(tmp_path / "a.npy", dense)
    np.testing.assert_array_equal(load(tmp_path / "a.npy").toarray(), dense)
    np.save(tmp_path / "b-scores.npy", dense)  # LightXML writes no labels where it scores them all
    np.testing.assert_array_equal(load(tmp_path / "b-scores.npy").toarray(), dense)


def test_the_pair_of_lightxml(tmp_path):
    np.save(tmp_path / "x-labels.npy", np.array([[3, 1], [2, -1]]))
    np.save(tmp_path / "x-scores.npy", np.array([[0.5, 0.25], [0.75, 0.0]], dtype=np.float32))
    for name in ("x-labels.npy", "x-scores.npy"):
        found = load_contents(tmp_path / name)
        assert found.matrix.toarray().tolist() == [[0, 0.25, 0, 0.5], [0, 0, 0.75, 0]]
        assert found.ranked_labels().tolist() == [[3, 1], [2, -1]]


# Parquet of others


def test_parquet_of_others(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"instance": [1, 0, 1], "label": ["b", "a", "c"], "score": [0.5, 0.25, 1.0]})
    frame.to_parquet(tmp_path / "a.parquet")
    found = load_contents(tmp_path / "a.parquet")
    assert found.matrix.shape == (2, 3)
    assert found.label_names.ids == ("b", "a", "c")
    assert found.ranks is None
    np.testing.assert_array_equal(load(tmp_path / "a.parquet", label_names=["a", "b", "c"]).toarray()[1], [0, 0.5, 1])
    with pytest.raises(FileError, match=r"must be sorted by instance to be read in blocks"):
        list(read_blocks(tmp_path / "a.parquet"))


def test_parquet_without_probabilities_is_labels(tmp_path):
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame({"instance": [0, 2], "label": [1, 3]}).to_parquet(tmp_path / "a.parquet")
    assert load_labels(tmp_path / "a.parquet").toarray().tolist() == [[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]]


def test_parquet_in_blocks_of_whole_instances(tmp_path, dense, monkeypatch):
    monkeypatch.setattr("tailwise.datasets.formats.parquet.BATCH", 3)
    for names in (None, tuple("gfedcba")):
        save(tmp_path / "a.parquet", dense, instance_names=names)
        blocks = list(read_blocks(tmp_path / "a.parquet", 2))
        np.testing.assert_array_equal(np.vstack([block.matrix.toarray() for block in blocks]), dense)
        assert len(blocks) > 2
        assert names is None or sum((tuple(block.instance_names) for block in blocks), ()) == names
