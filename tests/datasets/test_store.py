"""The store: what goes in comes out, from every format; and everything that is wrong with one is refused."""

import errno
import json
import subprocess
import sys
import zlib

import numpy as np
import pytest
import scipy.sparse as sp

import tailwise as tw
from tailwise.cli.main import main
from tailwise.datasets import convert, load_contents, read_blocks
from tailwise.datasets.formats import npz, store_files, stored_arrays
from tailwise.errors import FileError, InputError


@pytest.fixture
def matrix():
    rng = np.random.default_rng(3)
    found = sp.random_array((40, 12), density=0.4, random_state=rng, dtype=np.float32, format="csr")
    found.sort_indices()
    return found


@pytest.fixture
def store(tmp_path, matrix):
    path = tmp_path / "batch.store"
    tw.save(path, matrix, instance_names=[f"row {i}" for i in range(40)], label_names=[f"é{j}" for j in range(12)])
    return path


def same(first, second):
    return first.shape == second.shape and (first != second).nnz == 0


def edit(store, **changes):
    """Change what the header says, and its checksum with it."""
    header = {**json.loads((store / "store.json").read_text()), **changes}
    header.pop("checksum")
    checksum = zlib.crc32(json.dumps(header, sort_keys=True).encode())
    (store / "store.json").write_text(json.dumps({**header, "checksum": checksum}))


def test_what_goes_in_comes_out(store, matrix):
    contents = load_contents(store)
    assert same(contents.matrix, matrix)
    assert contents.instance_names[39] == "row 39"
    assert contents.label_names.ids[11] == "é11"
    assert not contents.is_open
    assert np.load(store / "pointers.npy").dtype == np.int64
    assert np.load(store / "labels.npy").dtype == np.int32
    assert np.load(store / "probabilities.npy").dtype == np.float32


def test_arrays_stay_on_disk(store):
    data = tw.Candidates.of(store).rows.values
    while data.base is not None and not isinstance(data, np.memmap):
        data = data.base
    assert isinstance(data, np.memmap)


def test_store_is_a_path_for_every_function(store, matrix):
    opened = tw.open_store(store)
    assert opened.shape == (40, 12)
    assert repr(opened).endswith("40 instances, 12 labels, " + f"{matrix.nnz} entries)")
    selection, plain = tw.select(opened, "macro-f1", k=2), tw.select(matrix, "macro-f1", k=2)
    assert (selection.labels == plain.labels).all()
    assert tw.expected_utility(opened, "macro-f1", selection, k=2) == tw.expected_utility(
        matrix, "macro-f1", plain, k=2
    )
    assert tw.certify(opened, "macro-f1", 2, selection=selection).gap >= 0


@pytest.mark.parametrize("name", ["a.npz", "a.parquet", "a.csv", "a.jsonl", "a.txt", "a.json", "a.smat.npz", "a.store"])
def test_convert_from_every_format(tmp_path, matrix, name, monkeypatch):
    monkeypatch.setattr(npz, "ENTRIES_AT_ONCE", 30)
    monkeypatch.setattr(store_files, "ENTRIES_AT_ONCE", 30)
    tw.save(tmp_path / name, matrix)
    assert convert(tmp_path / name, tmp_path / "out.store") == 40
    assert same(load_contents(tmp_path / "out.store", n_labels=12).matrix, matrix)


def test_convert_a_directory_of_parts(tmp_path, matrix):
    (tmp_path / "parts").mkdir()
    for part, rows in enumerate((slice(0, 25), slice(25, 40))):
        names = [f"row {i}" for i in range(40)][rows]
        tw.save(tmp_path / "parts" / f"part-{part}.parquet", matrix[rows], instance_names=names)
    assert main(["convert", str(tmp_path / "parts"), str(tmp_path / "out.store"), "--quiet"]) == 0
    contents = load_contents(tmp_path / "out.store", n_labels=12)
    assert same(contents.matrix, matrix)
    assert contents.instance_names[30] == "row 30"


def test_convert_what_is_not_sorted(tmp_path):
    (tmp_path / "a.csv").write_text("instance,label,probability\n1,0,0.5\n0,1,0.25\n1,1,0.75\n")
    assert convert(tmp_path / "a.csv", tmp_path / "out.store") == 2
    assert load_contents(tmp_path / "out.store").matrix.toarray().tolist() == [[0, 0.25], [0.5, 0.75]]


def test_convert_with_names_in_another_order(tmp_path):
    (tmp_path / "a.csv").write_text("user,item,score\nann,tea,0.5\nbob,jam,0.25\n")
    convert(tmp_path / "a.csv", tmp_path / "out.store", label_names=["jam", "tea", "milk"])
    contents = load_contents(tmp_path / "out.store")
    assert contents.matrix.toarray().tolist() == [[0, 0.5, 0], [0.25, 0, 0]]
    assert contents.label_names.ids == ("jam", "tea", "milk")


