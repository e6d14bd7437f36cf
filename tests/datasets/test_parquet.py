"""Parquet in long form from anybody: the same whole and in blocks; what is broken or of the wrong kind is refused."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import tailwise as tw
from tailwise.cli.main import main
from tailwise.datasets import load_contents, read_blocks
from tailwise.errors import FileError, InputError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def write(path, notes=None, **columns):
    table = pa.table(columns)
    pq.write_table(table if notes is None else table.replace_schema_metadata({"tailwise": notes}), path)


def blocks_as_one(path, monkeypatch, batch):
    monkeypatch.setattr("tailwise.datasets.formats.parquet.BATCH", batch)
    blocks = list(read_blocks(path))
    width = blocks[-1].matrix.shape[1]
    for block in blocks:
        block.matrix.resize(block.matrix.shape[0], width)
    return blocks, np.vstack([block.matrix.toarray() for block in blocks])


@pytest.mark.parametrize("batch", [1, 2, 3, 100])
@pytest.mark.parametrize("is_category", [False, True])
def test_names_keep_their_numbers_from_block_to_block(tmp_path, monkeypatch, batch, is_category):
    labels = pa.array(["b", "a", "c", "d", "e", "a"])
    write(
        tmp_path / "a.parquet",
        instance=["x", "x", "y", "y", "z", "z"],
        label=labels.dictionary_encode() if is_category else labels,
        probability=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
    )
    whole = load_contents(tmp_path / "a.parquet")
    assert whole.label_names.ids == ("b", "a", "c", "d", "e")
    blocks, together = blocks_as_one(tmp_path / "a.parquet", monkeypatch, batch)
    np.testing.assert_array_equal(together, whole.matrix.toarray())
    assert blocks[-1].label_names == whole.label_names
    assert sum((tuple(block.instance_names) for block in blocks), ()) == ("x", "y", "z")


@pytest.mark.parametrize("batch", [1, 100])
def test_instances_without_entries_are_there(tmp_path, monkeypatch, batch):
    matrix = sp.csr_array(([0.5, 0.25], ([1, 3], [0, 2])), shape=(6, 4))
    for names in (None, list("fedcba")):
        tw.save(tmp_path / "a.parquet", matrix, instance_names=names)
        _, together = blocks_as_one(tmp_path / "a.parquet", monkeypatch, batch)
        np.testing.assert_array_equal(together, matrix.toarray())


def test_a_matrix_without_entries(tmp_path, monkeypatch):
    tw.save(tmp_path / "a.parquet", sp.csr_array((3, 4)))
    assert tw.load(tmp_path / "a.parquet").shape == (3, 4)
    blocks, _ = blocks_as_one(tmp_path / "a.parquet", monkeypatch, 10)
    assert [block.matrix.shape for block in blocks] == [(3, 4)]


def test_a_file_without_lines(tmp_path):
    write(tmp_path / "a.parquet", instance=pa.array([], "int64"), label=pa.array([], "int64"))
    for read in (tw.load, lambda path: list(read_blocks(path))):
        with pytest.raises(FileError, match="must hold at least one instance"):
            read(tmp_path / "a.parquet")


def test_instances_that_come_back_cannot_be_read_in_blocks(tmp_path, monkeypatch):
    write(tmp_path / "a.parquet", instance=["x", "y", "x"], label=[0, 1, 2])
    monkeypatch.setattr("tailwise.datasets.formats.parquet.BATCH", 2)
    with pytest.raises(FileError, match=r"must be sorted by instance to be read in blocks. It is not. Sort it"):
        list(read_blocks(tmp_path / "a.parquet"))
    assert tw.load(tmp_path / "a.parquet").toarray().tolist() == [[1, 0, 1], [0, 1, 0]]


def test_instances_of_one_name_are_not_written(tmp_path):
    with pytest.raises(
        InputError, match=r"instance_names must be unique in a Parquet file\. Got 'a' twice\. Rename it"
    ):
        tw.save(tmp_path / "a.parquet", np.eye(3), instance_names=["a", "b", "a"])


WRONG = {
    "float label": ({"label": [1.0, 2.0]}, "integers or text in the column label. Got double"),
    "bool label": ({"label": [True, False]}, "integers or text in the column label. Got bool"),
    "bytes": ({"instance": [b"a", b"b"]}, "integers or text in the column instance. Got binary"),
    "missing label": ({"label": ["a", None]}, "a value in every row of the column label. Got 1 missing values"),
    "text rank": ({"rank": ["1", "2"]}, "a number in every row of the column rank"),
    "missing rank": ({"rank": [1, None]}, "a number in every row of the column rank"),
    "equal ranks": ({"instance": ["x", "x"], "rank": [1, 1]}, "Instance 'x' has a tie"),
    "twice": (
        {"instance": ["x", "x"], "label": ["a", "a"], "score": [0.5, 0.25]},
        "Instance 'x' holds label 'a' twice",
    ),
}


@pytest.mark.parametrize(("columns", "message"), WRONG.values(), ids=WRONG)
def test_columns_of_the_wrong_kind(tmp_path, columns, message):
    write(tmp_path / "a.parquet", **{"instance": [0, 1], "label": [0, 1], **columns})
    with pytest.raises(FileError, match=message):
        tw.load(tmp_path / "a.parquet")


GOOD = {"shape": [2, 2], "instances": None, "labels": None, "titles": None}


@pytest.mark.parametrize(
    "notes",
    ["{", "[]", "3", json.dumps({**GOOD, "shape": 5}), json.dumps({**GOOD, "labels": ["a"]}),
     json.dumps({**GOOD, "labels": [1, "b"]}), json.dumps({"shape": [2, 2]})],
)  # fmt: skip
def test_broken_notes(tmp_path, notes):
    write(tmp_path / "a.parquet", notes, instance=[0, 1], label=[0, 1])
    with pytest.raises(FileError, match=r"must have valid tailwise metadata. It is damaged"):
        tw.load(tmp_path / "a.parquet")


def test_damaged_files_are_named(tmp_path, capsys):
    write(tmp_path / "a.parquet", instance=[0, 1], label=[0, 1], probability=[0.5, 0.2])
    whole = (tmp_path / "a.parquet").read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(60):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= int(rng.integers(1, 256))
        (tmp_path / "b.parquet").write_bytes(bytes(damaged[: rng.integers(4, len(whole) + 1)]))
        words = ["select", str(tmp_path / "b.parquet"), "-u", "macro-f1", "-k", "1", "--overwrite"]
        code = main([*words, "-o", str(tmp_path / "out.npz")])
        error = capsys.readouterr().err
        assert code == 0 or (code == 2 and ("b.parquet" in error or "probabilities" in error))


def test_integer_ids_come_back_as_integers(tmp_path):
    matrix = np.array([[0.5, 0.0, 0.25], [0.0, 0.0, 1.0]])
    tw.save(tmp_path / "a.parquet", matrix, label_names=[10**12, 7, -3], instance_names=[2**40, 5])
    found = load_contents(tmp_path / "a.parquet")
    assert found.label_names.ids == (10**12, 7, -3)
    assert list(found.instance_names) == [2**40, 5]
    assert np.array_equal(found.matrix.toarray(), matrix)
    table = pq.read_table(tmp_path / "a.parquet")
    assert table["instance"].to_pylist() == [2**40, 2**40, 5]
    strange = table.set_column(0, "instance", pa.array([1, 2, 3])).replace_schema_metadata(table.schema.metadata)
    pq.write_table(strange, tmp_path / "b.parquet")
    with pytest.raises(FileError, match=r"must only use instances listed in its metadata\. Got 1\. Write it again"):
        load_contents(tmp_path / "b.parquet")


@pytest.mark.parametrize("largest", [2**64 - 1, 2**63 - 1])
def test_integer_ids_of_64_bits_come_back_as_they_came(tmp_path, largest):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    ids = arrow.array([largest, 7, largest], arrow.uint64() if largest >= 2**63 else arrow.int64())
    table = arrow.table({"user_id": ids, "item_id": ids.take(arrow.array([0, 1, 1])), "score": [0.5, 0.25, 0.75]})
    parquet.write_table(table, tmp_path / "a.parquet")
    found = load_contents(tmp_path / "a.parquet")
    assert list(found.instance_names) == list(found.label_names) == [largest, 7]
    tw.select(tmp_path / "a.parquet", "precision", k=1).save(tmp_path / "b.parquet")
    assert list(load_contents(tmp_path / "b.parquet").instance_names) == [largest, 7]


def test_row_groups_are_read_in_order_whatever_their_size(tmp_path, monkeypatch):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows, labels = np.divmod(np.random.default_rng(0).permutation(400), 20)
    table = arrow.table({"user": [f"u{i}" for i in rows], "item": [f"i{j}" for j in labels], "score": rows / 20})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=30)
    monkeypatch.setattr("tailwise.datasets.formats.parquet.BATCH", 70)
    found = load_contents(tmp_path / "a.parquet")
    assert list(found.instance_names) == list(dict.fromkeys(f"u{i}" for i in rows))
    assert list(found.label_names) == list(dict.fromkeys(f"i{j}" for j in labels))
    for i, name in enumerate(found.instance_names):
        np.testing.assert_allclose(found.matrix[[i]].toarray(), int(name[1:]) / 20)
    monkeypatch.setattr("tailwise.datasets.formats.parquet.MOST_ROWS", 29)
    in_order = load_contents(tmp_path / "a.parquet")
    assert in_order.instance_names == found.instance_names
    assert (in_order.matrix != found.matrix).nnz == 0


def test_a_damaged_row_group_is_refused(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = arrow.table({"user": [f"u{i}" for i in range(60)], "item": ["a"] * 60, "score": [0.5] * 60})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=20, write_page_checksum=True, compression="none")
    content = bytearray((tmp_path / "a.parquet").read_bytes())
    content[content.index(b"u45") + 1] ^= 1
    (tmp_path / "a.parquet").write_bytes(content)
    with pytest.raises(FileError, match="must be a complete and valid Parquet file"):
        load_contents(tmp_path / "a.parquet")


@pytest.mark.parametrize("limit", [10, 1 << 20])
def test_texts_are_read_alike_as_a_dictionary_and_as_they_are(tmp_path, monkeypatch, limit):
    labels = [f"https://example.org/item/{number:06d}" for number in range(200)]
    table = pa.table({"user": np.repeat(["ann", "bob"], 100), "item": labels, "score": np.linspace(0, 1, 200)})
    pq.write_table(table, tmp_path / "a.parquet", dictionary_pagesize_limit=limit)
    monkeypatch.setattr("tailwise.datasets.formats.parquet.LARGEST_DICTIONARY", 8000)
    found = load_contents(tmp_path / "a.parquet")
    assert (list(found.instance_names), list(found.label_names)) == (["ann", "bob"], labels)
    expected = np.zeros((2, 200))
    expected[np.repeat([0, 1], 100), np.arange(200)] = np.linspace(0, 1, 200)
    np.testing.assert_array_equal(found.matrix.toarray(), expected)


def test_integers_in_one_part_and_text_in_another_are_all_text(tmp_path):
    write(tmp_path / "1.parquet", user_id=[10**12, 7], item_id=["a", "b"], score=[0.5, 0.25])
    write(tmp_path / "2.parquet", user_id=["ann", "7"], item_id=["b", "a"], score=[0.75, 1.0])
    found = load_contents(tmp_path)
    assert list(found.instance_names) == ["1000000000000", "7", "ann"]
    np.testing.assert_array_equal(found.matrix.toarray(), [[0.5, 0], [1, 0.25], [0, 0.75]])
