"""Tables as text, CSV, LaTeX and HTML: percent, aligned, the best and second best of each column marked."""

import csv
import io
import math
from html.parser import HTMLParser

import pytest

from tailwise.experiments.results import Column, Row, Table
from tailwise.metrics import evaluate
from tailwise.reports.tables import describe_marks, to_csv, to_html, to_latex, to_text

ROWS = {"Top-K": {"p": 0.5, "f": 0.125}, "Macro-F1": {"p": 0.4, "f": 0.25}, "Cov": {"p": 1.0, "f": 0.0}}
TITLES = {"p": "P", "f": "macro-F1"}
GROUPED = Table(
    "t",
    "R&D at 3 % <b>",
    (Column("p", "P", "Instance @3"), Column("s", "T_s", "Time", better="smaller", digits=1, percent=False)),
    (
        Row("A & B", {"p": 0.5, "s": 2.0}, {"p": 0.0125}, "paper", own=("p",)),
        Row("C_1", {"p": 0.4, "s": 1.0}, {"p": 0.001}, "paper"),
        Row("<script>", {"p": None, "s": 3.0}, group="exact"),
    ),
)


def text_lines(rows, titles, **options):
    return to_text(Table.of(rows, titles), **options).split("\n")


def test_text():
    assert text_lines(ROWS, TITLES) == [
        "               P   macro-F1",
        "Top-K      50.00'     12.50'",
        "Macro-F1   40.00      25.00*",
        "Cov       100.00*      0.00",
    ]


def test_values_stand_right_under_their_headings():
    lines = text_lines(ROWS, TITLES, best="", second="")
    assert {len(line) for line in lines} == {len(lines[0])}
    assert lines[0] == "               P  macro-F1"
    assert lines[3] == "Cov       100.00      0.00"


def test_columns_are_those_asked_for_in_that_order():
    lines = text_lines(ROWS, {"f": "F", "p": "P"}, best="", second="")
    assert lines[0].split() == ["F", "P"]
    assert lines[1].split() == ["Top-K", "12.50", "50.00"]


@pytest.mark.parametrize(("digits", "text"), [(0, "12*"), (1, "12.3*"), (4, "12.3456*")])
def test_digits(digits, text):
    table = Table.of({"a": {"x": 0.123456}}, {"x": "X"}, digits=digits)
    assert to_text(table).split("\n")[1] == f"a  {text}"


def test_what_the_marks_mean():
    words = {"best": "bold", "second": "italic", "own": "green"}
    assert describe_marks(GROUPED, **words) == (
        "bold: best in its column, italic: second best, green: what the row maximises"
    )
    assert describe_marks(Table.of(ROWS, TITLES), best="*", second="'") == "* best in its column, ' second best"
    assert describe_marks(Table.of(ROWS, TITLES, better=None), **words) == ""


def test_latex_has_its_title_rules_and_minus_signs():
    rows = (Row("a", {"p": -0.271, "q": 0.5}), Row("b", {"p": 0.1, "q": 0.25}))
    columns = (Column("x", "X"), Column("p", "P", "change"), Column("q", "Q", "change"))
    text = to_latex(Table("t", "Full against\nhead", columns, rows))
    assert text.startswith("% Full against head\n")
    assert r"\cmidrule(lr){3-4}" in text
    assert "$-$27.10" in text


def test_where_all_agree_none_is_marked():
    assert text_lines({"a": {"x": 0.1}, "b": {"x": 0.1}}, {"x": "X"}) == ["       X", "a  10.00", "b  10.00"]


def test_all_of_a_tie_are_marked_and_the_next_value_is_second():
    rows = {"a": {"x": 0.5}, "b": {"x": 0.5}, "c": {"x": 0.4}, "d": {"x": 0.3}}
    assert [line[-1] for line in text_lines(rows, {"x": "X"})[1:]] == ["*", "*", "'", "0"]


def test_a_tie_is_what_reads_as_one():
    rows = {"a": {"x": 0.50001}, "b": {"x": 0.50004}, "c": {"x": 0.49}}
    assert to_text(Table.of(rows, {"x": "X"})).count("*") == 2
    assert to_text(Table.of(rows, {"x": "X"}, digits=3)).count("*") == 1


@pytest.mark.parametrize("order", [("a", "b", "c"), ("b", "a", "c"), ("c", "b", "a")])
def test_not_a_number_is_never_the_best(order):
    rows = {"a": {"x": math.nan}, "b": {"x": 0.5}, "c": {"x": 0.4}}
    lines = text_lines({name: rows[name] for name in order}, {"x": "X"})
    assert [line for line in lines if line.endswith("*")] == ["b  50.00*"]


def test_evaluations_are_rows():
    evaluation = evaluate([[1, 0], [0, 1]], [[0], [0]], ["precision", "coverage"])
    lines = text_lines({"one": evaluation}, {"precision": "P", "coverage": "Cov"}, best="", second="")
    assert lines[1].split() == ["one", "50.00", "50.00"]


def test_groups_deviations_unknown_values_and_a_column_where_less_is_better():
    lines = to_text(GROUPED).split("\n")
    assert lines == [
        "          Instance @3    Time",
        "                     P   T_s",
        "A & B     50.00 ± 1.25*  2.0'",
        "C_1       40.00 ± 0.10'  1.0*",
        "",
        "<script>                 3.0",
    ]


def test_csv_holds_every_digit_and_reads_back():
    rows = list(csv.DictReader(io.StringIO(to_csv(GROUPED))))
    assert [row["name"] for row in rows] == ["A & B", "C_1", "<script>"]
    assert rows[0] == {"group": "paper", "name": "A & B", "p": "0.5", "s": "2.0", "p deviation": "0.0125"}
    assert rows[2]["p"] == ""
    assert to_csv(Table.of({"a": {"x": 1 / 3}}, {"x": "X"})).endswith(f"a,{1 / 3!r}\n")


def test_latex_has_booktabs_and_escapes():
    text = to_latex(GROUPED)
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == 1
    assert text.count(r"\midrule") == 2  # before each block
    assert r"A \& B & \cellcolor{green!15}\textbf{50.00$\pm$1.25} & \textit{2.0} \\" in text
    assert r"C\_1 & \textit{40.00$\pm$0.10} & \textbf{1.0} \\" in text
    assert r"\textless{}script\textgreater{} & -- & 3.0 \\" in text
    assert r"\multicolumn{1}{c}{Instance @3}" in text


class Shape(HTMLParser):
    """The cells of a table by row, and the texts that were no markup."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.texts, self.tags = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append(dict(attributes).get("class"))

    def handle_data(self, data):
        self.texts.append(data)


def test_html_marks_cells_and_escapes():
    shape = Shape(to_html(GROUPED))
    assert shape.rows[2:] == [[None, "own best", "second"], [None, "second", "best"], [None, None, None]]
    assert "script" not in shape.tags
    assert "b" not in shape.tags
    assert {"<script>", "R&D at 3 % <b>", "A & B", "Instance @3", "\N{EN DASH}"} <= set(shape.texts)
