"""One side has ids and the other none: matched by position, which is said once where entries set the order."""

import pickle
import warnings

import numpy as np
import pytest

import tailwise as tw
from tailwise.datasets import Ids, LabelNames
from tailwise.errors import InputError, UnknownIdsWarning
from tailwise.inputs.by_position import warn_of_positions
from tailwise.inputs.joining import Space

pd = pytest.importorskip("pandas")
MATRIX = np.random.default_rng(0).random((6, 5)).round(3)
TRUTH = (MATRIX > 0.5).astype(int)
USERS, ITEMS = [f"u{i}" for i in range(6)], [f"i{j}" for j in range(5)]


def make_long(matrix, users=USERS, items=ITEMS):
    rows, labels = np.nonzero(matrix)
    columns = {"user_id": np.array(users)[rows], "item_id": np.array(items)[labels], "score": matrix[rows, labels]}
    return pd.DataFrame(columns)


@pytest.fixture
def cases(tmp_path):
    """Calls with ids on one side only: who has ids, who has none, and the call."""
    table, truth = make_long(MATRIX), make_long(np.ones_like(TRUTH))[["user_id", "item_id"]]
    tw.save(tmp_path / "truth.npz", TRUTH)
    by_id, by_number = tw.select(table, "macro-f1", 2), tw.select(MATRIX, "macro-f1", 2)
    return [
        ("selection", "truth", lambda: tw.evaluate(TRUTH, by_id)),
        ("selection", "truth", lambda: tw.evaluate(tmp_path / "truth.npz", by_id)),
        ("truth", "selection", lambda: tw.evaluate(truth, by_number)),
        ("truth", "probabilities", lambda: tw.evaluate(truth, by_id, probabilities=MATRIX)),
        ("probabilities", "truth", lambda: tw.reliability(table, tmp_path / "truth.npz")),
        ("probabilities", "truth", lambda: tw.Calibrator().fit(table, TRUTH)),
        ("probabilities", "exclude", lambda: tw.select(table, "macro-f1", 2, exclude=MATRIX < 0.1)),
        ("exclude", "probabilities", lambda: tw.select(MATRIX, "macro-f1", 2, exclude=by_id)),
        ("probabilities", "selection", lambda: tw.expected_utility(table, "macro-f1", by_number)),
        ("init", "probabilities", lambda: tw.select(MATRIX, "macro-f1", 2, init=by_id)),
    ]


def test_each_is_said_once(cases):
    for named, plain, call in cases:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UnknownIdsWarning)
            call()
        (said,) = [str(each.message) for each in caught if each.category is UnknownIdsWarning]
        assert said.startswith(f"{named} lists its instances and labels by id, such as 'u"), said
        assert f"{plain} does not. They are matched by position" in said
        assert said.endswith(
            "Give ids to both: as tables or files of ids, or as a DataFrame with a column for each label."
        )


def test_labels_alone():
    with pytest.warns(UnknownIdsWarning, match=r"probabilities lists its labels by id, such as 'i0'; priors does not"):
        tw.select(make_long(MATRIX), "ps-precision", 2, priors=TRUTH)
    context = tw.Totals.nothing(5)
    with pytest.warns(UnknownIdsWarning, match=r"probabilities lists its labels by id, such as 'i0'; context does not"):
        tw.select(make_long(MATRIX), "macro-f1", 2, context=context)


def test_positions_that_somebody_chose_need_no_warning():
    wide = pd.DataFrame(MATRIX, index=USERS, columns=ITEMS)
    selection = tw.select(wide, "macro-f1", 2)
    assert dict(tw.evaluate(TRUTH, selection)) == dict(tw.evaluate(TRUTH, tw.select(MATRIX, "macro-f1", 2)))
    numbered = make_long(MATRIX, range(6), range(5))
    tw.evaluate(TRUTH, tw.select(numbered, "macro-f1", 2))
    chosen = tw.select(make_long(MATRIX), "macro-f1", 2)
    tw.expected_utility(make_long(MATRIX), "macro-f1", chosen)


def test_other_sizes_are_refused():
    selection = tw.select(make_long(MATRIX), "macro-f1", 2)
    with pytest.raises(InputError, match=r"must have the 4 instances of truth\. Got 6\. Give the ids of both"):
        tw.evaluate(TRUTH[:4], selection)


def test_ids_keep_how_they_were_found():
    listed = LabelNames(["b", "a"], by_appearance=True)
    for each in (listed, pickle.loads(pickle.dumps(listed)), listed.extended(Ids(["c"])), listed.take(np.array([0]))):
        assert each.by_appearance
        with pytest.warns(UnknownIdsWarning, match=r"A lists its labels by id, such as 'b'; B does not"):
            warn_of_positions(Space("A", label_names=LabelNames(each)), Space("B"))
    assert not LabelNames(["b", "a"]).by_appearance
    assert not pickle.loads(pickle.dumps(Ids(["b"]))).by_appearance
