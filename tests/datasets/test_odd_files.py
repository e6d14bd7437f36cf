"""Files that are nearly right: read as they are meant, or refused with the reason; never taken for something else."""

import json
import os

import numpy as np
import pytest
import scipy.sparse as sp

import tailwise as tw
from tailwise.cli.main import main
from tailwise.datasets import LabelNames, load_contents, load_label_names, read_blocks, save_label_names
from tailwise.errors import FileError, InputError

MARK = b"\xef\xbb\xbf"  # what some programs put before text in UTF-8


# Prediction text


@pytest.mark.parametrize("word", ["-7:0.2", "1.0:0.5", "x:0.5", "2"])
def test_one_wrong_word_does_not_make_numbers_names(tmp_path, word):
    (tmp_path / "a.txt").write_text(f"5:0.9 2:0.1\n2:0.5 {word}\n")
    with pytest.raises(FileError, match=r"a\.txt, line 2: expected a (pair number:value|colon)"):
        tw.load(tmp_path / "a.txt")


def test_names_may_hold_numbers(tmp_path):
    (tmp_path / "a.txt").write_text("3d:0.9 2024:0.1\n")
    assert load_contents(tmp_path / "a.txt").label_names.ids == ("3d", "2024")


@pytest.mark.parametrize("names", [["7", "6", "5"], ["a", "1e5", "b"]])
def test_names_that_would_be_read_as_numbers_are_not_written(tmp_path, names):
    with pytest.raises(InputError, match=r"must not be numbers\. Got .*Use \.jsonl or \.parquet"):
        tw.save(tmp_path / "a.txt", np.eye(3), label_names=names)
    tw.save(tmp_path / "a.jsonl", np.eye(3), label_names=names)
    assert load_contents(tmp_path / "a.jsonl").label_names.ids == tuple(names)


@pytest.mark.parametrize(("word", "shown"), [("b:1_0", "'b:1_0'"), ("b:1e39", "'b:1e39'"), (":1", "':1'")])
def test_wrong_words_among_names(tmp_path, word, shown):
    (tmp_path / "a.txt").write_text(f"a:1\na:1 {word}\n")
    with pytest.raises(FileError, match=f"line 2: expected a pair label:score. Got {shown}"):
        tw.load(tmp_path / "a.txt")


def test_names_that_are_no_text(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"a:1 \xff:1\n")
    with pytest.raises(FileError, match="line 1: expected a pair label:score"):
        tw.load(tmp_path / "a.txt")


def test_names_longer_than_what_a_format_is_recognised_by(tmp_path):
    names = [f"name-{j:015d}" for j in range(5000)]
    tw.save(tmp_path / "a.txt", np.ones((2, 5000)), label_names=names)
    np.testing.assert_array_equal(tw.load(tmp_path / "a.txt", label_names=names).toarray(), np.ones((2, 5000)))


def test_a_matrix_without_entries(tmp_path):
    tw.save(tmp_path / "a.txt", sp.csr_array((3, 4)))
    assert tw.load(tmp_path / "a.txt", n_labels=4).shape == (3, 4)


# A mark before the text


def test_a_mark_before_text_is_passed_over(tmp_path):
    texts = {"a.txt": "5:0.9 2:0.1\n", "b.txt": "1 2 2\n0 1:1\n", "c.jsonl": '{"labels": [1]}\n', "d.svm": "1 1:1\n"}
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text.encode())
        (tmp_path / f"marked-{name}").write_bytes(MARK + text.encode())
        expected, found = (load_contents(tmp_path / each) for each in (name, f"marked-{name}"))
        np.testing.assert_array_equal(found.matrix.toarray(), expected.matrix.toarray())
        assert found.label_names is None
    (tmp_path / "labels.txt").write_bytes(MARK + b"a\nb\n")
    assert load_label_names(tmp_path / "labels.txt").ids == ("a", "b")


# JSON lines


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"labels": [1], "scores": [100000000000000000000000000000000000000000]}', "all numbers of at most 3.403e"),
        ('{"labels": [1], "scores": [1e39]}', "all numbers of at most 3.403e"),
        ('{"labels": ["\\ud800"]}', r"a label name.*ud800"),
        ('{"id": "\\ud800", "labels": [1]}', "an id that is text or an integer"),
        ('{"id": [1], "labels": [1]}', "an id that is text or an integer"),
        ('{"labels": ' + "[" * 100_000, "an object"),
    ],
)
def test_wrong_lines_of_json(tmp_path, line, message):
    (tmp_path / "a.jsonl").write_text(f'{{"labels": []}}\n{line}\n')
    with pytest.raises(FileError, match=rf"a\.jsonl, line 2: expected .*{message}"):
        tw.load(tmp_path / "a.jsonl")


