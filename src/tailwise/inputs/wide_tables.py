"""Wide tables: a row for each instance, and a column of numbers for each label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.errors import InputError
from tailwise.inputs.ids import Ids
from tailwise.inputs.label_names import LabelNames

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["is_wide", "read_wide"]


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
    ids = Ids(frame[of_instances[0]].to_list()) if of_instances else _index_of(frame)
    names = None if columns == list(range(len(columns))) else LabelNames(columns)
    return values, None if ids is None else ids.check_unique(), names


def _other_columns(frame: Any, found: dict[str, Any]) -> list[Any]:
    """The columns that are not values: those that hold no numbers, or one that is named as that of instances."""
    named = [found["instance"]] if "instance" in found else []
    types = zip(frame.columns, frame.schema.values(), strict=True)
    odd = [column for column, kind in types if not (kind.is_numeric() or str(kind) == "Boolean")]
    return list(dict.fromkeys([*named, *odd]))


def _index_of(frame: Any) -> Ids | None:
    index = getattr(frame.to_native(), "index", None)
    if index is None or (index.dtype.kind in "iu" and np.array_equal(np.asarray(index), np.arange(len(frame)))):
        return None
    return Ids(index)