def test_integer_ids_and_titles(tmp_path, matrix):
    names = tw.datasets.LabelNames(list(range(100, 112)), [f"title {j}" for j in range(12)])
    tw.save(tmp_path / "a.store", matrix, label_names=names, instance_names=np.arange(40) * 10**12)
    contents = load_contents(tmp_path / "a.store")
    assert contents.label_names == names
    assert contents.instance_names[3] == 3 * 10**12


def test_blocks(store, matrix, monkeypatch):
    monkeypatch.setattr(store_files, "ENTRIES_AT_ONCE", 30)
    blocks = [block.matrix for block in read_blocks(store)]
    assert len(blocks) > 5
    assert same(sp.vstack(blocks, format="csr"), matrix)


def test_pieces_of_checksums(tmp_path, matrix, monkeypatch):
    monkeypatch.setattr(stored_arrays, "PIECE", 64)
    tw.save(tmp_path / "a.store", matrix)
    files = json.loads((tmp_path / "a.store" / "store.json").read_text())["files"]
    data = np.load(tmp_path / "a.store" / "labels.npy").tobytes()
    assert files["labels.npy"]["crc32"] == [zlib.crc32(data[at : at + 64]) for at in range(0, len(data), 64)]
    tw.open_store(tmp_path / "a.store")


# What is wrong with a store


def refused(store, match):
    for read in (tw.open_store, tw.load):
        with pytest.raises(FileError, match=match):
            read(store)


@pytest.mark.parametrize("name", ["labels.npy", "probabilities.npy", "pointers.npy"])
def test_truncated_array(store, name):
    data = (store / name).read_bytes()
    (store / name).write_bytes(data[:-5])
    refused(store, rf"{name} must be a whole \.npy file. It is damaged or was cut short")


def test_missing_array(store):
    (store / "labels.npy").unlink()
    refused(store, "labels.npy must exist: the header of the store lists it")


def test_header_disagrees_with_an_array(store):
    np.save(store / "labels.npy", np.zeros(3, np.int32))
    refused(store, "labels.npy must hold [0-9]+ numbers of type <i4.* Got 3 of type <i4")


def test_header_disagrees_with_itself(store):
    edit(store, n_instances=41)
    refused(store, "its sizes disagree with what it says of pointers.npy")


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"kind": "shoe shop"}, "does not say that this is a tailwise store"),
        ({"n_labels": "many"}, "does not state the sizes"),
        ({"n_instances": 40.0}, "does not state the sizes"),
        ({"n_labels": True}, "does not state the sizes"),
        ({"is_open": 0}, "does not state the sizes"),
        ({"files": []}, "does not describe the arrays"),
        ({"files": {"labels.npy": 3}}, "does not describe the arrays"),
        ({"files": {"../labels.npy": {"dtype": "<i4", "size": 0, "crc32": []}}}, "does not describe the arrays"),
        ({"version": 2}, "must be a store of version 1. Got version 2. Use the version of tailwise that wrote it"),
    ],
)
def test_damaged_header(store, changes, match):
    edit(store, **changes)
    refused(store, match)


@pytest.mark.parametrize(
    "change", [{"crc32": []}, {"crc32": [1, 2]}, {"crc32": ["1"]}, {"crc32": 1}, {"size": "3"}, {"dtype": "|O"}]
)
def test_header_that_describes_an_array_wrongly(store, change):
    files = json.loads((store / "store.json").read_text())["files"]
    files["probabilities.npy"].update(change)
    edit(store, files=files)
    refused(store, "does not describe the arrays")


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ('"n_labels": 12', '"n_labels": 14'),
        ('"is_open": false', '"is_open": true'),
        ('"size": 41', '"size": 42'),
        ('"dtype": "<f4"', '"dtype": "<i4"'),
    ],
)
def test_header_that_was_changed(store, word, other):
    text = (store / "store.json").read_text()
    assert word in text
    (store / "store.json").write_text(text.replace(word, other))
    refused(store, "its checksum differs, so that it was changed or is damaged")


def test_header_without_a_checksum(store):
    header = json.loads((store / "store.json").read_text())
    header.pop("checksum")
    (store / "store.json").write_text(json.dumps(header))
    refused(store, "its checksum differs, so that it was changed or is damaged")


def test_header_that_is_no_json(store):
    (store / "store.json").write_text("{")
    refused(store, r"store.json must be the header of a store. It is damaged: it is not valid JSON")


def test_pointers_that_end_elsewhere(store):
    pointers = np.load(store / "pointers.npy")
    pointers[-1] -= 1
    np.save(store / "pointers.npy", pointers)
    refused(store, "pointers.npy must run from 0 to")


def test_changed_byte(store):
    data = bytearray((store / "probabilities.npy").read_bytes())
    data[-1] ^= 1
    (store / "probabilities.npy").write_bytes(data)
    refused(store, "probabilities.npy must have the checksums in the header of the store")
    assert tw.open_store(store, verify=False).shape == (40, 12)


