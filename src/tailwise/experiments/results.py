"""What an experiment comes to: tables and curves as plain data, before anybody renders them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from tailwise.errors import InputError

__all__ = ["Column", "MeanCurve", "MeanPoint", "Results", "Row", "Table"]

Value = float | None
_KINDS = {
    Mapping: "an object",
    tuple: "a list",
    str: "text",
    int: "an integer",
    float: "a number",
    bool: "true or false",
}


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
    """A trade-off: that of one run, or one on true labels averaged over seeds.

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

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Results:
        """The results that a record in JSON holds beside other facts; what does not fit is named by its place.

        Examples
        --------
        >>> from tailwise.experiments.results import Results, Table
        >>> table = Table.of({"Top-K": {"p": 0.5}}, {"p": "P"})
        >>> Results.from_dict({"tables": [table.to_dict()]}).tables == (table,)
        True
        """
        return _read_object(cls, record, "")


def _read(kind: Any, value: Any, place: str) -> Any:
    """A value of JSON as what an annotation of this file says."""
    if kind is Any:
        return value
    if isinstance(kind, UnionType):  # X | None
        return None if value is None else _read(get_args(kind)[0], value, place)
    if is_dataclass(kind):
        return _read_object(kind, _check(value, Mapping, place), place)
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if origin is Mapping:
        return {key: _read(inner[1], each, f"{place}, {key}") for key, each in _check(value, Mapping, place).items()}
    if origin is tuple:
        return _read_list(inner, _check(value, tuple, place), place)
    return _check(value, kind, place)


def _read_object(kind: Any, values: Mapping[str, Any], place: str) -> Any:
    hints = get_type_hints(kind)
    is_needed = {each.name: each.default is MISSING and each.default_factory is MISSING for each in fields(kind)}
    before = f"{place}, " if place else ""
    return kind(
        **{
            name: _read(hints[name], values.get(name), f"{before}{name}")
            for name in is_needed
            if is_needed[name] or name in values
        }
    )


def _read_list(kinds: tuple[Any, ...], values: Any, place: str) -> tuple[Any, ...]:
    """A list of any length, ``tuple[X, ...]``, or of a fixed one."""
    kinds = kinds[:1] * len(values) if kinds[-1] is ... else kinds
    if len(values) != len(kinds):
        msg = f"{place} must be a list of {len(kinds)}. Got {len(values)}."
        raise InputError(msg)
    return tuple(_read(kind, each, f"{place} {i}") for i, (kind, each) in enumerate(zip(kinds, values, strict=True)))


def _check(value: Any, kind: Any, place: str) -> Any:
    fitting = {float: (int, float), tuple: (list, tuple)}.get(kind, kind)
    if not isinstance(value, fitting) or (isinstance(value, bool) and kind is not bool):
        came = "nothing" if value is None else f"{value!r:.60}"
        msg = f"{place} must be {_KINDS[kind]}. Got {came}."
        raise InputError(msg)
    return value
