"""The header of a store: sizes, version, what each array is, and a checksum of the header itself."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from tailwise.datasets.formats.disk import parse_json, written_beside
from tailwise.datasets.formats.store_by_label import find_fault
from tailwise.datasets.formats.stored_arrays import AGAIN, count_pieces
from tailwise.errors import FileError

__all__ = [
    "HEADER",
    "LABELS",
    "POINTERS",
    "PROBABILITIES",
    "read_header",
    "refuse_header",
    "write_header",
]

HEADER, KIND, VERSION = "store.json", "tailwise store", 1
POINTERS, LABELS, PROBABILITIES = "pointers.npy", "labels.npy", "probabilities.npy"
SIZES = ("n_instances", "n_labels", "n_entries")
TYPES = ("<i8", "<i4", "<f4", "<u2", "|u1")  # of arrays


def write_header(folder: Path, facts: dict[str, Any]) -> None:
    """Write sizes and arrays, with the version and a checksum."""
    header = {"kind": KIND, "version": VERSION, **facts}
    with written_beside(folder / HEADER) as file:
        file.write(json.dumps({**header, "checksum": _sum(header)}, indent=1).encode())


def _sum(header: dict[str, Any]) -> int:
    """The checksum of all that a header says, in whatever order and layout."""
    said = {name: value for name, value in header.items() if name != "checksum"}
    return zlib.crc32(json.dumps(said, sort_keys=True).encode())


def read_header(path: Any) -> dict[str, Any]:
    """The header of a store, checked as far as it can be without the arrays."""
    file = Path(path) / HEADER
    try:
        header = parse_json(file.read_text(encoding="utf-8"))
    except OSError as error:
        rule = f"{path} must be a finished store, with {HEADER}"
        msg = f"{rule}. Reading that failed: {error.strerror or error}. {AGAIN}"
        raise FileError(msg) from error
    except ValueError as error:
        refuse_header(file, f"it is not valid JSON: {error}")
    if not isinstance(header, dict) or header.get("kind") != KIND:
        refuse_header(file, f"it does not say that this is a {KIND}")
    if header.get("version") != VERSION:
        msg = (
            f"{path} must be a store of version {VERSION}. Got version {header.get('version')!r}. "
            "Use the version of tailwise that wrote it, or a newer one; or make the store again."
        )
        raise FileError(msg)
    if header.get("checksum") != _sum(header):
        refuse_header(file, "its checksum differs, so that it was changed or is damaged")
    _check_sizes(file, header)
    return header


def _check_sizes(file: Path, header: dict[str, Any]) -> None:
    sizes: list[Any] = [header.get(name) for name in SIZES]
    if not all(type(size) is int and size >= 0 for size in sizes) or type(header.get("is_open")) is not bool:
        refuse_header(file, "it does not state the sizes")
    files = header.get("files")
    if not isinstance(files, dict) or not all(map(_is_array, files.items())):
        refuse_header(file, "it does not describe the arrays")
    n, n_labels, n_entries = sizes
    if n_labels > np.iinfo(np.int32).max:
        refuse_header(file, f"it says {n_labels:,} labels, more than numbers of labels can tell apart")
    wanted = {POINTERS: ("<i8", n + 1), LABELS: ("<i4", n_entries), PROBABILITIES: ("<f4", n_entries)}
    for name, (dtype, size) in wanted.items():
        if (files.get(name, {}).get("dtype"), files.get(name, {}).get("size")) != (dtype, size):
            refuse_header(file, f"its sizes disagree with what it says of {name}")
    if fault := find_fault(files, n_labels, n_entries):
        refuse_header(file, f"its sizes disagree with what it says of {fault}")


def _is_array(entry: tuple[str, Any]) -> bool:
    name, known = entry
    if os.path.basename(name) != name or not isinstance(known, dict) or known.get("dtype") not in TYPES:
        return False
    size, sums = known.get("size"), known.get("crc32")
    if type(size) is not int or size < 0 or not isinstance(sums, list):
        return False
    n_pieces = count_pieces(size * np.dtype(known["dtype"]).itemsize)
    return len(sums) == n_pieces and all(type(each) is int for each in sums)


def refuse_header(file: Path, reason: str) -> NoReturn:
    """Raise that a header is damaged."""
    msg = f"{file} must be the header of a store. It is damaged: {reason}. {AGAIN}"
    raise FileError(msg)
