"""Ids of any kind, and their lookup, compared with a plain loop."""

import copy
import pickle
import uuid

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwise.datasets import Ids, LabelNames
from tailwise.errors import InputError
from tailwise.inputs.ids import describe_kinds

VALUES = st.one_of(st.integers(-(2**70), 2**70), st.text(), st.uuids(), st.tuples(st.integers()))


def position_in(values, value):
    return next((x for x, each in enumerate(values) if each == value and type(each) is type(value)), -1)


@given(st.lists(VALUES, unique=True), st.lists(VALUES))
def test_positions_are_those_of_a_loop(values, others):
    others = others + values[::2]
    assert Ids(values).positions_of(others).tolist() == [position_in(values, other) for other in others]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), unique=True), st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_positions_of_integers(values, others):
    others = np.array(others + values[1::2], dtype=np.int64)
    found = Ids(np.array(values, dtype=np.int64)).positions_of(others)
    assert found.tolist() == [position_in(values, other) for other in others.tolist()]


@pytest.mark.parametrize(
    "values", [[10**12, 3], ["b", "a"], [uuid.UUID(int=7), 1, "1", (2, 3)], [2**80, -1], [b"x", 2.5], []]
)
def test_ids_come_back_as_they_came(values):
    ids = Ids(values)
    assert list(ids) == values
    assert [type(value) for value in ids] == [type(value) for value in values]
    assert ids == values
    assert ids == tuple(values)
    assert ids == Ids(values)
    assert pickle.loads(pickle.dumps(ids)) == copy.deepcopy(ids) == ids
    assert list(ids[1:]) == values[1:]
    assert len({ids, Ids(values)}) == 1


def test_one_and_its_text_differ():
    assert Ids([1, 2]).positions_of(["1", "2"]).tolist() == [-1, -1]
    text = describe_kinds(Ids([1, 2]), Ids(["1", "2"]), "truth", "selection")
    assert "The ids of truth are integers (1, 2), those of selection are text ('1', '2')" in text
    assert "Convert one side, with .astype(str)" in text
    same = describe_kinds(Ids([1]), Ids([2]), "truth", "selection")
    assert same == "truth has 1, selection has 2. Check that both belong together and write ids in the same way."


def test_arrays_and_columns():
    pandas = pytest.importorskip("pandas")
    assert Ids(pandas.Series(["a", "b"])) == ["a", "b"]
    assert Ids(np.array(["a", "b"])).kind == "text"
    assert Ids(np.array(["2020-01-01"], dtype="M8[D]")).kind == "times"
    assert Ids(["a", 1]).kind == "int and text"
    assert repr(Ids(range(5))) == "Ids(5 instances: 0, 1, 2, ...)"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a", "b", "a"], r"instance ids must be unique\. Got 'a' twice\. Give each instance an id of its own"),
        (np.array([5, 7, 5]), r"instance ids must be unique\. Got 5 twice"),
        (["a", None], r"instance ids must not be missing\. Got None at position 1\. Remove it, or name it"),
        ([1.0, float("nan")], r"must not be missing\. Got nan at position 1"),
        (np.zeros((2, 2)), r"must be a list, one id for each instance\. Got an array of shape \(2, 2\)"),
        ([["a"], ["b"]], r"instance ids must be hashable, as numbers and text are\. Got .*list.*str\(\)"),
    ],
)
def test_ids_that_are_refused(values, message):
    with pytest.raises(InputError, match=message):
        Ids(values).check_unique()


def test_label_names_are_ids_with_titles():
    names = LabelNames([10**12, 7], ["Earth", ""])
    assert names.ids == (10**12, 7)
    assert names.number_of(7) == 1
    assert names.number_of([7]) is None
    assert [names.title_of(0), names.title_of(1)] == ["Earth", "7"]
    assert pickle.loads(pickle.dumps(names)) == names != LabelNames([10**12, 7])
    assert hash(names) == hash(LabelNames([10**12, 7]))
    longer = names.extended(LabelNames([7, 8], ["no", "Moon"]))
    assert (longer.ids, longer.titles) == ((10**12, 7, 8), ("Earth", "", "Moon"))
    assert names.extended(LabelNames([7])) is names
    assert LabelNames(["a"]).extended(Ids(["b"])) == LabelNames(["a", "b"])


def test_integers_as_floats_are_the_same_ids_and_truth_values_are_not():
    users = Ids([1, 2, 0])
    assert users.positions_of(np.array([2.0, 1.0, 7.0])).tolist() == [1, 0, -1]
    assert Ids(np.array([1.0, 2.0])).positions_of([2, 1]).tolist() == [1, 0]
    assert users.positions_of([True, False]).tolist() == [-1, -1]
    assert users.positions_of(np.array([True, False])).tolist() == [-1, -1]
    assert users.position_of(True) is None
    assert (users.position_of(1.0), users.position_of(np.int64(2))) == (0, 1)
    mixed = Ids([True, 1, False]).check_unique()
    assert [mixed.position_of(each) for each in (True, 1, False, 0)] == [0, 1, 2, None]
    with pytest.raises(InputError, match=r"must be unique\. Got True twice"):
        Ids([True, 1, True]).check_unique()
