"""Published results of the paper for probabilistic label trees, for comparison with ours."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources

from tailwise.experiments.results import Column, Row, Table

PLAIN_NUMBERS = ("milliseconds", "nodes")  # all others are in percent


def paper_values(table: str, data: str) -> dict[tuple[str, int], dict[str, float | None]]:
    """Return the paper's values of a table ("label-tree" or "head-labels") for a benchmark, by row name and k."""
    found = {}
    for line in _read(table):
        if line["data"] == data:
            name = line.get("strategy") or line["labels"]
            keys = [key for key in line if key not in ("data", "strategy", "labels", "k")]
            found[name, int(line["k"])] = {key: _as_number(key, line[key]) for key in keys}
    return found


def side_by_side(
    name: str, title: str, columns: Sequence[Column], ours: Sequence[Row], paper: Mapping[str, Mapping]
) -> Table:
    """Build a table with the paper's values and ours in adjacent columns, for rows that the paper has."""
    pairs = [
        Column(f"{column.key} {whose}", whose, column.key, None, column.digits, column.percent)
        for column in columns
        for whose in ("paper", "ours")
    ]
    rows = []
    for row in ours:
        if row.name in paper:
            theirs = {f"{key} paper": value for key, value in paper[row.name].items()}
            rows.append(Row(row.name, {**theirs, **{f"{key} ours": value for key, value in row.values.items()}}))
    return Table(name, title, tuple(pairs), tuple(rows))


def _as_number(key: str, text: str) -> float | None:
    if text == "":
        return None
    return float(text) if key in PLAIN_NUMBERS else float(text) / 100


@cache
def _read(table: str) -> tuple[dict[str, str], ...]:
    path = resources.files("tailwise.experiments").joinpath("paper").joinpath(f"{table}.csv")
    return tuple(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
