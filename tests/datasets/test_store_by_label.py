"""The candidates of a store by label: the transpose, made in parts, refused if damaged, and used where there is one."""

import errno
import json
import os
import zlib
from itertools import pairwise

import numba
import numpy as np
import pytest
import scipy.sparse as sp

import tailwise as tw
from tailwise.cli.main import main
from tailwise.datasets import convert, zipf_candidates
from tailwise.datasets.formats import store_by_label, stored_arrays
from tailwise.engines import Threads
from tailwise.errors import FileError, InputError, MachineError
from tailwise.inputs import candidates, excluded_pairs, matrices, scratch, top_candidates
from tailwise.inputs.label_names import LabelNames
from tailwise.selection import label_moves
from tailwise.selection.problem import Request
from tailwise.selection.resolve import resolve

FILES = ["by-label-instances.npy", "by-label-pointers.npy", "by-label-positions.npy", "by-label-probabilities.npy"]


@pytest.fixture(scope="module")
def matrix():
    return zipf_candidates(120, 30, 9, seed=4).astype(np.float32)


@pytest.fixture
def source(tmp_path, matrix):
    tw.save(tmp_path / "a.npz", matrix)
    return tmp_path / "a.npz"


@pytest.fixture
def store(tmp_path, source):
    convert(source, tmp_path / "b.store", by_label=True)
    return tmp_path / "b.store"


def check_columns(columns, matrix):
    """Compare with plain loops over the rows."""
    pointers, *arrays = columns
    found = [
        list(zip(*(array[first:last].tolist() for array in arrays), strict=True)) for first, last in pairwise(pointers)
    ]
    wanted = [[] for _ in range(matrix.shape[1])]
    for i, (first, last) in enumerate(pairwise(matrix.indptr)):
        for x in range(first, last):
            wanted[matrix.indices[x]].append((i, x - first, float(matrix.data[x])))
    assert found[: len(wanted)] == wanted
    assert not any(found[len(wanted) :])


@pytest.mark.parametrize("at_once", [7, 1 << 25], ids=["parts", "whole"])
def test_it_is_the_transpose(tmp_path, source, matrix, monkeypatch, at_once):
    monkeypatch.setattr(matrices, "ENTRIES_AT_ONCE", at_once)
    monkeypatch.setattr(candidates, "ENTRIES_AT_ONCE", at_once)
    convert(source, tmp_path / "b.store", by_label=True)
    check_columns([np.load(tmp_path / "b.store" / name) for name in store_by_label.BY_LABEL], matrix)
    assert np.load(tmp_path / "b.store" / "by-label-positions.npy").dtype == np.uint16
    assert tw.open_store(tmp_path / "b.store").is_by_label


def test_long_rows_have_wide_positions():
    rows = tw.Candidates(np.array([0, 70_000]), np.arange(70_000, dtype=np.int32), np.full(70_000, 0.5), 70_000).rows
    assert matrices.position_type(rows) is np.int32


def test_it_is_mapped_where_it_is_needed(store, matrix, monkeypatch):
    def refuse(*_):
        msg = "made again"
        raise AssertionError(msg)

    monkeypatch.setattr(candidates, "make_columns", refuse)
    found = tw.Candidates.of(store).with_names(LabelNames([f"l{j}" for j in range(33)]))
    columns = found.columns(Threads(1))
    assert scratch.is_mapped(columns.instances)
    check_columns(columns, matrix)
    assert columns.indptr.size == 34


def select_all(source):
    yield tw.select(source, "macro-f1", 3, method="global").labels
    yield tw.select(source, "macro-f1", 3, method="global", expectation="semi", certify=True).labels
    yield tw.select(source, "macro-f1", None).labels
    yield tw.select(source, "coverage", 3, init="random").labels
    yield np.array(tw.certify(source, "macro-f1", 3, np.zeros((120, 1), int), rounds=5).history)


@pytest.mark.parametrize("by_label", [True, False], ids=["with it", "without it"])
def test_methods_need_no_memory_for_all_candidates(tmp_path, source, matrix, monkeypatch, by_label):
    convert(source, tmp_path / "c.store", by_label=by_label)
    monkeypatch.setattr(candidates, "MOST_WIDENED", 0)
    plain = [each.tobytes() for each in select_all(matrix)]
    monkeypatch.setattr(scratch, "LEAST_MAPPED", 1)
    assert [each.tobytes() for each in select_all(tmp_path / "c.store")] == plain


