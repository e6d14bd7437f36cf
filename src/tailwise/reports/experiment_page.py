"""The page of an experiment, and its tables and figures as files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tailwise.datasets.formats.disk import written_beside
from tailwise.errors import FileError, InputError
from tailwise.experiments.results import Results, Table
from tailwise.reports.charts import draw_curve
from tailwise.reports.dial import describe_dial
from tailwise.reports.figures import save_mean_curve
from tailwise.reports.tables import describe_marks, to_csv, to_html, to_latex, to_text
from tailwise.reports.templates import render
from tailwise.reports.words import count_text
from tailwise.runs.record import REMEDY, Record


def read_experiment(path: Path) -> tuple[Record, Results]:
    """Read the record of an experiment and the results in it."""
    record = Record.read(path)
    with _refusals_of(path):
        return record, Results.from_dict(record.values)


@contextmanager
def _refusals_of(path: Path) -> Iterator[None]:
    """Convert InputErrors to FileErrors about the record."""
    try:
        yield
    except InputError as error:
        msg = f"{path} must be the record of an experiment: {error} {REMEDY}."
        raise FileError(msg) from error


def describe_experiment(path: Path) -> dict[str, Any]:
    """Return the variables of the template experiment.html."""
    record, results = read_experiment(path)
    data = record.part("data")
    name = data.get("name", str)
    curves = [curve for curve in results.curves if curve.points]
    with _refusals_of(path):
        dials = {curve.name: describe_dial(curve) for curve in curves}
    tables = {"tables": "Tables" if len(results.tables) > 1 else "Table"} if results.tables else {}
    made_by = {"experiment": record.get("experiment", str), "data": name, "seconds": f"{results.seconds:.1f}"}
    kept = {"specification": record.get("specification", dict), "data": data.values}
    marks = (describe_marks(table, best="bold", second="italic", own="green") for table in results.tables)
    return {
        "title": record.get("title", str),
        "subtitle": f"{name}: {count_text(data.get('instances', int))} instances, "
        f"{count_text(data.get('labels', int))} labels",
        "sections": {**tables, **{curve.name: curve.title for curve in curves}, "record": "How it was made"},
        "paper": record.get("paper", str, may_be_none=True),
        "tables": [to_html(table) for table in results.tables],
        "notes": [*(f"{each[0].upper()}{each[1:]}." for each in dict.fromkeys(marks) if each), *results.notes],
        "curves": curves,
        "charts": {curve.name: draw_curve(curve) for curve in curves},
        "dials": dials,
        "made_by": made_by | record.get("versions", dict),
        "record": json.dumps(kept, indent=2, ensure_ascii=False),
    }


def save_results(results: Results, folder: Path) -> None:
    """Write the folders ``tables`` (.txt, .csv, .tex, .html) and ``figures`` (.png, .svg)."""
    (folder / "tables").mkdir(exist_ok=True)
    for table in results.tables:
        for suffix, text in _write_table(table, results.notes).items():
            with written_beside(folder / "tables" / f"{table.name}{suffix}") as file:
                file.write(text.encode())
    if results.curves:
        (folder / "figures").mkdir(exist_ok=True)
    for curve in results.curves:
        save_mean_curve([folder / "figures" / f"{curve.name}{suffix}" for suffix in (".png", ".svg")], curve)


def _write_table(table: Table, notes: tuple[str, ...]) -> dict[str, str]:
    """Return the text of each file by suffix."""
    marks = describe_marks(table, best="bold", second="italic", own="green")
    shown = [note for note in (marks, *notes) if note]
    page = render("table_file.html", title=table.title, table=to_html(table), notes=shown)
    shown = [note for note in (describe_marks(table, best="*", second="'"), *notes) if note]
    plain = "\n\n".join([table.title, to_text(table), *shown]) + "\n"
    return {".txt": plain, ".csv": to_csv(table), ".tex": to_latex(table), ".html": page}
