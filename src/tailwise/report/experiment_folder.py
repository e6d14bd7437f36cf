"""The record of an experiment, read back: its tables, and its curves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tailwise.report.curve import CurvePoint, ReportCurve
from tailwise.report.records import Record

__all__ = ["EXPERIMENT_RECORD", "ExperimentFolder", "read_experiment"]

EXPERIMENT_RECORD = "experiment.json"


@dataclass(frozen=True)
class ExperimentFolder:
    """What ``tailwise experiment`` wrote.

    Attributes
    ----------
    record : Record
        The whole of experiment.json.
    tables : list of Record
        Its tables, checked.
    curves : list of (str, ReportCurve)
        Its trade-off curves, with their titles.
    """

    record: Record
    tables: list[Record]
    curves: list[tuple[str, ReportCurve]]


def read_experiment(path: Path) -> ExperimentFolder:
    """Read the record and check it: what the page needs must be there, of the right kind."""
    record = Record.read(path)
    tables = record.parts("tables")
    for table in tables:
        _check_table(table)
    return ExperimentFolder(record, tables, [_read_curve(curve) for curve in record.parts("curves")])


def _check_table(table: Record) -> None:
    table.get("title", str)
    for column in table.parts("columns"):
        column.get("key", str)
        column.get("title", str)
        column.get("group", str, may_be_none=True)
        column.get("better", str, may_be_none=True)
        column.get("digits", int)
    for row in table.parts("rows"):
        row.get("name", str)
        row.get("own", list, may_be_none=True)
        has_deviations = row.get("deviations", dict, may_be_none=True) is not None
        for numbers in (row.part("values"), *([row.part("deviations")] if has_deviations else [])):
            for key in numbers.values:
                numbers.get(key, float, may_be_none=True)


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
    )


def _read_point(point: Record) -> CurvePoint:
    numbers = [point.get(name, float) for name in ("alpha", "first", "second")]
    spread = [point.get(name, float, may_be_none=True) for name in ("first_deviation", "second_deviation")]
    return CurvePoint(*numbers, *spread)


def _read_pair(others: Record, name: str) -> tuple[float, float]:
    values: list[Any] = others.get(name, list)
    pair = Record(dict(zip(("first", "second"), values, strict=False)), f"{others.place}, {name}")
    return pair.get("first", float), pair.get("second", float)
