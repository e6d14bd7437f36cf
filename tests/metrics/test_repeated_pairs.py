"""Repeat purchases: a pair without a value that is listed several times counts once."""

import numpy as np
import pytest

import tailwise as tw
from tailwise.errors import FileError, InputError

pd = pytest.importorskip("pandas")

SCORES = pd.DataFrame(
    {"user_id": ["u", "u", "v", "v"], "item_id": ["a", "b", "a", "b"], "score": [0.75, 0.5, 0.25, 0.625]}
)
ONCE = pd.DataFrame({"user_id": ["u", "v"], "item_id": ["a", "b"]})
ORDERS = {"adjacent": [0, 0, 1], "apart": [1, 0, 1, 0, 1]}


def as_table(frame, folder):
    return frame


def as_file(frame, folder):
    path = folder / f"{len(frame)}.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(params=ORDERS.values(), ids=ORDERS)
def often(request):
    return ONCE.iloc[request.param]


@pytest.mark.parametrize("give", [as_table, as_file])
def test_purchases_may_be_repeated(tmp_path, give, often):
    often, once = give(often, tmp_path), give(ONCE, tmp_path)
    found = tw.select(SCORES, "precision", 1, exclude=often)
    np.testing.assert_array_equal(found.labels, tw.select(SCORES, "precision", 1, exclude=once).labels)
    everything = tw.select(SCORES, "precision", 2)
    metrics = ["precision", "recall", "macro-f1"]
    assert dict(tw.evaluate(often, everything, metrics)) == dict(tw.evaluate(once, everything, metrics))


@pytest.mark.parametrize(("give", "error"), [(as_table, InputError), (as_file, FileError)])
def test_a_selection_must_not_repeat_a_label(tmp_path, give, error, often):
    rule = r"must hold each label of an instance once\. Instance '.' holds label '.' twice\. Remove the duplicates"
    with pytest.raises(error, match=rule):
        tw.evaluate(ONCE, give(often, tmp_path))


@pytest.mark.parametrize(("give", "error"), [(as_table, InputError), (as_file, FileError)])
def test_probabilities_must_not_repeat_a_label(tmp_path, give, error):
    twice = give(SCORES.iloc[[0, 0, 1, 2]], tmp_path)
    with pytest.raises(error, match=r"Instance 'u' holds label 'a' twice\. Remove or merge the duplicates first"):
        tw.select(twice, "precision", 1)


def test_the_remedy_for_repeated_probabilities_is_that_of_the_library():
    twice = SCORES.iloc[[0, 0, 1, 2]]
    with pytest.raises(InputError, match="with groupby and max"):
        tw.select(twice, "precision", 1)
    polars = pytest.importorskip("polars")
    with pytest.raises(InputError, match="with group_by and max"):
        tw.select(polars.DataFrame(twice.to_dict("list")), "precision", 1)
