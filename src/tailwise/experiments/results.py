"""Results of experiments: tables and curves as plain data, independent of their rendering."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from tailwise.errors import InputError

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
    """A column of a table."""

    key: str  # of its values in rows
    title: str
    group: str = ""  # a heading shared with neighbouring columns
    better: str | None = "larger"  # or "smaller"; None for numbers that are not compared
    digits: int = 2
    percent: bool = True


@dataclass(frozen=True)
class Row:
    """A row of a table; values that are unknown are missing or None."""

    name: str
    values: Mapping[str, Value]
    deviations: Mapping[str, Value] = field(default_factory=dict)
    group: str = ""  # the block of rows that it belongs to
    own: tuple[str, ...] = ()  # keys of the columns that it optimises


@dataclass(frozen=True)
class Table:
    """A table of numbers; ``name`` is used for files, ``title`` as heading."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    @classmethod
    def of(cls, rows: Mapping[str, Mapping[str, float]], titles: Mapping[str, str], **column: Any) -> Table:
        """Build a table from values by row and key, and titles by key; ``column`` holds options of all columns."""
        columns = tuple(Column(key, title, **column) for key, title in titles.items())
        return cls("", "", columns, tuple(Row(name, values) for name, values in rows.items()))


@dataclass(frozen=True)
class MeanPoint:
    """A mixture: its alpha, and mean and standard deviation of both metrics over seeds."""

    alpha: float
    first: float
    second: float
    first_deviation: float | None = None
    second_deviation: float | None = None


@dataclass(frozen=True)
class MeanCurve:
    """A trade-off curve of one run, or averaged over seeds.

    ``others`` are strategies for comparison; ``probabilities`` is the name of the file from which labels were chosen,
    and ``options`` are the options of ``tailwise select`` that reproduce its points.
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


@dataclass(frozen=True)
class Results:
    """The tables and curves of an experiment, notes for readers, and the duration of all runs."""

    tables: tuple[Table, ...] = ()
    curves: tuple[MeanCurve, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Results:
        """Read results from JSON values, which may hold other facts; errors name the place of a wrong value."""
        return _read_object(cls, record, "")


def _read(kind: Any, value: Any, place: str) -> Any:
    """Convert a JSON value to the type of an annotation."""
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
    """Convert a list of any length, ``tuple[X, ...]``, or of fixed length."""
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
