"""Checks of parameters that several functions share."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tailwise.errors import InputError

__all__ = [
    "LARGEST_SIZE",
    "check_choice",
    "check_numbering",
    "check_seed",
    "check_size",
    "check_workers",
    "count_cores",
    "is_integer",
]

LARGEST_SIZE = 2**63 - 1  # the largest index of numpy
# Sizes that are always accepted, and how many more each entry allows.
FREE_ROWS, FREE_COLUMNS, FREE_PER_ENTRY = 10_000_000, 100_000_000, 100
# Where Linux says how many cores a container may use.
CONTROL_GROUPS = Path("/sys/fs/cgroup")
# Beyond this number per core, threads only wait for each other; a few are always allowed, for experiments.
MOST_PER_CORE, ALWAYS_ALLOWED = 4, 8


def is_integer(value: Any) -> bool:
    """Whether a parameter is a Python or numpy integer; booleans do not count."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Refuse a value that is not one of the choices."""
    if not isinstance(value, str) or value not in choices:
        msg = f"{name} must be one of {', '.join(choices)}. Got {value!r}."
        raise InputError(msg)


def check_size(name: str, value: Any, smallest: int = 1, largest: int | None = None, *, remedy: str = "") -> int:
    """Return an integer from `smallest` to `largest`, which is the number of labels if given; refuse anything else."""
    if is_integer(value) and smallest <= value <= (LARGEST_SIZE if largest is None else largest):
        return int(value)
    if largest is not None:
        rule = f"between {smallest} and {largest}, the number of labels"
    elif is_integer(value) and value > LARGEST_SIZE:
        rule = f"of at most {LARGEST_SIZE}"
    else:
        rule = f"of at least {smallest}"
    msg = f"{name} must be an integer {rule}. Got {value!r}.{' ' if remedy else ''}{remedy}"
    raise InputError(msg)


def check_numbering(source: Any, what: str, size: int, n_entries: int) -> None:
    """Refuse a numbering of instances, labels or features with gaps so large that it would exhaust memory."""
    free = FREE_ROWS if what == "instance" else FREE_COLUMNS
    if size > max(free, FREE_PER_ENTRY * n_entries):
        msg = (
            f"The {what} numbers in {source} must be 0, 1, 2, ... without large gaps. Got {size - 1} with only "
            f"{n_entries:,} entries. Renumber the {what}s consecutively."
        )
        raise InputError(msg)


def check_seed(seed: Any, largest: int | None = None) -> None:
    """Refuse what numpy's generators do not accept as a seed; for the legacy ones there is a `largest` seed."""
    if not is_integer(seed) or seed < 0:
        msg = f"seed must be an integer of at least 0. Got {seed!r}."
        raise InputError(msg)
    if largest is not None and seed > largest:
        msg = f"seed must be an integer from 0 to {largest}. Got {seed}."
        raise InputError(msg)


def check_workers(workers: Any, name: str = "workers") -> None:
    """Refuse an invalid number of threads, or more than this machine can use; `name` may be a parameter or option."""
    if workers is None:
        return
    is_option = name.startswith("-")
    if not is_integer(workers) or workers < 1:
        nothing = "omitted" if is_option else "None"
        msg = f"{name} must be an integer of at least 1, or {nothing} for all cores. Got {workers!r}."
        raise InputError(msg)
    if workers > ALWAYS_ALLOWED and workers > (most := MOST_PER_CORE * count_cores()):
        msg = (
            f"{name} must be at most {max(most, ALWAYS_ALLOWED)} on this machine, which has {count_cores()} cores. "
            f"Got {workers}. {'Omit it' if is_option else f'Use {name}=None'} for one thread per core."
        )
        raise InputError(msg)


def count_cores() -> int:
    """Return the number of cores that this process may use; affinity or a container may limit it."""
    affinity = getattr(os, "sched_getaffinity", None)  # of Linux
    cores = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    return max(1, min([cores, *map(math.ceil, _list_shares())]))


def _list_shares() -> Iterator[float]:
    """The cores, not always a whole number, that control groups allow: version 2 in one file, version 1 in two."""
    for files in (["cpu.max"], ["cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"]):
        try:
            quota, period = " ".join((CONTROL_GROUPS / file).read_text(encoding="ascii") for file in files).split()
        except (OSError, ValueError):  # another system, or no control groups of this version
            continue
        if quota not in ("max", "-1"):
            yield int(quota) / int(period)
