"""Instances and labels as users name them: by id, by title, or by number."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from tailwise.errors import InputError
from tailwise.inputs.checks import is_integer

if TYPE_CHECKING:
    from tailwise.inputs.ids import Ids
    from tailwise.inputs.label_names import LabelNames

__all__ = ["find_label", "find_row"]

N_NEAREST = 3


def find_row(instance: Any, n_instances: int, ids: Ids | None = None) -> int:
    """Return the row of an instance, given by its id, or by its number if there are no ids.

    Text can stand for an integer, as on the command line.
    """
    number = int(instance) if isinstance(instance, str) and instance.isdecimal() else instance
    if ids is not None:
        row = ids.position_of(instance)
        row = ids.position_of(number) if row is None else row
    else:
        row = int(number) if is_integer(number) and 0 <= number < n_instances else None
    if row is None:
        names = None if ids is None else [str(each) for each in ids]
        msg = f"instance must be one of the batch. Got {instance!r}. {_suggest(str(instance), names, n_instances)}"
        raise InputError(msg)
    return row


def find_label(label: Any, n_labels: int, names: LabelNames | None = None) -> int:
    """Return the number of a label, given by its identifier, its title or its number; names come first."""
    if isinstance(label, str):
        if names is not None and (found := names.number_of(label)) is not None:
            return found
        if names is not None and names.titles is not None and label in names.titles:
            return names.titles.index(label)
        known = None if names is None else [str(each) for each in (*names.ids, *(names.titles or ())) if each != ""]
        if not label.isdecimal():
            msg = f"label must be one of the batch. Got {label!r}. {_suggest(label, known, n_labels)}"
            raise InputError(msg)
        label = int(label)
    if not is_integer(label) or not 0 <= label < n_labels:
        msg = f"label must be one of the batch. Got {label!r}. Use a number from 0 to {n_labels - 1}."
        raise InputError(msg)
    return int(label)


def _suggest(name: str, names: list[str] | None, size: int) -> str:
    near = [] if names is None else get_close_matches(name, names, n=N_NEAREST, cutoff=0.5)
    if near:
        return f"The nearest names are {', '.join(map(repr, near))}."
    return f"Use a number from 0 to {size - 1}." if names is None else f"The first ids are {', '.join(names[:2])}."