def test_lines_without_an_id_are_called_by_their_numbers(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": "x", "labels": [1]}\n{"labels": [2]}\n{"labels": [0]}\n')
    contents = load_contents(tmp_path / "a.jsonl")
    assert contents.instance_names == ("x", "1", "2")
    tw.save(tmp_path / "a.parquet", contents.matrix, instance_names=contents.instance_names)
    np.testing.assert_array_equal(tw.load(tmp_path / "a.parquet").toarray(), contents.matrix.toarray())


def test_truth_values_are_numbers(tmp_path):
    tw.save(tmp_path / "a.jsonl", np.eye(3, dtype=bool))
    np.testing.assert_array_equal(tw.load(tmp_path / "a.jsonl").toarray(), np.eye(3))
    assert json.loads((tmp_path / "a.jsonl").read_text().split("\n")[0])["scores"] == [1]


# What is written can be read


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.svm"])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_text_holds_finite_numbers_only(tmp_path, name, value):
    matrix = np.array([[value, 1.0]])
    parts = {"features": matrix} if name.endswith("svm") else {}
    what = "features" if parts else "matrix"
    with pytest.raises(InputError, match=rf"{what} must hold finite numbers to be written as text\. Got .*Use \.npz"):
        tw.save(tmp_path / name, np.eye(1, 2) if parts else matrix, **parts)
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("name", ["a.npz.gz", "a.smat.npz.gz", "a.parquet.gz", "a-labels.npy.gz"])
def test_only_text_is_compressed(tmp_path, name):
    with pytest.raises(FileError, match=r"must end in a known suffix before \.gz: \.txt \(prediction.* Got .*\.gz"):
        tw.save(tmp_path / name, np.eye(3))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (LabelNames(["a\tb"]), "Got 'a\\\\tb'"),
        (LabelNames(["a\nb"]), "Got 'a\\\\nb'"),
        (LabelNames(["a"], ["b\r"]), "Got 'b\\\\r'"),
    ],
)
def test_names_that_a_file_cannot_hold(tmp_path, names, message):
    with pytest.raises(InputError, match=f"must not contain line breaks, nor identifiers tabs. {message}"):
        save_label_names(tmp_path / "labels.txt", names)


def test_names_can_be_encoded():
    with pytest.raises(InputError, match=r"label names must be text that can be encoded\. Got '\\ud800'\. Remove"):
        LabelNames(["\ud800", "b"])


def test_ids_that_look_like_numbers_of_rows_keep_their_type(tmp_path):
    for file in ("a.jsonl", "a.parquet"):
        for ids in (["0", "1", "2"], [0, 1, 2]):
            tw.save(tmp_path / file, np.eye(3), instance_names=ids)
            assert load_contents(tmp_path / file).instance_names == ids


def test_an_output_without_a_pair_is_refused_before_the_work(tmp_path, capsys, monkeypatch):
    tw.save(tmp_path / "a.npz", np.eye(3))
    monkeypatch.setattr("tailwise.selection.select", lambda *args, **options: pytest.fail("it worked"))
    words = ["select", str(tmp_path / "a.npz"), "-u", "macro-f1", "-k", "1", "-o", str(tmp_path / "x.npy")]
    assert main(words) == 2
    assert "must end in -labels.npy or -scores.npy" in capsys.readouterr().err


# Arrays


@pytest.mark.parametrize("label", [2**31 - 1, 2**32 + 1, 2**64 - 1])
def test_labels_of_too_many_bits(tmp_path, label):
    np.save(tmp_path / "a-labels.npy", np.array([[label, 0]], dtype=np.uint64))
    np.save(tmp_path / "a-scores.npy", np.array([[0.5, 0.25]]))
    with pytest.raises(FileError, match=f"must hold label numbers from 0 to 2147483646, .* Got {label}"):
        tw.load(tmp_path / "a-labels.npy")


def test_too_little_memory_is_reported(tmp_path, capsys, monkeypatch):
    def fail(*args, **options):
        raise MemoryError

    tw.save(tmp_path / "a.npz", 0.5 * np.eye(3))
    monkeypatch.setattr("tailwise.selection.select", fail)
    words = ["select", str(tmp_path / "a.npz"), "-u", "macro-f1", "-k", "1", "-o", str(tmp_path / "x.npz")]
    assert main(words) == 3
    assert "not enough memory" in capsys.readouterr().err


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="needs a file of Linux that breaks when it is read")
def test_a_file_that_breaks_while_it_is_read(tmp_path):
    (tmp_path / "a.jsonl").symlink_to("/proc/self/mem")
    with pytest.raises(FileError, match=r"a\.jsonl could not be read: Input/output error"):
        list(read_blocks(tmp_path / "a.jsonl"))
