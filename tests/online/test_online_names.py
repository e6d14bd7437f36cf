"""Rows that name their labels: joined by name to those that came before."""

import pickle

import numpy as np
import pytest

import tailwise as tw

pandas = pytest.importorskip("pandas")

ABC = [[0.9, 0.1, 0.1]] * 3


def frame(columns, rows=ABC, **options):
    return pandas.DataFrame(rows, columns=list(columns), **options)


def by_number(*batches):
    """What a selector chooses for the same rows as matrices."""
    selector = tw.OnlineSelector("macro-f1", 1, 3)
    return [selector.select(np.array(rows)).labels.tolist() for rows in batches], selector.totals


def test_columns_in_another_order():
    selector = tw.OnlineSelector("macro-f1", 1, 3)
    first, second = selector.select(frame("abc")), selector.select(frame("cba", [row[::-1] for row in ABC]))
    labels, totals = by_number(ABC, ABC)
    assert [first.labels.tolist(), second.labels.tolist()] == labels
    assert second.to_frame().label.tolist() == ["abc"[j] for (j,) in labels[1]]
    assert selector.totals.q.tolist() == totals.q.tolist()
    assert list(selector.totals.label_names) == list(selector.label_names) == ["a", "b", "c"]


def test_new_labels_up_to_n_labels():
    selector = tw.OnlineSelector("macro-f1", 1, 3)
    selector.select(frame("ab", [[0.9, 0.2]]))
    assert selector.totals.n_labels == 2
    with pytest.raises(tw.errors.InputError, match=r"only hold the 2 labels that earlier rows named. Got 2"):
        selector.select((np.array([2]), np.array([0.5])))
    assert selector.select((np.array([1]), np.array([0.5]))).tolist() == [1]
    assert selector.select(frame("cb", [[0.9, 0.1]], index=["x"])).to_dict() == {"x": ["c"]}
    with pytest.raises(tw.errors.InputError, match=r"at most the 3 labels of the selector. With 'd', there are 4"):
        selector.select(frame("ad", [[0.9, 0.1]]))
    assert list(selector.label_names) == ["a", "b", "c"]


def test_long_tables():
    selector = tw.OnlineSelector("macro-f1", 1, 5)
    table = pandas.DataFrame({"instance": ["u", "u", "v"], "label": ["b", "a", "b"], "probability": [0.9, 0.1, 0.3]})
    assert selector.select(table).to_dict() == {"u": ["b"], "v": ["b"]}
    assert selector.select(table.assign(label=["a", "b", "a"]))["u"] == ["a"]
    assert selector.totals.q.tolist() == [2, 2]
    with pytest.warns(tw.errors.UnknownIdsWarning, match="the selector lists its labels by id"):
        selector.select(np.array([[0.9, 0.1, 0, 0, 0]]))


def test_ids_that_are_integers():
    selector = tw.OnlineSelector("macro-f1", 1, 3)
    selector.select(frame([2, 1, 0], [[0.1, 0.1, 0.9]]))
    table = pandas.DataFrame({"instance": ["u", "u"], "label": [0, 1], "probability": [0.1, 0.9]})
    assert selector.select(table).to_dict() == {"u": [1]}
    assert dict(zip(selector.label_names, selector.totals.q, strict=True)) == {2: 0, 1: 1, 0: 1}


def test_names_after_numbers_are_refused():
    selector = tw.OnlineSelector("macro-f1", 1, 3)
    selector.select(np.array(ABC))
    with pytest.raises(tw.errors.InputError, match=r"must number their labels, .* Got names, such as 'c'"):
        selector.select(frame("cba"))


def test_names_are_kept_by_files_and_pickles(tmp_path):
    selector = tw.OnlineSelector("macro-f1", 1, 3)
    selector.select(frame("abc"))
    selector.save(tmp_path / "stream.npz")
    loaded = tw.OnlineSelector.load(tmp_path / "stream.npz")
    for other in (loaded, pickle.loads(pickle.dumps(selector))):
        assert other.select(frame("cba")).to_dict() == {0: ["c"], 1: ["c"], 2: ["c"]}
    assert selector.n_instances == 3