@pytest.mark.parametrize("at_once", [20, 1 << 22], ids=["blocks", "whole"])
def test_top_and_excluded_pairs_need_no_memory_for_all_candidates(source, store, matrix, monkeypatch, at_once):
    for module in (top_candidates, excluded_pairs):
        monkeypatch.setattr(module, "ENTRIES_IN_BLOCK", at_once)
    pairs = sp.csr_array(np.random.default_rng(0).random(matrix.shape) < 0.3)
    wanted = [tw.Candidates.of(matrix, top=4)]
    wanted.append(excluded_pairs.set_aside(wanted[0], excluded_pairs.read_excluded(pairs, wanted[0])))
    monkeypatch.setattr(scratch, "LEAST_MAPPED", 1)
    found = [tw.Candidates.of(store, top=4)]
    found.append(excluded_pairs.set_aside(found[0], excluded_pairs.read_excluded(pairs, found[0])))
    for ours, theirs in zip(found, wanted, strict=True):
        assert scratch.is_mapped(ours.rows.labels)
        assert scratch.is_mapped(ours.rows.values)
        assert all(np.array_equal(*both) for both in zip(ours.rows, theirs.rows, strict=True))
    for i, row in enumerate(matrix.toarray()):
        top = np.argsort(-row, kind="stable")[: min(4, np.count_nonzero(row))]
        first, last = wanted[0].rows.indptr[i : i + 2]
        assert wanted[0].rows.labels[first:last].tolist() == sorted(top.tolist())
        first, last = wanted[1].rows.indptr[i : i + 2]
        assert wanted[1].rows.labels[first:last].tolist() == [j for j in sorted(top.tolist()) if not pairs[i, j]]
    assert wanted[1].n_entries == wanted[0].n_entries


def test_command_with_top_and_excluded_pairs(source, store, matrix, tmp_path, monkeypatch):
    monkeypatch.setattr(scratch, "LEAST_MAPPED", 1)
    sp.save_npz(tmp_path / "seen.npz", sp.csr_matrix(matrix > 0.4).astype(np.float32))
    for kind, path in (("npz", source), ("store", store)):
        command = ["select", str(path), "-u", "macro-f1", "-k", "2", "--top", "5", "--quiet"]
        exclude = ["--exclude", str(tmp_path / "seen.npz"), "-o", str(tmp_path / f"{kind}.npz")]
        assert main([*command, *exclude]) == 0
    assert (tmp_path / "npz.npz").read_bytes() == (tmp_path / "store.npz").read_bytes()


def test_compiling_ahead_takes_no_space_on_disk(store, monkeypatch):
    """The types of the arguments are learned without temporary files, and are those of real calls."""
    asked, reserved, reserve = [], [], scratch._reserve
    monkeypatch.setattr(label_moves, "_is_first_call", lambda: True)
    monkeypatch.setattr(label_moves, "compile_ahead", lambda *calls: asked.extend(calls))
    monkeypatch.setattr(scratch, "_reserve", lambda file, size: reserved.append(size) or reserve(file, size))
    monkeypatch.setattr(scratch, "LEAST_MAPPED", 1)
    monkeypatch.setattr(candidates, "MOST_WIDENED", 0)
    label_moves.compile_label_moves(resolve(Request(store, "macro-f1", 3, method="global", expectation="semi")))
    assert reserved == []
    tw.select(store, "macro-f1", 3, method="global", expectation="semi", certify=True)
    assert reserved != []
    assert {kernel.__name__ for kernel, _ in asked} > {"propose_labels", "settle_labels", "bound_part"}
    for kernel, arguments in asked:
        assert tuple(map(numba.typeof, arguments)) in kernel.signatures


def test_old_stores_have_none(tmp_path, source):
    convert(source, tmp_path / "c.store")
    assert not tw.open_store(tmp_path / "c.store").is_by_label
    assert not any((tmp_path / "c.store" / name).exists() for name in FILES)


