"""Objects of the package saved as one .npz file: a JSON header with kind and version, and arrays."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.datasets.formats.disk import parse_json, written_beside
from tailwise.datasets.formats.npz import read_archive
from tailwise.errors import FileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["read_object", "write_object"]


def write_object(
    path: str | os.PathLike[str], kind: str, version: int, header: dict[str, Any], arrays: dict[str, NDArray]
) -> None:
    """Write a file; equal objects give equal bytes."""
    text = json.dumps({"kind": kind, "version": version, **header}, sort_keys=True)
    with written_beside(path) as file:
        np.savez(file, header=np.array(text), **arrays)  # type: ignore[arg-type]


def read_object(
    path: str | os.PathLike[str], kind: str, version: int, rule: str, remedy: str
) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Read the header and the arrays; `rule` and `remedy` are for the error about any other file."""
    arrays = read_archive(path, rule, remedy)
    try:
        header = parse_json(str(arrays.pop("header")))
        came = header["kind"]
    except (KeyError, ValueError, TypeError) as error:
        msg = f"{path} must {rule}. Got another file, or a damaged one. {remedy}"
        raise FileError(msg) from error
    if came != kind:
        msg = f"{path} must {rule}. Got a file of the kind {came!r}. Give the path of a {kind} file."
        raise FileError(msg)
    if (found := header.get("version")) != version:
        is_old = type(found) is int and found < version
        advice = "Create it again with this tailwise" if is_old else "Update tailwise to read it"
        msg = f"{path} must have version {version} of its format. Got version {found}. {advice}."
        raise FileError(msg)
    return header, arrays
