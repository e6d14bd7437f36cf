"""Figures that the paper publishes for probabilistic label trees, as references to stand beside ours."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources

from tailwise.experiments.results import Column, Row, Table

__all__ = ["paper_values", "side_by_side"]

PLAIN_NUMBERS = ("milliseconds", "nodes")  # all others are in percent


def paper_values(table: str, data: str) -> dict[tuple[str, int], dict[str, float | None]]:
    """The paper's values for a benchmark, by the name of the line and k; empty where it has none.

    Parameters
    ----------
    table : {"label-tree", "head-labels"}
        Which table.
    data : str
        The benchmark, by its name in the catalogue.
    """
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
    """The paper's value and ours of each column, next to each other, for the lines that the paper has."""
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
