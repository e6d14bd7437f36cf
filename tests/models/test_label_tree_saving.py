"""Saved label trees: the same answers, from mapped memory, and clear words about files that are none."""

import json
import os
import zlib

import numpy as np
import pytest
import scipy.sparse as sp
from reference import label_tree as reference

import tailwise as tw
from tailwise.errors import FileError
from tailwise.models.model_file import MAGIC, PREFIX, START, VERSION

FEATURES, TRUTH = reference.random_data(13, n=50, m=15)
MODELS = {
    "one tree": {"arity": 3, "leaf_size": 4},
    "several trees": {"arity": 3, "leaf_size": 4, "n_trees": 3, "loss": "squared-hinge", "C": 2.5},
    "a given tree": {"tree": np.array([*[15] * 15, -1])},
    "numpy parameters": {"arity": np.int64(3), "C": np.float32(2), "random_state": np.random.RandomState(0)},
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.tree"


@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
def test_the_same_answers(path, options):
    model = tw.LabelTree(**options).fit(FEATURES, TRUTH)
    model.save(path)
    loaded = tw.LabelTree.load(path)
    for before, after in zip(model.search(FEATURES, 5), loaded.search(FEATURES, 5), strict=True):
        assert before.tobytes() == after.tobytes()
    chosen, again = (each.select(FEATURES, "macro-recall", 2).labels for each in (model, loaded))
    np.testing.assert_array_equal(chosen, again)
    assert loaded.predict(FEATURES, k=2).dtype == model.predict(FEATURES, k=2).dtype
    assert loaded.get_params().keys() == model.get_params().keys()
    assert loaded.C == model.C
    assert loaded.priors_ == model.priors_


def test_sparse_stays_sparse(path):
    tw.LabelTree().fit(FEATURES, sp.csr_array(TRUTH)).save(path)
    assert sp.issparse(tw.LabelTree.load(path).predict(FEATURES))


def test_names_of_features_are_kept(path):
    import pandas as pd

    table = pd.DataFrame(FEATURES, columns=[f"word {f}" for f in range(12)])
    tw.LabelTree().fit(table, TRUTH).save(path)
    loaded = tw.LabelTree.load(path)
    assert loaded.feature_names_in_.tolist() == list(table.columns)
    loaded.predict_proba(table)


def test_weights_are_mapped(path):
    tw.LabelTree().fit(FEATURES, TRUTH).save(path)
    weights = tw.LabelTree.load(path).trees_[0].weights
    assert not weights.values.flags.owndata
    assert not weights.slots.flags.owndata


def test_the_same_model_gives_the_same_file(path, tmp_path):
    model = tw.LabelTree(n_trees=2).fit(FEATURES, TRUTH)
    model.save(path)
    model.save(tmp_path / "other")
    assert path.read_bytes() == (tmp_path / "other").read_bytes()
    tw.LabelTree.load(path).save(tmp_path / "third")
    assert path.read_bytes() == (tmp_path / "third").read_bytes()


def test_a_file_may_be_replaced_while_it_is_in_use(path):
    tw.LabelTree().fit(FEATURES, TRUTH).save(path)
    first = tw.LabelTree.load(path)
    expected = first.predict_proba(FEATURES).toarray()
    tw.LabelTree(C=0.01).fit(FEATURES, TRUTH).save(path)
    np.testing.assert_array_equal(first.predict_proba(FEATURES).toarray(), expected)


def test_nothing_is_left_beside(path):
    tw.LabelTree().fit(FEATURES, TRUTH).save(path)
    assert os.listdir(path.parent) == [path.name]


# Files that are none


@pytest.fixture
def whole(path):
    tw.LabelTree(arity=3, leaf_size=4).fit(FEATURES, TRUTH).save(path)
    return path.read_bytes()


def refusal(path, content):
    path.write_bytes(content)
    with pytest.raises(FileError) as caught:
        tw.LabelTree.load(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_truncated_files(path, whole):
    for size in {0, 1, len(MAGIC), START - 1, START, START + 50, len(whole) // 2, len(whole) - 1}:
        assert "must be a complete file that LabelTree.save wrote" in refusal(path, whole[:size])


def test_files_that_go_on(path, whole):
    assert "bytes of arrays, but it has" in refusal(path, whole + b"\0")


@pytest.mark.parametrize("content", [b"PK\x03\x04 and so on", b"\x80\x04\x95 a pickle", b"1 2 3\n" * 1000])
def test_foreign_files(path, content):
    assert "It is another file, or truncated." in refusal(path, content)


@pytest.mark.parametrize(("change", "remedy"), [(-1, "Train again and save"), (1, "Update tailwise")])
def test_other_versions(path, whole, change, remedy):
    version, *rest = PREFIX.unpack(whole[len(MAGIC) : START])
    other = MAGIC + PREFIX.pack(version + change, *rest) + whole[START:]
    told = f"must have version {VERSION} of the format. Got version {VERSION + change}. {remedy}."
    assert told in refusal(path, other)


def test_damaged_headers(path, whole):
    for position in (START, START + 20, START + 200):
        damaged = whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :]
        assert "Its header is damaged or truncated." in refusal(path, damaged)


def test_damage_anywhere_is_found(path, whole):
    """Whatever byte changes, a file is refused: header and arrays have checksums."""
    for position in np.random.default_rng(0).integers(0, len(whole), 300):
        refusal(path, whole[:position] + bytes([whole[position] ^ 0xFF]) + whole[position + 1 :])


def rewritten(whole, **changes):
    """The file with another header, or other arrays by name, and checksums that fit."""
    _, length, _ = PREFIX.unpack(whole[len(MAGIC) : START])
    header, body = json.loads(whole[START : START + length]), bytearray(whole[START + length :])
    for name in [name for name in changes if name in header["arrays"]]:
        kind, shape, offset = header["arrays"][name]
        array = np.frombuffer(body, kind, int(np.prod(shape)), offset)
        changes.pop(name)(array)
    header |= {"checksum": zlib.crc32(body)} | changes
    text = json.dumps(header).encode()
    return MAGIC + PREFIX.pack(VERSION, len(text), zlib.crc32(text)) + text + bytes(body)


MADE_UP = {
    "no links": {"links": []},
    "other links": {"links": [7]},
    "links of text": {"links": "00"},
    "no features": {"n_features": 0},
    "names": {"feature_names": ["a"]},
    "type": {"output_type": "O"},
    "no type": {"output_type": "thesis"},
    "parameters": {"parameters": {"thesis": 1}},
    "loss": {"parameters": {"loss": "thesis"}},
    "arrays": {"arrays": {}},
    "offsets": {"arrays": {"counts": ["float64", [1e300], 0]}},
    "checksum": {"checksum": None},
    "labels": {"0/labels": lambda array: array.fill(0)},
    "children": {"0/first_children": lambda array: array.fill(-1)},
    "starts": {"0/entry_starts": lambda array: array.fill(2**40)},
    "slots": {"0/slots": lambda array: array.fill(2**20)},
    "entries": {"0/children": lambda array: array.fill(60_000)},
    "values": {"0/values": lambda array: array.fill(np.nan)},
    "biases": {"0/biases": lambda array: array.fill(np.inf)},
    "counts": {"counts": lambda array: array.fill(-1)},
}


@pytest.mark.parametrize("changes", MADE_UP.values(), ids=MADE_UP)
def test_files_that_were_made_up(path, whole, changes):
    assert "must be a complete file that LabelTree.save wrote" in refusal(path, rewritten(whole, **changes))


def test_a_header_that_is_nested_too_deeply(path, whole):
    text = b"[" * 100_000
    assert "Its header is not a JSON object" in refusal(
        path, MAGIC + PREFIX.pack(VERSION, len(text), zlib.crc32(text)) + text + bytes(64)
    )


def test_a_file_without_arrays(path, whole):
    text = b'{"n_bytes": 0}'
    assert "bytes of arrays" in refusal(path, MAGIC + PREFIX.pack(VERSION, len(text), zlib.crc32(text)) + text)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileError, match="could not be read: No such file"):
        tw.LabelTree.load(tmp_path / "nothing")
    with pytest.raises(FileError, match="could not be read: Is a directory"):
        tw.LabelTree.load(tmp_path)


def test_places_where_nothing_can_be_written(tmp_path):
    model = tw.LabelTree().fit(FEATURES, TRUTH)
    with pytest.raises(FileError, match="path must lie in a folder that exists"):
        model.save(tmp_path / "nowhere" / "model")
