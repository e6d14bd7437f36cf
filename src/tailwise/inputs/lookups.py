"""Finding the instances and labels that users give by id, by title, or by number."""

from __future__ import annotations

import re
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
        near = _name_other_type(instance, ids) or _suggest(str(instance), names, n_instances)
        msg = f"instance must be one of the batch. Got {instance!r}. {near}"
        raise InputError(msg)
    return row


def find_label(label: Any, n_labels: int, names: LabelNames | None = None) -> int:
    """Return the number of a label, given by its id or its title, or by its number if no id is an integer.

    Text can stand for an integer, as on the command line.
    """
    number = int(label) if isinstance(label, str) and label.isdecimal() else label
    if names is not None and (found := _find_name(label, number, names)) is not None:
        return found
    has_numbers = names is None or not any(map(is_integer, names.ids))
    if has_numbers and is_integer(number) and 0 <= number < n_labels:
        return int(number)
    is_number = has_numbers and not isinstance(label, str)
    known = None if names is None or is_number else [str(each) for each in (*names.ids, *(names.titles or ()))]
    near = _name_other_type(label, names) or _suggest(str(label), known and [each for each in known if each], n_labels)
    msg = f"label must be one of the batch. Got {label!r}. {near}"
    raise InputError(msg)


def _find_name(label: Any, number: Any, names: LabelNames) -> int | None:
    """Return the number of the label with this id, this integer as id, or this title."""
    for each in (label, number):
        if (found := names.number_of(each)) is not None:
            return found
    return names.titles.index(label) if names.titles is not None and label in names.titles else None


def _name_other_type(value: Any, ids: Ids | None) -> str:
    """Say that the same id is there as a value of another type, a UUID in place of text for instance."""
    same = None if ids is None else next((each for each in ids if str(each) == str(value)), None)
    if same is None:
        return ""
    return f"The ids are of type {type(same).__name__}, not {type(value).__name__}: give {same!r}."


def _suggest(name: str, names: list[str] | None, size: int) -> str:
    if names is None:
        return f"Use a number from 0 to {size - 1}."
    by_form: dict[str, str] = {}
    for each in names:
        by_form.setdefault(_plain_form(each), each)
    near = [by_form[form] for form in get_close_matches(_plain_form(name), by_form, n=N_NEAREST, cutoff=0.5)]
    if near:
        return f"The nearest names are {', '.join(map(repr, near))}."
    return f"The first ids are {', '.join(names[:2])}."


def _plain_form(name: str) -> str:
    """A name in small letters, and its numbers without leading zeros."""
    return re.sub(r"(?<!\d)0+(?=\d)", "", name.casefold())
