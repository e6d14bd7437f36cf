"""A file that is wrong is refused with its name, its line and what was expected; nothing is half-written."""

import gzip
import os

import numpy as np
import pytest

from tailwise.datasets import load, load_contents, load_filter, read_blocks, save, save_selection
from tailwise.errors import FileError, MissingExtraError
from tailwise.inputs.chosen import Chosen

WRONG = {
    "label": ("a.txt", "2 3 4\n1,x 0:1\n2 1:1\n", r"line 2: expected a label number\. Got 'x 0:1'\. Fix the line"),
    "label out of range": ("a.txt", "2 3 4\n1 0:1\n4 1:1\n", r"line 3: expected a label number below 4\. Got '4 1:1'"),
    "feature out of range": (
        "a.txt",
        "1 3 4\n1 3:1\n",
        r"line 2: expected a number below 3 before the colon\. Got '3:1",
    ),
    "header too large": ("a.txt", "3 3 4\n1 0:1\n2 1:1\n", r"3 instances, as its first line states\. Got 2 lines"),
    "header too small": ("a.txt", "1 3 4\n1 0:1\n2 1:1\n", r"1 instances, as its first line states\. Got 2 lines"),
    "no instances": ("a.txt", "0 3 4\n", r"line 1: expected numbers from 1 to 2147483647\. Got '0 3 4'"),
    "header alone": ("a.txt", "2 3 4\n", r"2 instances, as its first line states\. Got 0 lines"),
    "split label": ("a.txt", "2 4\n4:1\n1:1\n", r"line 2: expected a number below 4 before the colon\. Got '4:1'"),
    "split twice": ("a.txt", "2 4\n1:1\n2:1 1:1 2:3\n", r"Line 3 holds label 2 twice\. Merge the two"),
    "split header": ("a.txt", "3 4\n1:1\n2:1\n", r"3 instances, as its first line states\. Got 2 lines"),
    "svmlight": ("a.svm", "1 0:1\n\n2 qid:3 1:1\n", r"line 3: expected a pair number:value\. Got 'qid:3 1:1'"),
    "svmlight empty": ("a.svm", "# nothing\n\n", r"a\.svm must hold at least one instance\. It is empty\."),
    "prediction": ("a.txt", "1:0.5 2:0.4\n3:0.5 4\n", r"line 2: expected a colon after the number\. Got '4'"),
    "prediction twice": ("a.txt", "1:0.5\n\n2:0.4 3:1 2:0.3\n", r"Line 3 holds label 2 twice"),
    "named prediction": ("a.txt", "a:0.5 b:0.4\nc:x\n", r"line 2: expected a pair label:score\. Got 'c:x'"),
    "named without score": ("a.txt", "a:0.5\nb\n", r"line 2: expected a label number\. Got 'b'|line 1: expected"),
    "named infinite": ("a.txt", "a:0.5 b:inf\n", r"line 1: expected a pair label:score\. Got 'b:inf'"),
    "named twice": ("a.txt", "a:0.5\nb:1 b:0.4\n", r"Line 2 holds label 'b' twice"),
    "json": (
        "a.jsonl",
        '{"labels": [1]}\n{"labels": [1}\n',
        r"line 2: expected an object \{\"id\".*Got '\{\"labels\": \[1\}'",
    ),
    "json array": ("a.jsonl", "[1, 2]\n", r"line 1: expected an object"),
    "json blank": ("a.jsonl", '{"labels": [1]}\n\n', r"line 2: expected an object .* Got ''"),
    "json scores": ("a.jsonl", '{"labels": [1], "scores": []}\n', r"line 1: expected 1 scores, one per label"),
    "json nan": ("a.jsonl", '{"labels": [1], "scores": [NaN]}\n', r"line 1: expected 1 scores.*Got '\[nan\]'"),
    "json text": (
        "a.jsonl",
        '{"labels": [1], "scores": ["1"]}\n',
        r"line 1: expected 1 scores, .* all numbers of at most 3",
    ),
    "json mixed": ("a.jsonl", '{"labels": ["a"]}\n{"labels": [1]}\n', r"line 2: expected a label name.*Got '1'"),
    "json mixed numbers": (
        "a.jsonl",
        '{"labels": [1]}\n{"labels": ["a"]}\n',
        r"line 2: expected a label number of at l",
    ),
    "json negative": ("a.jsonl", '{"labels": [-1]}\n', r"line 1: expected a label number of at least 0\. Got '-1'"),
    "json fraction": ("a.jsonl", '{"labels": [1.5]}\n', r"line 1: expected a label number of at least 0\. Got '1.5'"),
    "json twice": ("a.jsonl", '{"labels": []}\n{"labels": [1, 1]}\n', r"Line 2 holds label 1 twice"),
    "json empty": ("a.jsonl", "", r"a\.jsonl must hold at least one instance\. It is empty"),
    "no parquet": (
        "a.parquet",
        "no table",
        r"a\.parquet must be a complete and valid Parquet file\. Reading it failed:",
    ),
    "no npy": (
        "a.npy",
        "no array",
        r"a\.npy must be a complete and valid \.npy file of numbers\. Reading it failed with",
    ),
}


