"""Tables as text, CSV, LaTeX and HTML, with marks for the best and second-best value of each column."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from tailwise.experiments.results import Column, Row, Table
from tailwise.reports.templates import render

if TYPE_CHECKING:
    from markupsafe import Markup

LATEX_NAMES = {"\\": "backslash", "^": "asciicircum", "~": "asciitilde", "<": "less", ">": "greater", "|": "bar"}
LATEX_SPECIAL = str.maketrans(
    {each: f"\\{each}" for each in "&%$#_{}"} | {each: rf"\text{name}{{}}" for each, name in LATEX_NAMES.items()}
)


@dataclass(frozen=True)
class _Cell:
    """A cell: its text (empty if unknown), its mark, and whether its row optimises its column."""

    text: str
    mark: str  # "best", "second" or ""
    is_own: bool

    @property
    def classes(self) -> str:
        return " ".join(filter(None, ("own" if self.is_own else "", self.mark)))


def describe_marks(table: Table, *, best: str, second: str, own: str = "") -> str:
    """Explain the marks in a table; empty if it has none."""
    cells = [cell for line in _fill_cells(table) for cell in line]
    meanings = [
        (best, "best in its column", any(cell.mark == "best" for cell in cells)),
        (second, "second best", any(cell.mark == "second" for cell in cells)),
        (own, "what the row maximises", bool(own) and any(cell.is_own for cell in cells)),
    ]
    return ", ".join(f"{mark}{':' if mark.isalpha() else ''} {text}" for mark, text, is_used in meanings if is_used)


def to_text(table: Table, *, best: str = "*", second: str = "'") -> str:
    """Render a table for a terminal, with marks after the best and second-best values (ties share a mark)."""
    marks = {"best": best, "second": second, "": ""}
    lines = [[(cell.text, marks[cell.mark]) for cell in line] for line in _fill_cells(table)]
    room = max(len(best), len(second))
    widths = [max(len(column.title), *(len(line[c][0]) for line in lines)) for c, column in enumerate(table.columns)]
    _widen(widths, table, room)
    name_width = max(len(row.name) for row in table.rows)
    shown = [_head_line(table, widths, name_width, room)] if any(column.group for column in table.columns) else []
    titles = (f"  {column.title:>{width}}{'':{room}}" for column, width in zip(table.columns, widths, strict=True))
    shown.append(" " * name_width + "".join(titles))
    for number, (row, line) in enumerate(zip(table.rows, lines, strict=True)):
        if number and row.group != table.rows[number - 1].group:
            shown.append("")
        cells = (f"  {text:>{width}}{mark:<{room}}" for (text, mark), width in zip(line, widths, strict=True))
        shown.append(f"{row.name:<{name_width}}" + "".join(cells))
    return "\n".join(line.rstrip() for line in shown)


def _head_line(table: Table, widths: list[int], name_width: int, room: int) -> str:
    """Return the line of shared headings, each above its columns."""
    line = " " * name_width
    for group, members in groupby(zip(table.columns, widths, strict=True), key=lambda pair: pair[0].group):
        length = sum(width + room + 2 for _, width in members)
        line += f"  {group:<{length - 2}}"
    return line


def _widen(widths: list[int], table: Table, room: int) -> None:
    """Widen the last column of each group to make room for the shared heading."""
    for group, members in groupby(range(len(widths)), key=lambda c: table.columns[c].group):
        columns = list(members)
        length = sum(widths[c] + room + 2 for c in columns) - 2
        widths[columns[-1]] += max(0, len(group) - length)


def to_csv(table: Table) -> str:
    """Render a table as CSV with full precision; deviations, if any, have their own columns."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    keys = [column.key for column in table.columns]
    spread = [key for key in keys if any(row.deviations.get(key) is not None for row in table.rows)]
    writer.writerow(["group", "name", *keys, *(f"{key} deviation" for key in spread)])
    for row in table.rows:
        values = [row.values.get(key) for key in keys] + [row.deviations.get(key) for key in spread]
        writer.writerow([row.group, row.name, *("" if value is None else repr(value) for value in values)])
    return file.getvalue()


