"""Columns of a file are named by the same arguments as those of a table."""

import numpy as np
import pandas as pd
import pytest

import tailwise as tw
from tailwise.errors import FileError, InputError

NAMES = {"instance": "reader", "label": "book", "probability": "chance"}


@pytest.fixture
def table():
    return pd.DataFrame({"reader": ["u", "u", "v"], "book": ["a", "b", "a"], "chance": [0.9, 0.3, 0.2], "score": 1.0})


@pytest.fixture(params=["a.csv", "a.parquet"])
def path(table, tmp_path, request):
    path = tmp_path / request.param
    table.to_csv(path, index=False) if path.suffix == ".csv" else table.to_parquet(path)
    return path


def test_every_function_takes_them(table, path):
    found, same = (tw.select(each, "macro-f1", 1, **NAMES) for each in (path, table))
    assert found.to_dict() == same.to_dict()
    assert found.expected == pytest.approx(same.expected)
    assert tw.certify(path, "macro-f1", 1, found, **NAMES).value == pytest.approx(same.expected)
    assert tw.expected_utility(path, "macro-f1", found, **NAMES) == pytest.approx(same.expected)
    curve = tw.trade_off(path, "precision", "macro-f1", 1, alphas=[0.5], **NAMES)
    assert curve.points[0].selection.instance_ids == ["u", "v"]
    assert tw.Candidates.of(path, columns=NAMES).label_names == ["a", "b"]


def test_a_single_name_leaves_numbers_numbers(tmp_path):
    (tmp_path / "a.csv").write_text("instance,label,chance,score\n0,2,0.5,1\n1,0,0.25,1\n")
    found = tw.select(tmp_path / "a.csv", "precision", 1, probability="chance")
    assert found.labels.tolist() == [[2], [0]]
    assert found.instance_ids is None


def test_the_remedy_names_arguments_that_exist(path):
    with pytest.raises(FileError, match=r"say which: instance='user_id', label='item_id', probability='score' \(--col"):
        tw.select(path, "precision", 1, instance="reader", label="book")


def test_one_column_cannot_be_both_instance_and_label(table, path):
    message = r"instance and label name the same column of .*, 'book'\. Name a column for each\. It has reader, book, "
    for each in (table, path):
        with pytest.raises((InputError, FileError), match=message):
            tw.select(each, "precision", 1, instance="book", label="book", probability="chance")


@pytest.mark.parametrize("form", [tw.Candidates.of(np.eye(2)), np.eye(2), (np.eye(2, dtype=int), np.eye(2))])
def test_what_has_no_columns(form):
    with pytest.raises(InputError, match=r"name the columns of a table\. Got them with a .*\. Omit them\."):
        tw.select(form, "precision", 1, instance="reader")
