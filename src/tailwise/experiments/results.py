"""What an experiment comes to: tables and curves as plain data, before anybody renders them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Column", "MeanCurve", "MeanPoint", "Results", "Row", "Table"]

Value = float | None


@dataclass(frozen=True)
class Column:
    """One number of each row.

    Attributes
    ----------
    key : str
        Where rows keep it.
    title, group : str
        Its heading, and the heading that it shares with its neighbours.
    better : {"larger", "smaller", None}
        Which value is the best of the column; None for numbers that are not compared.
    digits : int
        Decimals.
    percent : bool
        Whether a share is shown in percent.
    """

    key: str
    title: str
    group: str = ""
    better: str | None = "larger"
    digits: int = 2
    percent: bool = True


@dataclass(frozen=True)
class Row:
    """A line of a table.

    Attributes
    ----------
    name, group : str
        What the line is called, and the block of lines that it stands in.
    values, deviations : mapping of str to float
        Means and standard deviations by the key of their column; what is missing or None is not known.
    own : tuple of str
        Keys of the columns that this line is made for.
    """

    name: str
    values: Mapping[str, Value]
    deviations: Mapping[str, Value] = field(default_factory=dict)
    group: str = ""
    own: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """Lines of numbers; ``name`` serves for files, ``title`` for people."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    @classmethod
    def of(cls, rows: Mapping[str, Mapping[str, float]], titles: Mapping[str, str], **column: Any) -> Table:
        """From values by row and key, with a title for each key; ``column`` holds what all columns share."""
        columns = tuple(Column(key, title, **column) for key, title in titles.items())
        return cls("", "", columns, tuple(Row(name, values) for name, values in rows.items()))

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


@dataclass(frozen=True)
class MeanPoint:
    """A mixture: its alpha, and mean and standard deviation of either metric over several seeds."""

    alpha: float
    first: float
    second: float
    first_deviation: float | None = None
    second_deviation: float | None = None


@dataclass(frozen=True)
class MeanCurve:
    """A trade-off on true labels, averaged over seeds.

    ``others`` are strategies to compare it with; ``probabilities`` is the name of the file that its points were chosen
    from, and ``options`` are those of ``tailwise select`` that they need.
    """

    name: str
    title: str
    first: str
    second: str
    k: int
    points: tuple[MeanPoint, ...]
    others: Mapping[str, tuple[float, float]]
    probabilities: str
    measured: str = "realised"
    options: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


@dataclass(frozen=True)
class Results:
    """The tables and curves of an experiment, what a reader has to know about them, and the seconds of all runs."""

    tables: tuple[Table, ...] = ()
    curves: tuple[MeanCurve, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
