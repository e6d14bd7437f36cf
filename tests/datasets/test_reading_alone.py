"""What readers refuse: damaged and odd files by name; but what breaks elsewhere is not blamed on the file."""

import json
import pickle
import zipfile

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import scipy.sparse as sp

import tailwise as tw
from tailwise.datasets import (
    load,
    load_contents,
    load_filter,
    load_label_names,
    load_priors,
    read_blocks,
    save,
    save_priors,
)
from tailwise.datasets.catalogue.data_folder import LOCK, read_lock
from tailwise.errors import FileError, InputError, TailwiseError

MATRIX = np.array([[0.5, 0.25, 0.0], [0.0, 0.0, 0.75]], dtype=np.float32)
NAMES = ["a.npz", "a.smat.npz", "a-labels.npy", "a.txt", "a.svm", "a.jsonl", "a.parquet", "a.txt.gz", "a.jsonl.gz"]


def write(path):
    options = {"features": np.eye(2)} if path.suffix == ".svm" else {}
    save(path, MATRIX > 0 if options else MATRIX, **options)


# Only the reading is the file's fault

ERRORS = [
    pickle.UnpicklingError("cache"),
    EOFError("cache"),
    OSError(5, "cache"),
    KeyError("cache"),
    zipfile.BadZipFile(),
]


@pytest.mark.parametrize("error", ERRORS, ids=repr)
@pytest.mark.parametrize("name", NAMES)
def test_what_breaks_in_our_own_code_is_not_blamed_on_the_file(tmp_path, monkeypatch, name, error):
    write(tmp_path / name)

    def fail(*arguments, **options):
        raise error

    for place in ("npz.tidy_csr", "ordered_rows.build_csr", "text.build_csr", "table_entries.build_csr"):
        monkeypatch.setattr(f"tailwise.datasets.formats.{place}", fail)
    for place in ("text.parse_lines", "id_numbers.IdNumbers.number", "ordered_rows._Collected.append"):
        monkeypatch.setattr(f"tailwise.datasets.formats.{place}", fail)
    with pytest.raises(type(error)) as raised:
        load(tmp_path / name)
    assert raised.value is error


# Ends of lines

LINES = {
    "a.txt": "0:0.5 1:0.25\n\n2:0.75\n",
    "names.txt": "a:0.5 b:0.25\n\nc:0.75\n",
    "repository.txt": "2 3 4\n1,2 0:1\n3 2:0.5\n",
    "split.txt": "2 3\n0:1\n2:0.5\n",
    "a.svm": "1,2 0:1\n3 2:0.5 # words\n",
    "a.jsonl": '{"labels": [1]}\n{"labels": [0]}\n',
}


@pytest.mark.parametrize("end", ["\r", "\r\n"], ids=repr)
@pytest.mark.parametrize("name", LINES)
def test_lines_may_end_in_three_ways(tmp_path, name, end):
    (tmp_path / name).write_bytes(LINES[name].encode())
    expected = load_contents(tmp_path / name)
    (tmp_path / name).write_bytes(LINES[name].replace("\n", end).encode())
    for contents in (load_contents(tmp_path / name), *read_blocks(tmp_path / name)):
        assert (contents.matrix != expected.matrix).nnz == 0
        assert contents.label_names == expected.label_names


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8])
def test_line_ends_at_the_edge_of_a_block(tmp_path, monkeypatch, size):
    text = b"0:1\r\n1:1\r\r2:1\n\r\n3:1\r"
    (tmp_path / "a.txt").write_bytes(text)
    monkeypatch.setattr("tailwise.datasets.formats.disk.BUFFER", size)
    assert load(tmp_path / "a.txt").indices.tolist() == [0, 1, 2, 3]
    assert load(tmp_path / "a.txt").shape[0] == 6


