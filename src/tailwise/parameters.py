"""Rules that parameters of several functions share."""

from __future__ import annotations

from typing import Any

import numpy as np

from tailwise.errors import InputError

__all__ = ["check_choice", "check_numbering", "check_seed", "is_integer"]

FREE_ROWS, FREE_COLUMNS, FREE_PER_ENTRY = 10_000_000, 100_000_000, 100


def is_integer(value: Any) -> bool:
    """Whether a parameter is an integer, Python's or numpy's; True and False are none."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Refuse a value that is none of the choices."""
    if not isinstance(value, str) or value not in choices:
        msg = f"{name} must be one of {', '.join(choices)}. Got {value!r}."
        raise InputError(msg)


def check_numbering(source: Any, what: str, size: int, n_entries: int) -> None:
    """Refuse numbers of instances, labels or features that leave nearly all others out: these would fill the memory.

    So many that nobody minds are free, and so are some for each entry.
    """
    free = FREE_ROWS if what == "instance" else FREE_COLUMNS
    if size > max(free, FREE_PER_ENTRY * n_entries):
        msg = (
            f"The {what} numbers in {source} must be 0, 1, 2, ... without large gaps. Got {size - 1}, with "
            f"{n_entries:,} entries in all. Number the {what}s that are there one after another."
        )
        raise InputError(msg)


def check_seed(seed: Any) -> None:
    """Refuse what numpy's generators do not take as a seed."""
    if not is_integer(seed) or seed < 0:
        msg = f"seed must be an integer of at least 0. Got {seed!r}."
        raise InputError(msg)
