"""Wide tables: a row for each instance, and a column of numbers for each label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tailwise.errors import InputError
from tailwise.inputs.ids import Ids
from tailwise.inputs.label_names import LabelNames

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["index_of", "is_wide", "names_of_columns", "read_wide", "refuse_levels", "values_by_id"]


def is_wide(frame: Any, found: dict[str, Any]) -> bool:
    """Whether a table has a column for each label: none is called label or probability, and all but one are numbers."""
    return "label" not in found and "probability" not in found and len(_other_columns(frame, found)) <= 1


class Wide(NamedTuple):
    """The content of a wide table."""

    values: NDArray
    instance_ids: Ids | None
    label_names: LabelNames | None
    messages: tuple[str, ...]


def read_wide(frame: Any, found: dict[str, Any], name: str) -> Wide:
    """Read the values, the ids of the instances and the names of the labels.

    Instances are named by a column that does not hold numbers or has a usual name, or by an index of pandas that has a
    name or differs from 0, 1, 2, ...; labels by the columns, unless these are 0, 1, 2, ... as well.
    """
    refuse_levels(frame.to_native(), name)
    of_instances = _other_columns(frame, found)
    columns = [column for column in frame.columns if column not in of_instances]
    values = frame.to_numpy() if len(columns) == len(frame.columns) else frame.select(columns).to_numpy()
    values = values.astype(np.float64) if values.dtype == object else values
    if values.dtype.kind == "f" and np.isnan(values).any():
        i, j = np.argwhere(np.isnan(values))[0]
        msg = f"{name} must not be missing. Row {i} has none for {columns[j]!r}. Fill them in, with .fillna(0)."
        raise InputError(msg)
    ids, messages = _find_ids(frame, of_instances, found, name)
    return Wide(values, None if ids is None else ids.check_unique(), names_of_columns(columns), messages)


def _find_ids(
    frame: Any, of_instances: list[Any], found: dict[str, Any], name: str
) -> tuple[Ids | None, tuple[str, ...]]:
    """The ids of the instances, and where they are from."""
    table = frame.to_native()
    of_index = index_of(table)
    if not of_instances:
        return of_index, () if of_index is None else (f"Instances are named by the index{_name_of_index(table)}.",)
    column = of_instances[0]
    # Integers without a name are usually what is left of 0, 1, 2, ... after rows were taken out.
    if of_index is not None and (_name_of_index(table) or of_index.values.dtype.kind not in "iu"):
        msg = (
            f"{name} must name its instances once. Its index{_name_of_index(table)} does, and the column {column!r} "
            f"holds no values either. Use .drop(columns={column!r}), or .reset_index(drop=True) if that column does."
        )
        raise InputError(msg)
    messages = () if "instance" in found else (f"Instances are named by the column {column!r}.",)
    return Ids(frame[column].to_list()), messages


def refuse_levels(table: Any, name: str) -> None:
    """Refuse an index of pandas with several levels, which are columns of entries for us."""
    if getattr(getattr(table, "index", None), "nlevels", 1) > 1:
        levels = ", ".join(str(level) for level in table.index.names)
        msg = f"{name} as a table must have ids in columns. Got them in an index of {levels}. Use .reset_index() first."
        raise InputError(msg)


def _name_of_index(table: Any) -> str:
    name = getattr(getattr(table, "index", None), "name", None)
    return "" if name is None else f" {name!r}"


def names_of_columns(columns: list[Any]) -> LabelNames | None:
    """Return the columns of a table as names of labels, unless they are 0, 1, 2, ..."""
    return None if columns == list(range(len(columns))) else LabelNames(columns)


def _other_columns(frame: Any, found: dict[str, Any]) -> list[Any]:
    """The columns that are not values: those without numbers, or one with a usual name for instances."""
    named = [found["instance"]] if "instance" in found else []
    types = zip(frame.columns, frame.schema.values(), strict=True)
    odd = [column for column, kind in types if not (kind.is_numeric() or str(kind) == "Boolean")]
    return list(dict.fromkeys([*named, *odd]))


def index_of(table: Any) -> Ids | None:
    """Return the index of a pandas table as ids, unless it is a nameless 0, 1, 2, ...; None for any other value."""
    index: Any = getattr(table, "index", None)
    if not hasattr(index, "dtype"):  # lists have a method of this name
        return None
    is_numbered = index.dtype.kind in "iu" and index.name is None
    if is_numbered and np.array_equal(np.asarray(index), np.arange(len(table))):
        return None
    return Ids(index)


def values_by_id(values: Any, ids: Ids, name: str, what: str) -> Any:
    """Put a mapping or a pandas Series with ids in the order of the instances or labels; return others unchanged."""
    kind = "mapping" if isinstance(values, Mapping) else "Series"
    of_values = Ids(list(values)) if isinstance(values, Mapping) else index_of(values)
    if of_values is None:
        return values
    values = list(values.values()) if isinstance(values, Mapping) else values
    positions = of_values.positions_of(ids)
    if (positions < 0).any():
        missing = ids[int(np.argmin(positions))]
        rule = f"{name} as a {kind} must hold a number for each {what}"
        msg = f"{rule}. Got none for {missing!r}. Add it, or give an array."
        raise InputError(msg)
    return np.asarray(values)[positions]