@pytest.mark.parametrize("end", ["\r", "\r\n"], ids=repr)
def test_line_ends_of_names_and_filters(tmp_path, end):
    (tmp_path / "labels.txt").write_bytes(f"a\tA{end}b\tB{end}".encode())
    assert load_label_names(tmp_path / "labels.txt").titles == ("A", "B")
    (tmp_path / "filter.txt").write_bytes(f"0 1{end}2 3{end}".encode())
    assert load_filter(tmp_path / "filter.txt").tolist() == [[0, 1], [2, 3]]


# Commas between pairs


@pytest.mark.parametrize(
    "text",
    [
        "0:0.5,1:0.2\n",
        "0:0.5, 1:0.2\n",
        "0:0.5 1:0.2,2:0.1\n",
        "a:0.5,b:0.2\n",
        "a:0.5, b:0.2\n",
        "2 3\n0:1,1:1\n0:1\n",
    ],
)
def test_commas_between_pairs_are_named(tmp_path, text):
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(FileError, match=r"line \d: expected pairs number:value separated by spaces, not commas"):
        load(tmp_path / "a.txt")


def test_a_name_that_would_be_read_as_two_pairs_is_not_written(tmp_path):
    with pytest.raises(InputError, match=r"must not contain a number between a colon and a comma\. Got 'a:1,b'"):
        save(tmp_path / "a.txt", MATRIX, label_names=["a:1,b", "b", "c"])


def test_names_with_commas_are_read(tmp_path):
    save(tmp_path / "a.txt", MATRIX, label_names=["a,b", "b:x,y", "c,"])
    assert load_contents(tmp_path / "a.txt").label_names.ids == ("a,b", "b:x,y", "c,")


# Large numbers

LARGE = 2**31 - 3


def parquet(path, **columns):
    pyarrow.parquet.write_table(pyarrow.table(columns), path)


@pytest.mark.parametrize("read", [load, lambda path: list(read_blocks(path))], ids=["load", "blocks"])
@pytest.mark.parametrize(
    ("name", "what", "write"),
    [
        ("a.jsonl", "label", lambda path: path.write_text(f'{{"labels": [{LARGE}]}}\n')),
        ("a.txt", "label", lambda path: path.write_text(f"0:1 {LARGE}:1\n")),
        ("a.svm", "label", lambda path: path.write_text(f"{LARGE} 1:1\n")),
        ("a.svm", "feature", lambda path: path.write_text(f"1 {LARGE}:1\n")),
        (
            "a-labels.npy",
            "label",
            lambda path: [np.save(path.with_name(f"a-{x}.npy"), [[LARGE]]) for x in ("labels", "scores")],
        ),
    ],
)
def test_numbers_out_of_all_proportion(tmp_path, name, what, write, read):
    write(tmp_path / name)
    message = rf"The {what} numbers in .* must be 0, 1, 2, \.\.\. without large gaps\. Got {LARGE} with only \d entries"
    with pytest.raises(FileError, match=message):
        read(tmp_path / name)


def test_numbers_out_of_all_proportion_in_a_table_are_ids():
    table = pyarrow.table({"instance": [0, LARGE], "label": [0, 1], "probability": [0.5, 0.5]})
    candidates = tw.Candidates.of(table)
    assert candidates.shape == (2, 2)
    assert list(candidates.instance_ids) == [0, LARGE]


@pytest.mark.parametrize("large", [LARGE, 10**12, -1])
def test_numbers_out_of_all_proportion_in_a_parquet_file_are_ids(tmp_path, large):
    parquet(tmp_path / "a.parquet", instance=[0, large], label=[large, 1])
    contents = load_contents(tmp_path / "a.parquet")
    assert contents.matrix.toarray().tolist() == [[1, 0], [0, 1]]
    assert list(contents.instance_names) == [0, large]
    assert list(contents.label_names) == [large, 1]
    with pytest.raises(FileError, match=rf"one kind in the column instance to be read in blocks\. Got {large}\. Read"):
        list(read_blocks(tmp_path / "a.parquet"))


def test_gaps_that_are_in_proportion(tmp_path):
    parquet(tmp_path / "a.parquet", instance=[0, 999_999], label=[0, 999_999])
    assert load(tmp_path / "a.parquet").shape == (1_000_000, 1_000_000)


