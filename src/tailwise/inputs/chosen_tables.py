"""Chosen labels on their way out: as a table of the library that the input came from, or as lists of ids."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tailwise.inputs.chosen import Chosen
    from tailwise.inputs.ids import Ids

__all__ = ["labels_of", "to_frame"]

# Libraries that make tables; those of others come out as tables of the one that they are made of.
BUILDERS = ("pandas", "polars", "pyarrow")


def to_frame(chosen: Chosen, library: str, more: Mapping[str, NDArray | None]) -> Any:
    """Build the table, with a column for each array of numbers by slot; see :meth:`Chosen.to_frame`."""
    columns = _columns_of(chosen, more)
    name = _choose_library(library)
    module = importlib.import_module(name)
    return module.table(columns) if name == "pyarrow" else module.DataFrame(columns)


def _columns_of(chosen: Chosen, more: Mapping[str, NDArray | None]) -> dict[str, Any]:
    instances, slots = np.nonzero(chosen.labels >= 0)
    labels, names = chosen.labels[instances, slots], chosen.label_names
    columns: dict[str, Any] = {
        "instance": _name(instances, chosen.instance_ids),
        "rank": slots + 1,
        "label": _name(labels, names),
    }
    if names is not None and names.titles is not None:
        columns["name"] = _take(np.array(names.titles, dtype=object), labels)
    for name, values in more.items():
        if values is not None:
            columns[name] = values[instances, slots]
    return columns


def _name(numbers: NDArray, ids: Ids | None) -> Any:
    return numbers if ids is None else _take(ids.values, numbers)


def _take(values: NDArray, numbers: NDArray) -> Any:
    """Values by number; objects as a list, which every library takes as the type that they are."""
    taken = values[numbers]
    return taken.tolist() if values.dtype == object else taken


def _choose_library(wanted: str) -> str:
    """The library that is asked for, or the first that is installed."""
    if wanted and wanted not in BUILDERS and wanted not in ("dask", "modin"):
        msg = f"library must be one of {', '.join(BUILDERS)}. Got {wanted!r}."
        raise InputError(msg)
    names = [wanted] if wanted in BUILDERS else list(BUILDERS)
    found = next((name for name in names if importlib.util.find_spec(name) is not None), None)
    if found is None:
        msg = f"to_frame needs {' or '.join(names)}, which is not installed. Install it with: pip install {names[0]}"
        raise MissingExtraError(msg)
    return found


def labels_of(chosen: Chosen, row: int) -> list[Any]:
    """The labels of one row, by their ids if there are any."""
    labels = chosen.labels[row]
    numbers = labels[labels >= 0].tolist()
    return numbers if chosen.label_names is None else [chosen.label_names[j] for j in numbers]
