"""Texts as the input of a run, and files of texts."""

import gzip

import numpy as np
import pytest
import scipy.sparse as sp

import tailwise as tw
from tailwise.datasets.formats.text_lines import read_texts
from tailwise.errors import FileError
from tailwise.runs.run_data import read_data

WORDS = ("tree", "tail", "label")


def draw(n, seed):
    random = np.random.default_rng(seed)
    labels = random.integers(3, size=n)
    return [f"the {WORDS[label]} number {i % 7}" for i, label in enumerate(labels)], sp.csr_array(np.eye(3)[labels])


@pytest.fixture
def folder(tmp_path):
    for part, n, pack in (("trn", 60, True), ("tst", 20, False)):
        texts, Y = draw(n, n)
        sp.save_npz(tmp_path / f"Y.{part}.npz", Y)
        data = "\n".join(texts).encode() + b"\n"
        (tmp_path / f"texts.{part}.txt{'.gz' * pack}").write_bytes(gzip.compress(data) if pack else data)
    return tmp_path


def test_a_run_on_texts_is_a_run_on_their_features(folder, tmp_path):
    (train, Y), (test, Y_test) = draw(60, 60), draw(20, 20)
    found = tw.run(folder, "macro-f1", k=1)
    assert found.evaluation["macro-f1"] > 0.9
    given = tw.run({"X": train, "Y": Y, "X_test": test, "Y_test": Y_test}, "macro-f1", k=1)
    features = tw.TextFeatures().fit(train)
    matrices = {"X": features.transform(train), "X_test": features.transform(test), "Y": Y, "Y_test": Y_test}
    expected = tw.run(matrices, "macro-f1", k=1)
    for each in (found, given):
        np.testing.assert_array_equal(each.selection.labels, expected.selection.labels)
    assert set(found.record["inputs"]) == {"Y.trn.npz", "Y.tst.npz", "texts.trn.txt.gz", "texts.tst.txt"}


def test_texts_must_be_as_many_as_labels(folder):
    (folder / "texts.tst.txt").write_text("one\n")
    with pytest.raises(FileError, match=r"must have a line for each of the 20 instances\. Got 1 lines"):
        read_data(folder)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", "a tree\nthe tail\n"),
        ("a.csv", "id,text\n1,a tree\n2,the tail\n"),
        ("a.tsv", "text\tid\na tree\t1\nthe tail\t2\n"),
        ("corpus.tsv", "a tree\t<http://x/1>\nthe tail\t<http://x/2> <http://x/1>\n"),
        ("a.jsonl", '{"text": "a tree"}\n{"text": "the tail"}\n'),
    ],
)
def test_texts_of_any_file(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    assert read_texts(tmp_path / name) == ["a tree", "the tail"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "id,title\n1,a\n", "must have the column 'text'. It has id, title. Choose one: text_column='title'."),
        ("a.jsonl", '{"title": "a"}\n', "line 1: expected a JSON object with the key 'text'"),
        ("a.txt", "a\n\nb\n", "line 2: expected a text, one for each instance. Got none"),
        ("a.csv", "text\na\n,\n", "row 2 below the header: expected a text, one for each instance. Got none"),
        ("a.csv", "id,text\nx7,a\nx8,\n", "a.csv, id x8: expected a text, one for each instance. Got none"),
        ("a.jsonl", '{"text": "a"}\n{"text": " "}\n', "a.jsonl, line 2: expected a text, one for each instance"),
        ("a.tsv", "a tree\t<http://x/1>\n \t<http://x/2>\n", "a.tsv, line 2: expected a text"),
        ("a.jsonl", '{"text": 3}\n', "Got 3 of type int in row 0"),
    ],
)
def test_other_files_are_refused(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(FileError, match=message):
        read_texts(tmp_path / name)


def test_the_index_of_texts_names_the_instances(tmp_path):
    pandas = pytest.importorskip("pandas")
    (train, Y), (test, _) = draw(60, 60), draw(20, 20)
    ids = [f"doc-{i}" for i in range(20)]
    table = pandas.DataFrame({"id": ids, "title": test}).set_index("id")
    run = tw.run({"X": train, "Y": Y, "X_test": table.title}, "macro-f1", k=1, output=tmp_path / "run")
    assert list(run.selection.to_dict()) == ids
    assert list(tw.Run.load(tmp_path / "run").selection.instance_ids) == ids
    again = {"X": train, "Y": Y, "X_test": table.title.set_axis(ids[::-1])}
    with pytest.raises(FileError, match="must not exist"):  # a finished run of the same texts, but of other ids
        tw.run(again, "macro-f1", k=1, output=tmp_path / "run")
    plain = tw.run({"X": train, "Y": Y, "X_test": test}, "macro-f1", k=1)
    assert plain.selection.instance_ids is None
    np.testing.assert_array_equal(run.selection.labels, plain.selection.labels)
