"""A selection on its way out: as a table of the library that the input came from, a dictionary, or a file."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.errors import InputError, MissingExtraError
from tailwise.inputs.chosen import EMPTY
from tailwise.selection.reasons import LITTLE, UNLIKELY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.inputs.ids import Ids
    from tailwise.selection.present import Selection

__all__ = ["describe_makeweights", "labels_of", "to_dict", "to_frame"]

# Libraries that make tables; those of others come out as tables of the one that they are made of.
BUILDERS = ("pandas", "polars", "pyarrow")


def describe_makeweights(selection: Selection) -> tuple[str, ...]:
    """Say how many slots hold labels that are unlikely and gain next to nothing: a smaller budget has none of them."""
    probabilities, gains = selection.probabilities, selection.gains
    if probabilities is None or gains is None or not (probabilities < UNLIKELY).any():
        return ()
    highest = np.where(np.isnan(gains), 0.0, gains).max(axis=1, keepdims=True)
    count = int(((probabilities < UNLIKELY) & (gains < np.maximum(LITTLE * highest, 0.0))).sum())
    if not count:
        return ()
    n_slots = int((selection.labels != EMPTY).sum())
    return (
        f"In {count:,} of {n_slots:,} slots ({count / n_slots:.1%}), the label only makes up the number k: it is less "
        f"than {UNLIKELY:.0%} likely and gains next to nothing. Use a smaller k, a budget for each instance (k as an "
        "array), or no budget (k=None, -k none).",
    )


def to_frame(selection: Selection, library: str | None = None) -> Any:
    """Build the table; see :meth:`Selection.to_frame`."""
    columns = _columns_of(selection)
    name = _choose_library(library or selection.origin.library)
    module = importlib.import_module(name)
    return module.table(columns) if name == "pyarrow" else module.DataFrame(columns)


def _columns_of(selection: Selection) -> dict[str, Any]:
    instances, slots = np.nonzero(selection.labels != EMPTY)
    labels, names = selection.labels[instances, slots], selection.label_names
    columns: dict[str, Any] = {
        "instance": _name(instances, selection.instance_ids),
        "rank": slots + 1,
        "label": _name(labels, names),
    }
    if names is not None and names.titles is not None:
        columns["name"] = _take(np.array(names.titles, dtype=object), labels)
    for name, values in (("probability", selection.probabilities), ("gain", selection.gains)):
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


def to_dict(selection: Selection) -> dict[Any, list[Any]]:
    """Build the dictionary; see :meth:`Selection.to_dict`."""
    instances = selection.instance_ids or range(selection.n_instances)
    return {instance: labels_of(selection, i) for i, instance in enumerate(instances)}


def labels_of(selection: Selection, row: int) -> list[Any]:
    """The labels of one row, by their ids if there are any."""
    labels = selection.labels[row]
    numbers = labels[labels != EMPTY].tolist()
    return numbers if selection.label_names is None else [selection.label_names[j] for j in numbers]
