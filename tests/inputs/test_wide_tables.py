"""Wide frames of pandas: which part of them names the instances, and what is refused."""

import uuid

import numpy as np
import pytest

import tailwise as tw
from tailwise.errors import InputError

pandas = pytest.importorskip("pandas")

ROWS = [[0.9, 0.1], [0.2, 0.8], [0.6, 0.5]]
TITLES = ["x", "y", "z"]


def frame(index=None, name=None, rows=ROWS):
    index = None if index is None else pandas.Index(index, name=name)
    return pandas.DataFrame(rows, columns=["a", "b"], index=index)


@pytest.mark.parametrize(
    ("index", "name", "ids", "message"),
    [
        (["r1", "r2", "r3"], None, ["r1", "r2", "r3"], "Instances are named by the index."),
        ([10, 20, 30], "doc", [10, 20, 30], "Instances are named by the index 'doc'."),
        ([0, 1, 2], "doc", [0, 1, 2], "Instances are named by the index 'doc'."),
        ([5, 7, 9], None, [5, 7, 9], "Instances are named by the index."),
    ],
)
def test_an_index_names_the_instances(index, name, ids, message):
    selection = tw.select(frame(index, name), "macro-f1", 1)
    assert list(selection.instance_ids) == ids
    assert message in selection.messages


@pytest.mark.parametrize(("index", "name"), [(["r1", "r2", "r3"], None), ([10, 20, 30], "doc")])
def test_a_column_of_text_beside_an_index_of_ids_is_refused(index, name):
    table = frame(index, name).assign(title=TITLES)
    with pytest.raises(InputError, match=r"name its instances once.*'title' holds no values.*drop\(columns='title'\)"):
        tw.select(table, "macro-f1", 1)
    assert list(tw.select(table.drop(columns="title"), "macro-f1", 1).instance_ids) == index
    assert list(tw.select(table.reset_index(drop=True), "macro-f1", 1).instance_ids) == TITLES


@pytest.mark.parametrize("index", [None, [4, 6, 9]])
def test_a_column_of_text_names_the_instances_of_other_tables(index):
    selection = tw.select(frame(index).assign(title=TITLES), "macro-f1", 1)
    assert list(selection.instance_ids) == TITLES
    assert "Instances are named by the column 'title'." in selection.messages


def test_a_column_twice():
    table = pandas.DataFrame(ROWS, columns=["a", "a"])
    with pytest.raises(InputError, match=r"columns of different names. Got 'a' 2 times. Rename or drop"):
        tw.select(table, "macro-f1", 1)


def test_an_index_of_several_levels():
    long = pandas.DataFrame({"user": ["u", "u", "v"], "item": ["a", "b", "a"], "score": [0.9, 0.2, 0.4]})
    indexed = long.set_index(["user", "item"])
    for table in (indexed, indexed.rename(columns={"score": "eta"})):
        with pytest.raises(InputError, match=r"an index of user, item. Use \.reset_index\(\) first"):
            tw.select(table, "macro-f1", 1)
    with pytest.raises(InputError, match=r"a single column, a Series. Use \.reset_index\(\) to make columns"):
        tw.select(indexed.score, "macro-f1", 1)
    assert tw.select(indexed.reset_index(), "macro-f1", 1).to_dict() == {"u": ["a"], "v": ["a"]}


def test_logits_and_true_labels_are_no_probabilities():
    with pytest.raises(InputError, match=r"label='item_id', \.\.\. If these are logits, apply a sigmoid first"):
        tw.select(frame(rows=[[-2.0, 3.0], [1.0, 0.5], [0.1, 0.2]]), "macro-f1", 1)
    ones = [[1, 0], [0, 1], [0, 1]]
    with pytest.raises(InputError, match="All 3 of its values other than 0 are 1, as those of true labels are"):
        tw.select(frame(rows=ones), "macro-f1", 1)
    for certain in (frame(rows=ones).to_numpy(), tw.Candidates.of(frame(rows=ones))):
        assert tw.select(certain, "macro-f1", 1).labels.ravel().tolist() == [0, 1, 1]


def test_budgets_by_id():
    table = frame(["r1", "r2", "r3"])
    by_id = tw.select(table, "macro-f1", k={"r3": 2, "r1": 1, "r2": 0})
    np.testing.assert_array_equal(by_id.labels, tw.select(table, "macro-f1", k=np.array([1, 0, 2])).labels)
    with pytest.raises(InputError, match=r"k as a mapping must hold a number for each instance. Got none for 'r2'"):
        tw.select(table, "macro-f1", k={"r1": 1, "r3": 1})


def test_ids_of_another_type_and_the_nearest_names():
    ids = [uuid.UUID(int=number) for number in (5, 6, 7)]
    selection = tw.select(frame(ids), "macro-f1", 1)
    with pytest.raises(InputError, match=r"The ids are of type UUID, not str: give UUID\('0{8}"):
        selection[str(ids[1])]
    assert selection[ids[1]] == ["b"]
    names = [f"SKU-{number:05}" for number in range(1, 400)]
    selection = tw.select(pandas.DataFrame(np.full((399, 2), 0.5), columns=["a", "b"], index=names), "precision", 1)
    with pytest.raises(InputError, match="The nearest names are 'SKU-00001'"):
        selection["SKU-1"]


def test_a_selection_is_not_iterated_over():
    selection = tw.select(frame(), "macro-f1", 1)
    with pytest.raises(TypeError, match=r"A Selection cannot be iterated over.*to_dict\(\)\.items\(\)"):
        list(selection)


def test_tables_and_candidates_are_saved_with_their_ids(tmp_path):
    table = frame(["r1", "r2", "r3"])
    for each in (table, tw.Candidates.of(table)):
        tw.save(tmp_path / "kept.parquet", each)
        kept = tw.Candidates.of(tmp_path / "kept.parquet")
        assert (list(kept.instance_ids), list(kept.label_names)) == (["r1", "r2", "r3"], ["a", "b"])
        np.testing.assert_allclose(kept.to_csr().toarray(), ROWS, rtol=1e-6)
        with pytest.raises(InputError, match=r"must have a format that holds ids\. .* Use \.parquet or \.jsonl"):
            tw.save(tmp_path / "kept.npz", each)
    tw.save(tmp_path / "kept.npz", tw.Candidates.of(np.array(ROWS)))
    np.testing.assert_allclose(tw.load(tmp_path / "kept.npz").toarray(), ROWS, rtol=1e-6)
