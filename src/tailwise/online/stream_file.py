"""The file of a stream: what was decided so far, and what is maximised. Nothing is unpickled."""

from __future__ import annotations

import io
import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tailwise.datasets.formats.disk import parse_json, written_beside
from tailwise.datasets.formats.npz import read_archive
from tailwise.errors import FileError, UtilityError
from tailwise.inputs.checks import is_integer
from tailwise.kernels import online_greedy as columns
from tailwise.utilities import as_utility

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.utilities.utility import Utility

__all__ = ["SavedStream", "find_utility", "read_stream", "write_stream"]

KIND, VERSION = "tailwise online selector", 1


class SavedStream(NamedTuple):
    """What a file holds."""

    k: int
    utility: str | None  # as text, where it can be read back
    name: str  # of the utility, in print
    counts: NDArray  # float64 (m, N_TOTALS), by the columns of kernels/online_greedy.py
    n_seen: float


def write_stream(path: str | os.PathLike[str], utility: Utility, k: int, counts: NDArray, n_seen: float) -> None:
    """Write a file, whole or not at all."""
    header = {"kind": KIND, "version": VERSION, "k": k, "utility": _readable_text(utility), "name": _name_of(utility)}
    content = io.BytesIO()
    np.savez(content, header=np.array(json.dumps(header)), counts=counts, n_seen=np.array(n_seen))
    with written_beside(path) as file:
        file.write(content.getvalue())


def read_stream(path: str | os.PathLike[str]) -> SavedStream:
    """Read and check a file, which may hold anything."""
    arrays = read_archive(path, "be a file that OnlineSelector.save wrote", "Save the selector again.")
    header = _read_header(path, arrays)
    try:
        saved = SavedStream(header["k"], header["utility"], header["name"], arrays["counts"], arrays["n_seen"].item())
        fits = _fits(saved)
    except (KeyError, ValueError):
        fits = False
    if not fits:
        msg = f"{path} must hold the totals of a stream. They are damaged. Save the selector again."
        raise FileError(msg)
    return saved


def find_utility(path: Any, saved: SavedStream, utility: Any, priors: Any) -> Utility:
    """The utility that was saved; a given one must have the same name."""
    if utility is None:
        if saved.utility is None:
            msg = (
                f"{path} cannot hold the utility {saved.name}, which needs more than its name. "
                "Give it again: OnlineSelector.load(path, utility=...)."
            )
            raise UtilityError(msg)
        return as_utility(saved.utility)
    given = as_utility(utility, priors)
    if _name_of(given) != saved.name:
        msg = f"utility must be the one that {path} was saved with, {saved.name}. Got {_name_of(given)}."
        raise UtilityError(msg)
    return given


def _name_of(utility: Utility) -> str:
    """The utility in print, with all digits of its factors."""
    return " + ".join(str(term) if factor == 1 else f"{factor!r}*{term}" for factor, term in utility.terms)


def _readable_text(utility: Utility) -> str | None:
    """The utility as text; None where reading the text does not give it back."""
    text = _name_of(utility)
    try:
        return text if as_utility(text) == utility else None
    except UtilityError:  # priors, weights, or a formula
        return None


def _read_header(path: Any, arrays: dict[str, NDArray]) -> dict[str, Any]:
    try:
        header = parse_json(str(arrays["header"]))
        is_ours = header.get("kind") == KIND
    except (KeyError, ValueError, AttributeError):
        is_ours = False
    if not is_ours:
        msg = f"{path} must be a file that OnlineSelector.save wrote. It is not. Give the path of such a file."
        raise FileError(msg)
    if header.get("version") != VERSION:
        came = header.get("version")
        msg = f"{path} must be of version {VERSION}. Got version {came}. Use a newer tailwise to read it."
        raise FileError(msg)
    return header


def _fits(saved: SavedStream) -> bool:
    """Whether these can be the numbers of a stream."""
    counts, n = saved.counts, saved.n_seen
    if counts.dtype != np.float64 or counts.ndim != 2 or counts.shape[1] != columns.N_TOTALS:
        return False
    if not (is_integer(saved.k) and 1 <= saved.k <= counts.shape[0] and isinstance(saved.name, str)):
        return False
    if not (isinstance(saved.utility, (str, type(None))) and isinstance(n, float) and n.is_integer()):
        return False
    t, q, p, failure, log_failure = counts.T
    is_counted = all((part >= 0).all() and (part <= n).all() for part in (t, q, p))
    is_chance = (failure >= 0).all() and (failure <= 1).all() and (log_failure <= 0).all()
    return bool(is_counted and is_chance)
