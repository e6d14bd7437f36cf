"""Tables as text, CSV, LaTeX and HTML, the best and the second best value of each column marked."""

from __future__ import annotations

import csv
import html
import io
from itertools import groupby

from tailwise.experiments.results import Column, Table
from tailwise.report.cells import Cell, Mark, fill_cells

__all__ = ["describe_marks", "to_csv", "to_html", "to_latex", "to_text"]

LATEX_NAMES = {"\\": "backslash", "^": "asciicircum", "~": "asciitilde", "<": "less", ">": "greater", "|": "bar"}
LATEX_SPECIAL = str.maketrans(
    {each: f"\\{each}" for each in "&%$#_{}"} | {each: rf"\text{name}{{}}" for each, name in LATEX_NAMES.items()}
)


def describe_marks(table: Table, *, best: str, second: str, own: str = "") -> str:
    """What the marks of a table mean, of those that are in it; empty where there are none."""
    cells = [cell for line in fill_cells(table) for cell in line]
    used = {
        best: any(cell.mark == Mark.BEST for cell in cells),
        second: any(cell.mark == Mark.SECOND for cell in cells),
    }
    meanings = {best: "best of a column", second: "second best"}
    if own:
        used[own], meanings[own] = any(cell.is_own for cell in cells), "what a row was chosen for"
    return ", ".join(
        f"{mark}{':' if mark.isalpha() else ''} {meanings[mark]}" for mark, is_used in used.items() if is_used
    )


def to_text(table: Table, *, best: str = "*", second: str = "'") -> str:
    """For a terminal: a line per row, a mark after the best and the second best of each column (ties share it).

    Examples
    --------
    >>> from tailwise.experiments.results import Table
    >>> from tailwise.report.tables import to_text
    >>> rows = {"Top-K": {"p": 0.5, "f": 0.1}, "Macro-F1": {"p": 0.4, "f": 0.2}}
    >>> print(to_text(Table.of(rows, {"p": "P", "f": "mF1"})))
                  P     mF1
    Top-K     50.00*  10.00'
    Macro-F1  40.00'  20.00*
    """
    marks = {Mark.BEST: best, Mark.SECOND: second, Mark.NONE: ""}
    lines = [[(cell.text, marks[cell.mark]) for cell in line] for line in fill_cells(table)]
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
    """The shared headings, each over the first of its columns and as far as they reach."""
    line = " " * name_width
    for group, members in groupby(zip(table.columns, widths, strict=True), key=lambda pair: pair[0].group):
        length = sum(width + room + 2 for _, width in members)
        line += f"  {group:<{length - 2}}"
    return line


def _widen(widths: list[int], table: Table, room: int) -> None:
    """Let the last column of each group take what the group's heading needs."""
    for group, members in groupby(range(len(widths)), key=lambda c: table.columns[c].group):
        columns = list(members)
        length = sum(widths[c] + room + 2 for c in columns) - 2
        widths[columns[-1]] += max(0, len(group) - length)


def to_csv(table: Table) -> str:
    """For programs: a line per row with full digits; deviations in columns of their own where there are some."""
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
    """For a paper: booktabs; the best bold, the second best in italics, a row's own column on green."""
    lines = [
        f"% {' '.join(table.title.split())}",
        r"% needs \usepackage{booktabs} and \usepackage[table]{xcolor}",
        rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
        r"\toprule",
    ]
    if any(column.group for column in table.columns):
        groups = [(name, len(list(members))) for name, members in groupby(c.group for c in table.columns)]
        heads = (rf"\multicolumn{{{size}}}{{c}}{{{_escape(name)}}}" for name, size in groups)
        lines.append(" & ".join(["", *heads]) + r" \\")
        lines.append(_rules_under(groups))
    lines.append(" & ".join(["", *(_escape(column.title) for column in table.columns)]) + r" \\")
    group = None
    for row, line in zip(table.rows, fill_cells(table, plus_minus=r"$\pm$"), strict=True):
        if row.group != group:
            lines.append(r"\midrule")
            group = row.group
        lines.append(" & ".join([_escape(row.name), *map(_latex_cell, line)]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _rules_under(groups: list[tuple[str, int]]) -> str:
    """A line under each shared heading."""
    rules, first = [], 2
    for name, size in groups:
        if name:
            rules.append(rf"\cmidrule(lr){{{first}-{first + size - 1}}}")
        first += size
    return " ".join(rules)


def _latex_cell(cell: Cell) -> str:
    style = {Mark.BEST: r"\textbf{%s}", Mark.SECOND: r"\textit{%s}", Mark.NONE: "%s"}[cell.mark]
    text = f"$-${cell.text[1:]}" if cell.text.startswith("-") else cell.text or "--"
    return (r"\cellcolor{green!15}" if cell.is_own else "") + style % text


def _escape(text: str) -> str:
    return text.translate(LATEX_SPECIAL)


def to_html(table: Table) -> str:
    """For a page: a ``<table>`` with the classes ``best``, ``second`` and ``own`` on its cells, all text escaped."""
    parts = ['<table class="figures">', f"<caption>{html.escape(table.title)}</caption>", "<thead>"]
    if any(column.group for column in table.columns):
        parts.append(f"<tr><td></td>{''.join(_html_heads(table.columns))}</tr>")
    titles = "".join(f'<th scope="col">{html.escape(column.title)}</th>' for column in table.columns)
    parts.append(f"<tr><td></td>{titles}</tr></thead>")
    for _, members in groupby(zip(table.rows, fill_cells(table), strict=True), key=lambda pair: pair[0].group):
        parts.append("<tbody>")
        for row, line in members:
            name = f'<th scope="row">{html.escape(row.name)}</th>'
            parts.append(f"<tr>{name}{''.join(map(_html_cell, line))}</tr>")
        parts.append("</tbody>")
    return "\n".join([*parts, "</table>"])


def _html_heads(columns: tuple[Column, ...]) -> list[str]:
    groups = [(name, len(list(members))) for name, members in groupby(column.group for column in columns)]
    return [f'<th scope="colgroup" colspan="{size}">{html.escape(name)}</th>' for name, size in groups]


def _html_cell(cell: Cell) -> str:
    classes = [
        name for name, holds in (("own", cell.is_own), (cell.mark.name.lower(), cell.mark != Mark.NONE)) if holds
    ]
    attribute = f' class="{" ".join(classes)}"' if classes else ""
    return f"<td{attribute}>{html.escape(cell.text) or '&ndash;'}</td>"
