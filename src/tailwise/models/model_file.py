"""The file of a fitted model of any kind: a JSON header, followed by the arrays at offsets listed in the header.

The file begins with MAGIC, the version of the format, and the length and checksum of the header, which holds the kind
of the model, the version of that kind, and the checksum of the arrays. Arrays start at multiples of 64 bytes, so that
they can be mapped into memory. Nothing is unpickled.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

import numpy as np

from tailwise.datasets.formats.disk import check_name, parse_json, written_beside
from tailwise.errors import FileError, InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAGIC = b"tailwise-model\n"
OLD_MAGIC = b"tailwise-label-tree\n"  # of versions 1 and 2, which only label trees had
VERSION = 3
PREFIX = struct.Struct("<IQI")  # version, length of the header, its checksum
START = len(MAGIC) + PREFIX.size
ALIGNMENT = 64
OWN_KEYS = ("kind", "version", "arrays", "n_bytes", "checksum")
TYPES = ("bool", "uint8", "uint16", "int32", "int64", "float32", "float64")
# Errors that a manipulated header can cause; any other error is not the file's fault.
BROKEN = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError)


@dataclass(frozen=True)
class Packed:
    """A fitted model taken apart.

    `header` holds what JSON can, except for the keys of OWN_KEYS; `arrays` the rest by name, of the dtypes in TYPES.
    `version` is that of the kind: a reader knows its own version only.
    """

    kind: str
    version: int
    header: dict[str, Any]
    arrays: dict[str, NDArray]

    def with_prefix(self, prefix: str) -> dict[str, NDArray]:
        """Return the arrays under names of another model's file."""
        return {f"{prefix}/{name}": array for name, array in self.arrays.items()}

    def part(self, prefix: str, header: Mapping[str, Any]) -> Packed:
        """Return a model within this one: `header` is its own, with kind and version."""
        arrays = {
            name[len(prefix) + 1 :]: array for name, array in self.arrays.items() if name.startswith(f"{prefix}/")
        }
        return Packed(header["kind"], header["version"], dict(header), arrays)

    def check_types(self, types: Mapping[str, tuple[str, ...]]) -> None:
        """Refuse an array that has no name in `types`, or another dtype; prefixes do not count."""
        for name, array in self.arrays.items():
            if array.dtype.name not in types[name.split("/")[-1]]:
                msg = f"the array {name} has type {array.dtype.name}"
                raise InputError(msg)


def write_model(path: str | os.PathLike[str], packed: Packed) -> None:
    """Write a file, which appears only when complete; equal models give equal bytes."""
    arrays = {name: np.ascontiguousarray(array) for name, array in packed.arrays.items()}
    offsets, end = {}, 0
    for name, array in arrays.items():
        offsets[name] = end
        end += _padded(array.nbytes)
    header = {
        **packed.header,
        "kind": packed.kind,
        "version": packed.version,
        "arrays": {name: [array.dtype.name, array.shape, offsets[name]] for name, array in arrays.items()},
        "n_bytes": end,
        "checksum": _checksum_of(arrays.values()),
    }
    text = json.dumps(header).encode()
    text += b" " * (_padded(START + len(text)) - START - len(text))
    with written_beside(path) as file:
        file.write(MAGIC + PREFIX.pack(VERSION, len(text), zlib.crc32(text)) + text)
        for part in _parts_of(arrays.values()):
            file.write(part)


def read_model(path: str | os.PathLike[str], writer: str) -> Packed:
    """Read a file that write_model wrote; its arrays are mapped, not copied. `writer` is for errors."""
    header, data = _open(path, writer)
    try:
        arrays = {name: _array(data, name, *place) for name, place in header["arrays"].items()}
        kind, version = header["kind"], header["version"]
    except BROKEN as error:
        refuse(path, writer, f"It is damaged ({type(error).__name__}: {error})")
    return Packed(kind, version, {name: value for name, value in header.items() if name not in OWN_KEYS}, arrays)


def check_version(path: str | os.PathLike[str], came: Any, known: int) -> None:
    """Refuse a file of another version, with what to do about it."""
    if came != known:
        remedy = "Train again and save" if type(came) is int and came < known else "Update tailwise"
        msg = f"{path} must have version {known} of the format. Got version {came}. {remedy}."
        raise FileError(msg)


def refuse(path: str | os.PathLike[str], writer: str, fault: str) -> NoReturn:
    """Raise an error about a file that is no model, or not whole."""
    msg = f"{path} must be a complete file that {writer} wrote. {fault}. Copy it or save it again."
    raise FileError(msg)


def _parts_of(arrays: Iterable[NDArray]) -> Iterator[Any]:
    """Yield the bytes of the arrays and their padding, in file order."""
    for array in arrays:
        yield array.reshape(-1).view(np.uint8)
        yield bytes(_padded(array.nbytes) - array.nbytes)


def _checksum_of(arrays: Iterable[NDArray]) -> int:
    checksum = 0
    for part in _parts_of(arrays):
        checksum = zlib.crc32(part, checksum)
    return checksum


def _open(path: str | os.PathLike[str], writer: str) -> tuple[dict[str, Any], NDArray]:
    """Read the header and map the bytes after it, checking both."""
    check_name(path)
    try:
        with open(path, "rb") as file:
            header, start = _read_header(file, path, writer)
            # Private pages, so that arrays are writable: one compiled kernel then serves these and arrays in memory.
            pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    except FileError:
        raise
    except OSError as error:
        msg = f"{path} could not be read: {error.strerror or error}. Check its name and permissions."
        raise FileError(msg) from error
    data = np.frombuffer(pages, np.uint8, offset=start)
    if zlib.crc32(data.data) != header.get("checksum"):
        refuse(path, writer, "Its arrays are damaged")
    return header, data


def _read_header(file: BinaryIO, path: str | os.PathLike[str], writer: str) -> tuple[dict[str, Any], int]:
    """Return the header and where it ends."""
    begin = file.read(START)
    if begin.startswith(OLD_MAGIC):
        check_version(path, VERSION - 1, VERSION)
    if not begin.startswith(MAGIC) or len(begin) < START:
        refuse(path, writer, "It is another file, or truncated")
    version, length, checksum = PREFIX.unpack(begin[len(MAGIC) :])
    check_version(path, version, VERSION)
    n_bytes = os.fstat(file.fileno()).st_size - START - length
    text = file.read(length) if n_bytes >= 0 else b""
    if zlib.crc32(text) != checksum:
        refuse(path, writer, "Its header is damaged or truncated")
    try:
        header = parse_json(text)
    except ValueError:
        header = None
    if not isinstance(header, dict):
        refuse(path, writer, "Its header is not a JSON object")
    if header.get("n_bytes") != n_bytes or n_bytes == 0:
        refuse(path, writer, f"Expected {header.get('n_bytes')} bytes of arrays, but it has {n_bytes}")
    return header, START + length


def _array(data: NDArray, name: str, type_name: str, shape: list[int], offset: int) -> NDArray:
    is_whole = all(type(number) is int and number >= 0 for number in (offset, *shape))
    if type_name not in TYPES or not is_whole or offset % ALIGNMENT:
        msg = f"the array {name} has type {type_name}, shape {shape}, offset {offset}"
        raise InputError(msg)
    n_bytes = math.prod(shape) * np.dtype(type_name).itemsize
    return data[offset : offset + n_bytes].view(type_name).reshape(shape)


def _padded(n_bytes: int) -> int:
    return -(-n_bytes // ALIGNMENT) * ALIGNMENT
