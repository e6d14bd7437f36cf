"""Wide tables: a row for each instance, and a column of numbers for each label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.errors import InputError
from tailwise.inputs.ids import Ids
from tailwise.inputs.label_names import LabelNames

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["index_of", "is_wide", "names_of_columns", "read_wide", "values_by_id"]


def is_wide(frame: Any, found: dict[str, Any]) -> bool:
    """Whether a table has a column for each label: none is called label or probability, and all but one are numbers."""
    return "label" not in found and "probability" not in found and len(_other_columns(frame, found)) <= 1


def read_wide(frame: Any, found: dict[str, Any], name: str) -> tuple[NDArray, Ids | None, LabelNames | None]:
    """Return the values, the ids of the instances and the names of the labels.

    Instances are named by a column that does not hold numbers or has a usual name, or by an index of pandas other than
    0, 1, 2, ...; labels by the columns, unless these are 0, 1, 2, ... as well.
    """
    of_instances = _other_columns(frame, found)
    columns = [column for column in frame.columns if column not in of_instances]
    values = frame.to_numpy() if len(columns) == len(frame.columns) else frame.select(columns).to_numpy()
    values = values.astype(np.float64) if values.dtype == object else values
    if values.dtype.kind == "f" and np.isnan(values).any():
        i, j = np.argwhere(np.isnan(values))[0]
        msg = f"{name} must not be missing. Row {i} has none for {columns[j]!r}. Fill them in, with .fillna(0)."
        raise InputError(msg)
    ids = Ids(frame[of_instances[0]].to_list()) if of_instances else index_of(frame.to_native())
    return values, None if ids is None else ids.check_unique(), names_of_columns(columns)


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
    """Return the index of a pandas table as ids, unless it is 0, 1, 2, ...; None for any other value."""
    index: Any = getattr(table, "index", None)
    if not hasattr(index, "dtype"):  # lists have a method of this name
        return None
    if index.dtype.kind in "iu" and np.array_equal(np.asarray(index), np.arange(len(table))):
        return None
    return Ids(index)


def values_by_id(values: Any, ids: Ids, name: str, what: str) -> Any:
    """Put a pandas Series with ids in the order of the instances or labels; other values are returned unchanged."""
    of_values = index_of(values)
    if of_values is None:
        return values
    positions = of_values.positions_of(ids)
    if (positions < 0).any():
        missing = ids[int(np.argmin(positions))]
        rule = f"{name} as a Series must hold a number for each {what}"
        msg = f"{rule}. Got none for {missing!r}. Add it, or give an array."
        raise InputError(msg)
    return np.asarray(values)[positions]
