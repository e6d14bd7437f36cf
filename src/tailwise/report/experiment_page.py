"""The page of an experiment: its tables, its curves with their dials, and how it was made."""

from __future__ import annotations

import html
import json
from itertools import groupby
from pathlib import Path
from typing import Any

from tailwise.report.charts import draw_curve
from tailwise.report.curve import ReportCurve
from tailwise.report.curve_block import curve_block
from tailwise.report.experiment_folder import ExperimentFolder, read_experiment
from tailwise.report.markup import Page, Section, code_block, details, paragraph, text_table
from tailwise.report.records import Record
from tailwise.report.words import NO_VALUE, count_text, metric_title

__all__ = ["build_experiment_page"]


def build_experiment_page(path: Path) -> Page:
    """Read the record and tell it section by section."""
    experiment = read_experiment(path)
    record = experiment.record
    data = record.part("data")
    sizes = f"{count_text(data.get('instances', int))} instances, {count_text(data.get('labels', int))} labels"
    return Page(
        record.get("title", str),
        f"{data.get('name', str)}: {sizes}",
        [
            *([_tables_section(experiment)] if experiment.tables else []),
            *(_curve_section(title, curve) for title, curve in experiment.curves if curve.points),
            _record_section(record),
        ],
    )


def _tables_section(experiment: ExperimentFolder) -> Section:
    paper = experiment.record.get("paper", str, may_be_none=True)
    words = paragraph(f"In the paper: {paper}", kind="note") if paper else ""
    legend = paragraph("Bold: best of a column. Italic: second best. Green: what a row was chosen for.", kind="note")
    tables = "\n".join(f'<div class="scroll">{_render_table(table)}</div>' for table in experiment.tables)
    return Section("tables", "Tables" if len(experiment.tables) > 1 else "Table", words + tables + legend)


def _curve_section(title: str, curve: ReportCurve) -> Section:
    text = (
        f"Each point of the line is a selection by the mixture (1 - alpha) x {metric_title(curve.first)} + alpha x "
        f"{metric_title(curve.second)}, {curve.k} labels per instance."
    )
    body = paragraph(text) + curve_block(curve)
    return Section(curve.name, title, body, {curve.name: draw_curve(curve)}, {curve.name: curve.for_page()})


def _record_section(record: Record) -> Section:
    data = record.get("data", dict)
    rows = [
        ["experiment", record.get("experiment", str)],
        ["data", str(data["name"])],
        ["seconds", f"{record.get('seconds', float):.1f}"],
        *([name, str(value)] for name, value in record.get("versions", dict).items()),
    ]
    text = json.dumps({"specification": record.get("specification", dict), "data": data}, indent=2, ensure_ascii=False)
    body = text_table(["", ""], rows, words=(0, 1)) + details("Specification and inputs", code_block(text))
    return Section("record", "How it was made", body)


def _render_table(table: Record) -> str:
    """A table of figures, the best and the second best of each column marked."""
    columns, rows = table.get("columns", list), table.get("rows", list)
    marks = {column["key"]: _find_marks(column, rows) for column in columns}
    parts = ["<table>", f"<caption>{html.escape(table.get('title', str))}</caption><thead>"]
    groups = [(name, len(list(same))) for name, same in groupby(column.get("group") or "" for column in columns)]
    if any(name for name, _ in groups):
        heads = (f'<th scope="colgroup" colspan="{size}">{html.escape(name)}</th>' for name, size in groups)
        parts.append(f"<tr><td></td>{''.join(heads)}</tr>")
    titles = (f'<th scope="col">{html.escape(column["title"])}</th>' for column in columns)
    parts.append(f"<tr><td></td>{''.join(titles)}</tr></thead>")
    for _, same in groupby(rows, key=lambda row: row.get("group")):
        lines = (_render_row(row, columns, marks) for row in same)
        parts.append(f"<tbody>{''.join(lines)}</tbody>")
    return "\n".join([*parts, "</table>"])


def _render_row(row: dict[str, Any], columns: list[dict[str, Any]], marks: dict[str, dict[str, str]]) -> str:
    cells = []
    for column in columns:
        key = column["key"]
        text = _as_text(row["values"].get(key), column)
        deviation = _as_text((row.get("deviations") or {}).get(key), column)
        classes = " ".join(filter(None, [marks[key].get(text, ""), "own" if key in (row.get("own") or ()) else ""]))
        shown = f"{text} ± {deviation}" if text and deviation else text or NO_VALUE
        cells.append(
            f'<td class="{classes}">{html.escape(shown)}</td>' if classes else f"<td>{html.escape(shown)}</td>"
        )
    return f'<tr><th scope="row">{html.escape(row["name"])}</th>{"".join(cells)}</tr>'


def _find_marks(column: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, str]:
    """The texts of the best and the second best value; what reads the same shares a place."""
    if column.get("better") is None:
        return {}
    values = [row["values"].get(column["key"]) for row in rows]
    known = sorted((value for value in values if value is not None), reverse=column["better"] == "larger")
    texts = list(dict.fromkeys(_as_text(value, column) for value in known))
    return dict(zip(texts, ("best", "second"), strict=False))


def _as_text(value: float | None, column: dict[str, Any]) -> str:
    if value is None:
        return ""
    return f"{100 * value if column.get('percent') else value:.{column['digits']}f}"