def to_latex(table: Table) -> str:
    """Render a table for LaTeX with booktabs: best in bold, second best in italics, a row's own column in green."""
    lines = [
        f"% {' '.join(table.title.split())}",
        r"% needs \usepackage{booktabs} and \usepackage[table]{xcolor}",
        rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
        r"\toprule",
    ]
    if any(column.group for column in table.columns):
        groups = _count_headings(table)
        heads = (rf"\multicolumn{{{size}}}{{c}}{{{_escape(name)}}}" for name, size in groups)
        lines.append(" & ".join(["", *heads]) + r" \\")
        lines.append(_rules_under(groups))
    lines.append(" & ".join(["", *(_escape(column.title) for column in table.columns)]) + r" \\")
    group = None
    for row, line in zip(table.rows, _fill_cells(table, plus_minus=r"$\pm$"), strict=True):
        if row.group != group:
            lines.append(r"\midrule")
            group = row.group
        lines.append(" & ".join([_escape(row.name), *map(_latex_cell, line)]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _rules_under(groups: list[tuple[str, int]]) -> str:
    """Return a rule under each shared heading."""
    rules, first = [], 2
    for name, size in groups:
        if name:
            rules.append(rf"\cmidrule(lr){{{first}-{first + size - 1}}}")
        first += size
    return " ".join(rules)


def _latex_cell(cell: _Cell) -> str:
    style = {"best": r"\textbf{%s}", "second": r"\textit{%s}", "": "%s"}[cell.mark]
    text = f"$-${cell.text[1:]}" if cell.text.startswith("-") else cell.text or "--"
    return (r"\cellcolor{green!15}" if cell.is_own else "") + style % text


def _escape(text: str) -> str:
    return text.translate(LATEX_SPECIAL)


def to_html(table: Table) -> Markup:
    """Render a ``<table>`` whose cells have the classes ``best``, ``second`` and ``own``; all text is escaped."""
    from markupsafe import Markup

    lines = groupby(zip(table.rows, _fill_cells(table), strict=True), key=lambda pair: pair[0].group)
    blocks = [list(members) for _, members in lines]
    return Markup(render("table.html", table=table, headings=_count_headings(table), blocks=blocks))


def _count_headings(table: Table) -> list[tuple[str, int]]:
    """Return the shared headings and the number of columns of each."""
    return [(name, len(list(members))) for name, members in groupby(column.group for column in table.columns)]


def _fill_cells(table: Table, *, plus_minus: str = " \u00b1 ") -> list[list[_Cell]]:
    """Return the cells, row by row. Values that look the same after rounding share a mark."""
    marks = [_find_marks(table, column) for column in table.columns]
    return [
        [
            _Cell(
                _with_deviation(row, column, plus_minus),
                marked.get(_as_text(row.values.get(column.key), column), ""),
                column.key in row.own,
            )
            for column, marked in zip(table.columns, marks, strict=True)
        ]
        for row in table.rows
    ]


def _find_marks(table: Table, column: Column) -> dict[str, str]:
    """Return the texts of the best and the second-best value."""
    if column.better is None:
        return {}
    values = [row.values.get(column.key) for row in table.rows]
    known = sorted(value for value in values if value is not None and not math.isnan(value))
    ordered = known[::-1] if column.better == "larger" else known
    texts = list(dict.fromkeys(_as_text(value, column) for value in ordered))
    if len(known) > 1 and len(texts) == 1:  # all values are equal
        return {}
    return dict(zip(texts, ("best", "second"), strict=False))


def _as_text(value: float | None, column: Column) -> str:
    return "" if value is None else f"{100 * value if column.percent else value:.{column.digits}f}"


def _with_deviation(row: Row, column: Column, plus_minus: str) -> str:
    text, deviation = _as_text(row.values.get(column.key), column), row.deviations.get(column.key)
    return text if text == "" or deviation is None else f"{text}{plus_minus}{_as_text(deviation, column)}"
