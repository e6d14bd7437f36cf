"""Tables as text: percent, aligned, the best of each column marked."""

import math

import pytest

from tailwise.metrics import evaluate
from tailwise.report.tables import format_table

ROWS = {"Top-K": {"p": 0.5, "f": 0.125}, "Macro-F1": {"p": 0.4, "f": 0.25}, "Cov": {"p": 1.0, "f": 0.0}}
COLUMNS = {"p": "P", "f": "macro-F1"}


def test_a_table():
    assert format_table(ROWS, COLUMNS).split("\n") == [
        "               P   macro-F1",
        "Top-K      50.00      12.50",
        "Macro-F1   40.00      25.00*",
        "Cov       100.00*      0.00",
    ]


def test_values_stand_right_under_their_headings():
    lines = format_table(ROWS, COLUMNS, mark="").split("\n")
    assert {len(line) for line in lines} == {len(lines[0])}
    assert lines[0] == "               P  macro-F1"
    assert lines[3] == "Cov       100.00      0.00"


def test_columns_are_those_asked_for_in_that_order():
    lines = format_table(ROWS, {"f": "F", "p": "P"}).split("\n")
    assert lines[0].split() == ["F", "P"]
    assert lines[1].split() == ["Top-K", "12.50", "50.00"]
    assert format_table(ROWS, {"f": "F"}).split("\n")[0].split() == ["F"]


@pytest.mark.parametrize(("digits", "text"), [(0, "12*"), (1, "12.3*"), (4, "12.3456*")])
def test_digits(digits, text):
    assert format_table({"a": {"x": 0.123456}}, {"x": "X"}, digits=digits).split("\n")[1] == f"a  {text}"


@pytest.mark.parametrize("mark", ["*", " best", ""])
def test_the_mark_keeps_columns_apart(mark):
    lines = format_table({"a": {"x": 0.1, "y": 0.2}, "b": {"x": 0.3, "y": 0.1}}, {"x": "X", "y": "Y"}, mark=mark)
    first, second = lines.split("\n")[1:]
    space = " " * len(mark)
    assert first == f"a  10.00{space}  20.00{mark}".rstrip()
    assert second == f"b  30.00{mark}  10.00".rstrip()


def test_all_of_a_tie_are_marked():
    rows = {"a": {"x": 0.5}, "b": {"x": 0.5}, "c": {"x": 0.4}}
    assert [line.endswith("*") for line in format_table(rows, {"x": "X"}).split("\n")] == [False, True, True, False]


def test_a_tie_is_what_reads_as_one():
    rows = {"a": {"x": 0.50001}, "b": {"x": 0.50004}, "c": {"x": 0.49}}
    assert format_table(rows, {"x": "X"}).count("*") == 2
    assert format_table(rows, {"x": "X"}, digits=3).count("*") == 1


@pytest.mark.parametrize("order", [("a", "b", "c"), ("b", "a", "c"), ("c", "b", "a")])
def test_not_a_number_is_never_the_best(order):
    rows = {"a": {"x": math.nan}, "b": {"x": 0.5}, "c": {"x": 0.4}}
    lines = format_table({name: rows[name] for name in order}, {"x": "X"}).split("\n")
    assert [line for line in lines if line.endswith("*")] == ["b  50.00*"]


def test_evaluations_are_rows():
    evaluation = evaluate([[1, 0], [0, 1]], [[0], [0]], ["precision", "coverage"])
    table = format_table({"one": evaluation}, {"precision": "P", "coverage": "Cov"}, mark="")
    assert table.split("\n")[1].split() == ["one", "50.00", "50.00"]


def test_no_space_at_the_end_of_a_line():
    assert all(line == line.rstrip() for line in format_table(ROWS, COLUMNS).split("\n"))
