"""The page of an experiment: its tables, its curves with their dials, and how it was made."""

from __future__ import annotations

import json
from pathlib import Path

from tailwise.report.charts import draw_curve
from tailwise.report.curve import ReportCurve
from tailwise.report.curve_block import curve_block
from tailwise.report.experiment_record import ExperimentFolder, read_experiment
from tailwise.report.markup import Page, Section, code_block, details, paragraph, text_table
from tailwise.report.tables import describe_marks, to_html
from tailwise.report.words import count_text, labels_text
from tailwise.runs.record import Record

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
    marks = (describe_marks(table, best="bold", second="italic", own="green") for table in experiment.tables)
    legend = "".join(paragraph(f"{mark[0].upper()}{mark[1:]}.", kind="note") for mark in dict.fromkeys(marks) if mark)
    tables = "\n".join(f'<div class="scroll">{to_html(table)}</div>' for table in experiment.tables)
    notes = "".join(paragraph(note, kind="note") for note in experiment.notes)
    return Section("tables", "Tables" if len(experiment.tables) > 1 else "Table", words + tables + legend + notes)


def _curve_section(title: str, curve: ReportCurve) -> Section:
    text = f"Each point of the line is a selection by the mixture {curve.formula}, {labels_text(curve.k)} per instance."
    note = (
        f"The command reads {curve.probabilities}, the probabilities of the experiment, and priors.npz of its folder: "
        "give the way to either."
    )
    body = paragraph(text) + paragraph(note, kind="note") + curve_block(curve)
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
