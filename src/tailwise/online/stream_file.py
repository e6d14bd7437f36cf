"""The file of an online selector: its totals and its utility. Nothing is unpickled."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailwise.datasets.formats.saved_object import read_object, write_object
from tailwise.errors import FileError, UtilityError
from tailwise.inputs.checks import is_integer
from tailwise.inputs.label_names import LabelNames, plain_names
from tailwise.kernels import online_greedy as columns
from tailwise.utilities import as_utility
from tailwise.utilities.utility import Utility

KIND, VERSION = "tailwise online selector", 1


class SavedStream(NamedTuple):
    """The contents of a file."""

    k: int
    utility: str | None  # as text, if it can be parsed back
    name: str  # of the utility, for display
    counts: NDArray  # float64 (m, N_TOTALS), by the columns of kernels/online_greedy.py
    n_seen: float
    names: LabelNames | None  # of the labels that rows have used, if they had names


def write_stream(
    path: str | os.PathLike[str], utility: Utility, k: int, counts: NDArray, n_seen: float, names: LabelNames | None
) -> None:
    """Write the file of a selector."""
    header = {"k": k, "utility": _readable_text(utility), "name": _name_of(utility), "label_names": plain_names(names)}
    write_object(path, KIND, VERSION, header, {"counts": counts, "n_seen": np.array(n_seen)})


def read_stream(path: str | os.PathLike[str]) -> SavedStream:
    """Read and check a file, which may hold anything."""
    rule = "be a file that OnlineSelector.save wrote"
    header, arrays = read_object(path, KIND, VERSION, rule, "Save the selector again.")
    try:
        n_seen, names = arrays["n_seen"].item(), header.get("label_names")
        names = None if names is None else LabelNames(names)
        saved = SavedStream(header["k"], header["utility"], header["name"], arrays["counts"], n_seen, names)
        fits = _fits(saved)
    except (KeyError, TypeError, ValueError):
        fits = False
    if not fits:
        msg = f"{path} must hold the totals of an online selector. They are damaged. Save the selector again."
        raise FileError(msg)
    return saved


def find_utility(path: Any, saved: SavedStream, utility: Any, priors: Any) -> Utility:
    """Return the saved utility, or the given one, which must have the same name."""
    if utility is None:
        if saved.utility is None:
            msg = (
                f"{path} does not hold the whole utility {saved.name}, which depends on more than its name. "
                "Pass it again: OnlineSelector.load(path, utility=...)."
            )
            raise UtilityError(msg)
        return as_utility(saved.utility)
    given = as_utility(utility, priors)
    if _name_of(given) != saved.name:
        msg = f"utility must be the one that {path} was saved with, {saved.name}. Got {_name_of(given)}."
        raise UtilityError(msg)
    return given


def _name_of(utility: Utility) -> str:
    """The utility for display, with all digits of its factors."""
    return " + ".join(str(term) if factor == 1 else f"{factor!r}*{term}" for factor, term in utility.terms)


def _readable_text(utility: Utility) -> str | None:
    """The utility as text, or None if parsing the text does not give it back."""
    text = _name_of(utility)
    try:
        return text if as_utility(text) == utility else None
    except UtilityError:  # priors, weights, or a formula
        return None


def _fits(saved: SavedStream) -> bool:
    """Whether these can be the totals of a selector."""
    counts, n = saved.counts, saved.n_seen
    if counts.dtype != np.float64 or counts.ndim != 2 or counts.shape[1] != columns.N_TOTALS:
        return False
    if not (is_integer(saved.k) and 1 <= saved.k <= counts.shape[0] and isinstance(saved.name, str)):
        return False
    if saved.names is not None and len(saved.names) > counts.shape[0]:
        return False
    if not (isinstance(saved.utility, (str, type(None))) and isinstance(n, float) and n.is_integer()):
        return False
    t, q, p, failure, log_failure = counts.T
    is_counted = all((part >= 0).all() and (part <= n).all() for part in (t, q, p))
    is_chance = (failure >= 0).all() and (failure <= 1).all() and (log_failure <= 0).all()
    return bool(is_counted and is_chance)
