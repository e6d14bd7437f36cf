"""The cells of a table as text, with the best and the second best of each column."""

from __future__ import annotations

import math
from enum import Enum

from tailwise.experiments.results import Column, Row, Table

__all__ = ["Cell", "Mark", "fill_cells"]


class Mark(Enum):
    """The place of a cell in its column."""

    NONE = 0
    BEST = 1
    SECOND = 2


class Cell:
    """What stands in a cell: ``text`` (empty for an unknown value), ``mark``, and whether it is what its row is for."""

    __slots__ = ("is_own", "mark", "text")

    def __init__(self, text: str, mark: Mark, *, is_own: bool) -> None:
        self.text, self.mark, self.is_own = text, mark, is_own


def fill_cells(table: Table, *, plus_minus: str = " ± ") -> list[list[Cell]]:
    """The cells, line by line. Values that read the same share a place: what cannot be seen is no difference."""
    places = [_find_places(table, column) for column in table.columns]
    return [
        [
            Cell(
                _with_deviation(row, column, plus_minus),
                marks.get(_as_text(row.values.get(column.key), column), Mark.NONE),
                is_own=column.key in row.own,
            )
            for column, marks in zip(table.columns, places, strict=True)
        ]
        for row in table.rows
    ]


def _find_places(table: Table, column: Column) -> dict[str, Mark]:
    """The texts of the best and of the second best value."""
    if column.better is None:
        return {}
    values = [row.values.get(column.key) for row in table.rows]
    known = sorted(value for value in values if value is not None and not math.isnan(value))
    ordered = known[::-1] if column.better == "larger" else known
    texts = list(dict.fromkeys(_as_text(value, column) for value in ordered))
    if len(known) > 1 and len(texts) == 1:  # where all agree, none is better than another
        return {}
    return dict(zip(texts, (Mark.BEST, Mark.SECOND), strict=False))


def _as_text(value: float | None, column: Column) -> str:
    if value is None:
        return ""
    return f"{100 * value if column.percent else value:.{column.digits}f}"


def _with_deviation(row: Row, column: Column, plus_minus: str) -> str:
    text, deviation = _as_text(row.values.get(column.key), column), row.deviations.get(column.key)
    return text if text == "" or deviation is None else f"{text}{plus_minus}{_as_text(deviation, column)}"