# Notes and columns of Parquet

NESTED = "[" * 100_000
SHAPES = [
    "[1e999, 3]",
    '["2", "3"]',
    "[2.5, 3.5]",
    f"[{10**30}, 3]",
    NESTED,
    "[true, 3]",
    "[2]",
    "null",
    "[-2, 3]",
    "{}",
]


@pytest.mark.parametrize("read", [load, lambda path: list(read_blocks(path))], ids=["load", "blocks"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda text: text[:12])
def test_odd_notes(tmp_path, shape, read):
    notes = f'{{"shape": {shape}, "instances": null, "labels": null, "titles": null}}'
    table = pyarrow.table({"instance": [0, 1], "label": [0, 1]}).replace_schema_metadata({b"tailwise": notes.encode()})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(FileError, match=r"must have valid tailwise metadata\. It is damaged"):
        read(tmp_path / "a.parquet")


@pytest.mark.parametrize("key", ["instances", "labels", "titles"])
@pytest.mark.parametrize("names", [["a"], [1, "b"], "ab", {"a": 1, "b": 2}, ["a", "\ud800"]], ids=ascii)
def test_odd_names_in_notes(tmp_path, key, names):
    notes = {"shape": [2, 2], "instances": None, "labels": None, "titles": None, key: names}
    table = pyarrow.table({"instance": [0, 1], "label": [0, 1]})
    table = table.replace_schema_metadata({b"tailwise": json.dumps(notes).encode()})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(FileError, match="It is damaged"):
        load(tmp_path / "a.parquet")


@pytest.mark.parametrize("read", [load, lambda path: list(read_blocks(path))], ids=["load", "blocks"])
@pytest.mark.parametrize("name", ["instance", "label", "probability", "rank"])
def test_a_column_that_is_there_twice(tmp_path, name, read):
    names = ["instance", "label", "probability", "rank", name]
    table = pyarrow.Table.from_arrays([pyarrow.array([0, 1])] * 5, names=names)
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(FileError, match=rf"must have unique column names\. Got {name} twice\. Drop or rename"):
        read(tmp_path / "a.parquet")


# Records, priors and paths


def test_a_lock_file_that_is_nested_too_deeply(tmp_path):
    (tmp_path / LOCK).write_text(NESTED)
    with pytest.raises(FileError, match=r"must be a lock file that tailwise wrote\. It is damaged"):
        read_lock(tmp_path)


@pytest.mark.parametrize("field", [8, 6], ids=["compression", "flags"])
def test_priors_whose_list_of_contents_is_damaged(tmp_path, field):
    save_priors(tmp_path / "priors.npz", tw.LabelPriors([3, 1], n_instances=4))
    content = bytearray((tmp_path / "priors.npz").read_bytes())
    entry = content.index(b"PK\x01\x02")
    content[entry + field + 2] ^= 0x41
    (tmp_path / "priors.npz").write_bytes(content)
    with pytest.raises(FileError, match=r"priors\.npz must hold the label counts"):
        load_priors(tmp_path / "priors.npz")
    with pytest.raises(TailwiseError):
        tw.select(sp.csr_array(MATRIX[:, :2]), "ps-precision", 1, priors=tmp_path / "priors.npz")


@pytest.mark.parametrize(
    "use", [load, load_label_names, load_filter, load_priors, tw.LabelTree.load, tw.Calibrator.load]
)
def test_a_path_with_nul_is_refused_by_readers(use):
    with pytest.raises(FileError, match=r"not contain the NUL character\. Got 'a\\x00b.*'\. Remove it"):
        use("a\0b.txt")


@pytest.mark.parametrize("name", ["a\0b.npz", "\0", "a/\0/b.npz"])
def test_a_path_with_nul_is_refused_by_writers(name):
    with pytest.raises(FileError, match="not contain the NUL character"):
        save(name, MATRIX, format="npz")