def test_unfinished_store(store):
    (store / "store.json").unlink()
    refused(store, "must be a finished store, with store.json")


def test_values_that_are_no_probabilities(tmp_path):
    (tmp_path / "a.txt").write_text("0:0.5\n1:7\n")
    with pytest.raises(FileError, match=r"instances 0 to 1: probabilities must lie in \[0, 1\]. Got 7"):
        convert(tmp_path / "a.txt", tmp_path / "out.store")
    assert not (tmp_path / "out.store").exists()


def test_ids_of_several_kinds(tmp_path, matrix):
    with pytest.raises(FileError, match=r"must have instance ids that are all integers or all text"):
        tw.save(tmp_path / "a.store", matrix, instance_names=["a", *range(39)])


def test_too_many_candidates(tmp_path, matrix, monkeypatch):
    monkeypatch.setattr(store_files, "MOST_ENTRIES", 10)
    with pytest.raises(FileError, match=r"must hold at most 10 candidates to become one store"):
        tw.save(tmp_path / "a.store", matrix)


def test_ids_for_some_instances(tmp_path, matrix):
    writer = store_files.StoreWriter(tmp_path, "here")
    first, second = (tw.datasets.Contents(matrix[:20], instance_names=names) for names in (None, range(20)))
    writer.append(first)
    with pytest.raises(FileError, match=r"here must name all instances or none"):
        writer.append(second)
    writer.abandon()


def test_ranking_is_refused(store):
    selection = tw.select(store, "macro-f1", k=2)
    with pytest.raises(InputError, match=r"cannot hold ranking"):
        selection.save(store.with_name("chosen.store"))


# Converting that fails


def test_full_disk_leaves_nothing(tmp_path, matrix, monkeypatch):
    tw.save(tmp_path / "a.npz", matrix)

    def fail(self, values):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(stored_arrays.ArrayWriter, "append", fail)
    with pytest.raises(FileError, match=r"out.store could not be written: No space left on device. The file system"):
        convert(tmp_path / "a.npz", tmp_path / "out.store")
    assert [each.name for each in tmp_path.iterdir()] == ["a.npz"]


def test_two_converters_at_one_place(tmp_path, matrix):
    tw.save(tmp_path / "a.npz", matrix)
    with store_files.claimed_folder(tmp_path / "out.store", store_files.store_folder()):
        with pytest.raises(FileError, match=r"The output must not be in use. Got .*out.store"):
            convert(tmp_path / "a.npz", tmp_path / "out.store")
        with pytest.raises(FileError, match=r"must be a finished store"):
            tw.open_store(tmp_path / "out.store")


KILLED = """
import os, sys
import tailwise as tw
from tailwise.datasets import convert
from tailwise.datasets.formats import store_files
write = store_files.StoreWriter.append
def killed(self, block):
    write(self, block)
    os.kill(os.getpid(), 9)
store_files.StoreWriter.append = killed
convert(sys.argv[1], sys.argv[2])
"""


def test_killed_converter_leaves_nothing_that_looks_finished(tmp_path, matrix):
    tw.save(tmp_path / "a.npz", matrix)
    ended = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "a.npz", tmp_path / "out.store"], check=False)
    assert ended.returncode == -9
    refused(tmp_path / "out.store", "must be a finished store")
    assert convert(tmp_path / "a.npz", tmp_path / "out.store") == 40
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.npz", "out.store"]


def test_command_does_not_replace_a_store(tmp_path, store, matrix, capsys):
    tw.save(tmp_path / "a.npz", matrix)
    assert main(["convert", str(tmp_path / "a.npz"), str(store)]) == 2
    assert "must not exist" in capsys.readouterr().err
    assert main(["convert", str(tmp_path / "a.npz"), str(store), "--overwrite", "--quiet"]) == 0
    assert load_contents(store).instance_names is None
    assert sorted(each.name for each in store.iterdir()) == [
        "labels.npy",
        "pointers.npy",
        "probabilities.npy",
        "store.json",
    ]


def test_npz_in_blocks_that_is_damaged(tmp_path, matrix, monkeypatch):
    monkeypatch.setattr(npz, "ENTRIES_AT_ONCE", 30)
    tw.save(tmp_path / "a.npz", matrix)
    data = bytearray((tmp_path / "a.npz").read_bytes())
    at = data.find(matrix.data.tobytes()[40:80])
    data[at + 3] ^= 64
    (tmp_path / "a.npz").write_bytes(data)
    with pytest.raises(FileError, match=r"a.npz must be a complete and valid .npz file"):
        convert(tmp_path / "a.npz", tmp_path / "out.store")


@pytest.mark.parametrize(("n_labels", "words"), [(3, "it says 3 labels, but"), (2**40, "more than numbers of labels")])
def test_header_with_another_number_of_labels_is_refused(store, n_labels, words):
    edit(store, n_labels=n_labels)
    with pytest.raises(FileError, match=words):
        tw.select(store, "macro-f1", k=2)
