"""The record of an experiment, read back: its tables, and its curves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailwise.experiments.results import Column, MeanPoint, Row, Table
from tailwise.report.curve import ReportCurve
from tailwise.runs.record import Record

__all__ = ["EXPERIMENT_RECORD", "ExperimentFolder", "read_experiment"]

EXPERIMENT_RECORD = "experiment.json"


@dataclass(frozen=True)
class ExperimentFolder:
    """What ``tailwise experiment`` wrote.

    Attributes
    ----------
    record : Record
        The whole of experiment.json.
    tables : list of Table
        Its tables.
    curves : list of (str, ReportCurve)
        Its trade-off curves, with their titles.
    notes : list of str
        What a reader has to know.
    """

    record: Record
    tables: list[Table]
    curves: list[tuple[str, ReportCurve]]
    notes: list[str]


def read_experiment(path: Path) -> ExperimentFolder:
    """Read the record and check it: what the page needs must be there, of the right kind."""
    record = Record.read(path)
    tables = [_read_table(table) for table in record.parts("tables")]
    curves = [_read_curve(curve) for curve in record.parts("curves")]
    notes = record.get("notes", list, may_be_none=True) or []
    return ExperimentFolder(record, tables, curves, [str(note) for note in notes])


def _read_table(table: Record) -> Table:
    columns = tuple(_read_column(column) for column in table.parts("columns"))
    return Table(table.get("name", str), table.get("title", str), columns, tuple(map(_read_row, table.parts("rows"))))


def _read_column(column: Record) -> Column:
    return Column(
        column.get("key", str),
        column.get("title", str),
        column.get("group", str, may_be_none=True) or "",
        column.get("better", str, may_be_none=True),
        column.get("digits", int),
        percent=bool(column.values.get("percent")),
    )


def _read_row(row: Record) -> Row:
    own = row.get("own", list, may_be_none=True) or []
    group = row.get("group", str, may_be_none=True) or ""
    return Row(row.get("name", str), _numbers(row, "values"), _numbers(row, "deviations"), group, tuple(map(str, own)))


def _numbers(row: Record, key: str) -> dict[str, float | None]:
    if row.get(key, dict, may_be_none=key == "deviations") is None:
        return {}
    part = row.part(key)
    return {name: part.get(name, float, may_be_none=True) for name in part.values}


def _read_curve(curve: Record) -> tuple[str, ReportCurve]:
    others = curve.part("others") if "others" in curve.values else Record({}, curve.place)
    return curve.get("title", str), ReportCurve(
        curve.get("name", str),
        curve.get("first", str),
        curve.get("second", str),
        curve.get("measured", str),
        curve.get("k", int),
        tuple(_read_point(point) for point in curve.parts("points")),
        {name: _read_pair(others, name) for name in others.values},
        curve.get("options", dict, may_be_none=True) or {},
        curve.get("probabilities", str),
    )


def _read_point(point: Record) -> MeanPoint:
    numbers = [point.get(name, float) for name in ("alpha", "first", "second")]
    spread = [point.get(name, float, may_be_none=True) for name in ("first_deviation", "second_deviation")]
    return MeanPoint(*numbers, *spread)


def _read_pair(others: Record, name: str) -> tuple[float, float]:
    values: list[Any] = others.get(name, list)
    pair = Record(dict(zip(("first", "second"), values, strict=False)), f"{others.place}, {name}")
    return pair.get("first", float), pair.get("second", float)