def test_converting_a_store_adds_it(tmp_path, source, matrix, capsys):
    convert(source, tmp_path / "c.store")
    assert main(["convert", str(tmp_path / "c.store"), str(tmp_path / "d.store"), "--by-label", "--quiet"]) == 0
    assert tw.open_store(tmp_path / "d.store").is_by_label
    assert main(["convert", str(tmp_path / "c.store"), str(tmp_path / "d.npz"), "--by-label"]) == 2
    assert "--by-label needs a store as output" in capsys.readouterr().err
    with pytest.raises(InputError, match="needs a store as output"):
        convert(source, tmp_path / "e.csv", by_label=True)


# Damage


def refused(store, words):
    with pytest.raises(FileError, match=words):
        tw.open_store(store)


def edit(store, change):
    header = json.loads((store / "store.json").read_text())
    header.pop("checksum")
    change(header["files"])
    checksum = zlib.crc32(json.dumps(header, sort_keys=True).encode())
    (store / "store.json").write_text(json.dumps({**header, "checksum": checksum}))


@pytest.mark.parametrize("name", FILES)
def test_header_that_lacks_one_file(store, name):
    edit(store, lambda files: files.pop(name))
    refused(store, f"its sizes disagree with what it says of {name}")


@pytest.mark.parametrize(("key", "value"), [("size", 5), ("dtype", "|u1")])
@pytest.mark.parametrize("name", FILES)
def test_header_that_disagrees(store, name, key, value):
    edit(store, lambda files: files[name].update({key: value}))
    refused(store, f"its sizes disagree with what it says of {name}")


@pytest.mark.parametrize("name", FILES)
def test_array_that_was_cut_short(store, name):
    with open(store / name, "r+b") as file:
        file.truncate(os.path.getsize(store / name) - 2)
    refused(store, f"{name} must be a whole .npy file. It is damaged or was cut short")


@pytest.mark.parametrize("name", FILES)
def test_array_that_is_missing(store, name):
    (store / name).unlink()
    refused(store, f"{name} must exist: the header of the store lists it")


@pytest.mark.parametrize("name", FILES[:1] + FILES[2:])
def test_changed_byte(store, name):
    data = bytearray((store / name).read_bytes())
    data[-1] ^= 1
    (store / name).write_bytes(data)
    refused(store, f"{name} must have the checksums in the header of the store")


def test_pointers_that_fall(store):
    pointers = np.load(store / "by-label-pointers.npy")
    pointers[3] = pointers[-1] + 1
    np.save(store / "by-label-pointers.npy", pointers)
    refused(store, "by-label-pointers.npy must ascend from 0 to")


def test_full_disk_leaves_nothing(tmp_path, source, monkeypatch):
    append = stored_arrays.ArrayWriter.append

    def fail(self, values):
        if values.dtype == np.uint16:
            raise OSError(errno.ENOSPC, "No space left on device")
        append(self, values)

    monkeypatch.setattr(stored_arrays.ArrayWriter, "append", fail)
    with pytest.raises(FileError, match=r"out.store could not be written: No space left on device"):
        convert(source, tmp_path / "out.store", by_label=True)
    assert [each.name for each in tmp_path.iterdir()] == ["a.npz"]


# Temporary files


@pytest.fixture
def mapped(store):
    return np.load(store / "labels.npy", mmap_mode="r")


@pytest.mark.parametrize("can_reserve", [True, False])
def test_scratch_is_a_file_where_candidates_are(mapped, monkeypatch, can_reserve):
    monkeypatch.setattr(scratch, "LEAST_MAPPED", 1)
    monkeypatch.setattr(scratch, "BLOCK", 7)
    if not can_reserve:
        monkeypatch.delattr(os, "posix_fallocate", raising=False)
    found = scratch.make_scratch(50, np.uint16, mapped)
    assert scratch.is_mapped(found[3:])
    assert found.shape == (50,)
    assert not found.any()
    found[49] = 7
    assert not scratch.is_mapped(scratch.make_scratch(50, np.uint16, np.array(mapped)))


def test_no_space_for_scratch(mapped, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(scratch, "LEAST_MAPPED", 1)
    monkeypatch.setattr(scratch, "_reserve", fail)
    with pytest.raises(MachineError, match=r"need a temporary file of 0.0 GB.*No space left.*Set TMPDIR"):
        scratch.make_scratch(50, np.uint16, mapped)