@pytest.mark.parametrize(("name", "text", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_file_is_refused(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(FileError, match=message) as caught:
        load(tmp_path / name)
    assert str(tmp_path / name) in str(caught.value)
    with pytest.raises(FileError, match=message):
        list(read_blocks(tmp_path / name))


def test_blank_lines_count_where_the_header_says_so(tmp_path):
    (tmp_path / "a.txt").write_text("3 2 2\n1 0:1\n\n0 1:1\n\n\n")
    assert load_contents(tmp_path / "a.txt").matrix.toarray().tolist() == [[0, 1], [0, 0], [1, 0]]


@pytest.mark.parametrize("name", ["a.txt.gz", "a.jsonl.gz"])
def test_a_gz_that_is_cut_short(tmp_path, name):
    save(tmp_path / name, np.random.default_rng(0).random((50, 20)))
    content = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(FileError, match=r"must be a complete \.gz file\. It is truncated\. Copy or download it again"):
        load(tmp_path / name)


def test_a_gz_that_is_none_or_damaged(tmp_path):
    (tmp_path / "a.txt.gz").write_text("1:0.5\n")
    with pytest.raises(FileError, match=r"must be a valid \.gz file\. Unpacking it failed: Not a gzipped file"):
        load(tmp_path / "a.txt.gz")
    content = bytearray(gzip.compress(b"1:0.5\n" * 1000))
    content[20] ^= 255
    (tmp_path / "a.txt.gz").write_bytes(content)
    with pytest.raises(FileError, match=r"a\.txt\.gz must be a (valid|whole) \.gz file"):
        load(tmp_path / "a.txt.gz")


def test_labels_beyond_the_number_that_is_known(tmp_path):
    (tmp_path / "a.txt").write_text("7:0.5\n")
    with pytest.raises(FileError, match=r"a\.txt must hold labels below 5, the number of labels\. Got 7\."):
        load(tmp_path / "a.txt", n_labels=5)


def test_names_that_are_too_few(tmp_path):
    save(tmp_path / "a.npz", np.eye(3))
    with pytest.raises(ValueError, match=r"one name for each of the 3 labels of .*a\.npz\. Got 2\."):
        load(tmp_path / "a.npz", label_names=["a", "b"])


# Pairs of arrays

PAIRS = {
    "shapes": (
        [[1, 2]],
        [[0.5]],
        r"in arrays of the same shape \(n, k'\)\. Got int64 \(1, 2\) and float64 \(1, 1\)",
    ),
    "fractions": ([[0.5]], [[0.5]], r"label numbers and scores in arrays .* Got float64"),
    "negative": ([[-2]], [[0.5]], r"label numbers from 0 to 2147483646, or -1 for an empty slot\. Got -2\."),
    "twice": ([[1, 1]], [[0.5, 0.5]], r"Instance 0 holds label 1 twice"),
}


@pytest.mark.parametrize(("labels", "scores", "message"), PAIRS.values(), ids=PAIRS)
def test_a_wrong_pair_of_arrays(tmp_path, labels, scores, message):
    np.save(tmp_path / "x-labels.npy", np.array(labels))
    np.save(tmp_path / "x-scores.npy", np.array(scores))
    with pytest.raises(FileError, match=message):
        load(tmp_path / "x-labels.npy")


def test_half_a_pair(tmp_path):
    np.save(tmp_path / "x-labels.npy", np.array([[1]]))
    with pytest.raises(FileError, match=r"x-scores\.npy does not exist"):
        load(tmp_path / "x-labels.npy")


def test_arrays_of_objects_are_never_opened(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[1], [1, 2]], dtype=object), allow_pickle=True)
    with pytest.raises(FileError, match=r"it holds Python objects, not numbers.* with rows of equal length"):
        load(tmp_path / "a.npy")


def test_arrays_of_text(tmp_path):
    np.save(tmp_path / "a.npy", np.array([["x"]]))
    with pytest.raises(FileError, match=r"a\.npy must hold one array of real numbers\. Got <U1"):
        load(tmp_path / "a.npy")
    np.save(tmp_path / "a.npy", np.ones(3))
    with pytest.raises(FileError, match=r"the array in .*a\.npy must be a matrix"):
        load(tmp_path / "a.npy")


# Parquet

TABLES = {
    "columns": (
        {"row": [0], "label": [1]},
        r"must have the columns instance and label .*Missing: instance\. It has row",
    ),
    "missing": (
        {"instance": [0, None], "label": [1, 1]},
        r"a value in every row of the column instance\. Got 1 missing values",
    ),
    "text": (
        {"instance": [0], "label": [1], "probability": ["x"]},
        r"a number in every row of the column probability",
    ),
    "twice": ({"instance": [3, 3], "label": ["b", "b"], "score": [0.5, 0.5]}, r"Instance 3 holds label 'b' twice"),
    "ranks": (
        {"instance": [0, 0], "label": [1, 2], "rank": [1, 1]},
        r"rank the labels .* Instance 0 has a tie",
    ),
}


@pytest.mark.parametrize(("columns", "message"), TABLES.values(), ids=TABLES)
def test_a_wrong_table(tmp_path, columns, message):
    arrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(arrow.table(columns), tmp_path / "a.parquet")
    with pytest.raises(FileError, match=message):
        load(tmp_path / "a.parquet")


def test_a_table_cut_short(tmp_path):
    save(tmp_path / "a.parquet", np.eye(50))
    content = (tmp_path / "a.parquet").read_bytes()
    for share in (0.3, 0.9):
        (tmp_path / "a.parquet").write_bytes(content[: int(share * len(content))])
        with pytest.raises(FileError, match="must be a complete and valid Parquet file"):
            load(tmp_path / "a.parquet")


def test_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(
        MissingExtraError, match=r"need pyarrow, which is not installed\. .*pip install 'tailwise\[parqu"
    ):
        save(tmp_path / "a.parquet", np.eye(2))
    assert not os.listdir(tmp_path)


# Filters


def test_filters(tmp_path):
    (tmp_path / "filter.txt").write_text("0 3\n\n2,5\r\n")
    assert load_filter(tmp_path / "filter.txt").tolist() == [[0, 3], [2, 5]]
    save(tmp_path / "filter.npz", np.array([[0, 1], [1, 0]]))
    assert load_filter(tmp_path / "filter.npz").tolist() == [[0, 1], [1, 0]]
    (tmp_path / "none.txt").write_text("")
    assert load_filter(tmp_path / "none.txt").shape == (0, 2)


@pytest.mark.parametrize("line", ["1", "1 2 3", "a 1", "1 -2", "1:2"])
def test_a_wrong_filter(tmp_path, line):
    (tmp_path / "filter.txt").write_text(f"0 3\n{line}\n")
    with pytest.raises(
        FileError, match=rf"filter\.txt, line 2: expected the numbers of an instance and a label. Got '{line}'"
    ):
        load_filter(tmp_path / "filter.txt")
    (tmp_path / "filter.txt").write_text("0 99999999999999999999\n")
    with pytest.raises(
        FileError, match=r"line 1: expected the numbers of an instance and a label. Got '0 99999999999999999999'"
    ):
        load_filter(tmp_path / "filter.txt")


# A full disk


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.jsonl", "a.parquet", "a.npz", "a.smat.npz", "a-labels.npy"])
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
# Python 3.10 says of a zip archive that could not be written that it cannot be closed, either.
@pytest.mark.filterwarnings("ignore:Exception ignored in. <function ZipFile:pytest.PytestUnraisableExceptionWarning")
def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch, name):
    real_open = open

    def open_full(path, *arguments, **options):
        if path.parent.parent.suffix == ".part":
            real_open(path, "xb").close()
            return real_open("/dev/full", "wb")
        return real_open(path, *arguments, **options)

    monkeypatch.setattr("tailwise.datasets.formats.disk.open", open_full, raising=False)
    with pytest.raises(FileError, match=r"could not be written: .*[Nn]o space left on device.*Free some space"):
        save(tmp_path / name, np.random.default_rng(0).random((300, 300)))
    assert not os.listdir(tmp_path)


def test_a_failure_leaves_the_old_pair(tmp_path, monkeypatch):
    save_selection(tmp_path / "x-labels.npy", Chosen.of([[1, 0]], 3))
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}

    def fail(file, array, allow_pickle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", fail)
    with pytest.raises(FileError, match="No space left"):
        save_selection(tmp_path / "x-labels.npy", Chosen.of([[2, 1]], 3))
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before
