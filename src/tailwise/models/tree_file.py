"""The file of a fitted label tree: a JSON header, followed by the arrays at offsets listed in the header.

The file begins with MAGIC, the version of the format, and the length and checksum of the header, which holds the
checksum of the arrays. Arrays start at multiples of 64 bytes, so that they can be mapped into memory. Nothing is
unpickled.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

import numpy as np

from tailwise.datasets.formats.disk import check_name, parse_json, written_beside
from tailwise.errors import FileError, InputError
from tailwise.inputs.label_names import LabelNames, plain_names
from tailwise.kernels.best_first import LOGISTIC, STEEP
from tailwise.kernels.node_weights import Weights, has_fault
from tailwise.models.features import check_parameters
from tailwise.models.plt_search import FittedTree
from tailwise.models.tree import Tree
from tailwise.utilities import LabelPriors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.models.label_tree import LabelTree

MAGIC = b"tailwise-label-tree\n"
VERSION = 2
PREFIX = struct.Struct("<IQI")  # version, length of the header, its checksum
START = len(MAGIC) + PREFIX.size
ALIGNMENT = 64
LINKS = (LOGISTIC, STEEP)
# Errors that a manipulated header can cause; any other error is not the file's fault.
BROKEN = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError)
TYPES = {
    "first_children": ("int64",),
    "labels": ("int32",),
    "slot_starts": ("int64",),
    "entry_starts": ("int64",),
    "slots": ("int32",),
    "children": ("uint16", "int32"),
    "values": ("float32",),
    "biases": ("float32",),
    "counts": ("float64",),
}


def save_tree(model: LabelTree, path: str | os.PathLike[str]) -> None:
    """Write a fitted label tree; the file appears only when complete."""
    arrays = _arrays_of(model)
    offsets, end = {}, 0
    for name, array in arrays.items():
        offsets[name] = end
        end += _padded(array.nbytes)
    header = {
        "parameters": _plain_parameters(model),
        "n_features": int(model.n_features_in_),
        "feature_names": [str(name) for name in getattr(model, "feature_names_in_", ())],
        "n_instances": model.priors_.n_instances,
        "label_names": plain_names(model.priors_.label_names),
        "output_type": None if model._output_type is None else np.dtype(model._output_type).str,
        "links": [int(fitted.link) for fitted in model.trees_],
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


def load_tree(kind: type[LabelTree], path: str | os.PathLike[str]) -> LabelTree:
    """Read a file that save_tree wrote; its arrays are mapped, not copied."""
    header, data = _open(path)
    try:
        arrays = {name: _array(data, name, *place) for name, place in header["arrays"].items()}
        model = _build(kind, header, arrays)
    except BROKEN as error:
        _refuse(path, f"It is damaged ({type(error).__name__}: {error})")
    for fitted in model.trees_:
        if has_fault(fitted.weights, fitted.tree.first_children):
            _refuse(path, "It is damaged (a table of weights points outside itself)")
    return model


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


def _arrays_of(model: LabelTree) -> dict[str, NDArray]:
    arrays = {"counts": model.priors_.counts}
    for number, fitted in enumerate(model.trees_):
        parts = {"first_children": fitted.tree.first_children, "labels": fitted.tree.labels, **fitted.weights._asdict()}
        arrays |= {f"{number}/{name}": np.ascontiguousarray(array) for name, array in parts.items()}
    return arrays


def _plain_parameters(model: LabelTree) -> dict[str, Any]:
    """Convert parameters to JSON types; a random number generator cannot be saved."""
    parameters = model.get_params(deep=False)
    parameters["tree"] = model.tree if isinstance(model.tree, str) else np.asarray(model.tree).tolist()
    if isinstance(model.random_state, np.random.RandomState):
        parameters["random_state"] = None
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in parameters.items()}


def _open(path: str | os.PathLike[str]) -> tuple[dict[str, Any], NDArray]:
    """Read the header and map the bytes after it, checking both."""
    check_name(path)
    try:
        with open(path, "rb") as file:
            header, start = _read_header(file, path)
            # Private pages, so that arrays are writable: one compiled kernel then serves these and arrays in memory.
            pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    except FileError:
        raise
    except OSError as error:
        msg = f"{path} could not be read: {error.strerror or error}. Check its name and permissions."
        raise FileError(msg) from error
    data = np.frombuffer(pages, np.uint8, offset=start)
    if zlib.crc32(data.data) != header.get("checksum"):
        _refuse(path, "Its arrays are damaged")
    return header, data


def _read_header(file: BinaryIO, path: str | os.PathLike[str]) -> tuple[dict[str, Any], int]:
    """Return the header and where it ends."""
    begin = file.read(START)
    if not begin.startswith(MAGIC) or len(begin) < START:
        _refuse(path, "It is another file, or truncated")
    version, length, checksum = PREFIX.unpack(begin[len(MAGIC) :])
    if version != VERSION:
        remedy = "Train again and save" if version < VERSION else "Update tailwise"
        msg = f"{path} must have version {VERSION} of the format. Got version {version}. {remedy}."
        raise FileError(msg)
    n_bytes = os.fstat(file.fileno()).st_size - START - length
    text = file.read(length) if n_bytes >= 0 else b""
    if zlib.crc32(text) != checksum:
        _refuse(path, "Its header is damaged or truncated")
    try:
        header = parse_json(text)
    except ValueError:
        header = None
    if not isinstance(header, dict):
        _refuse(path, "Its header is not a JSON object")
    if header.get("n_bytes") != n_bytes or n_bytes == 0:
        _refuse(path, f"Expected {header.get('n_bytes')} bytes of arrays, but it has {n_bytes}")
    return header, START + length


def _array(data: NDArray, name: str, type_name: str, shape: list[int], offset: int) -> NDArray:
    is_whole = all(type(number) is int and number >= 0 for number in (offset, *shape))
    if type_name not in TYPES[name.split("/")[-1]] or not is_whole or offset % ALIGNMENT:
        msg = f"the array {name} has type {type_name}, shape {shape}, offset {offset}"
        raise InputError(msg)
    n_bytes = math.prod(shape) * np.dtype(type_name).itemsize
    return data[offset : offset + n_bytes].view(type_name).reshape(shape)


def _build(kind: type[LabelTree], header: dict[str, Any], arrays: dict[str, NDArray]) -> LabelTree:
    _check_header(header)
    model = kind(**header["parameters"])
    check_parameters(kind(**{**model.get_params(), "n_jobs": None}))  # n_jobs may be from a larger machine
    model.n_features_in_ = header["n_features"]
    if header["feature_names"]:
        model.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    names = LabelNames.of(header["label_names"])
    model.priors_ = LabelPriors(arrays["counts"], header["n_instances"]).with_names(names)
    model.n_labels_ = model.priors_.n_labels
    model._output_type = None if header["output_type"] is None else np.dtype(header["output_type"])
    model.trees_ = []
    for number, link in enumerate(header["links"]):
        tree = Tree(arrays[f"{number}/first_children"], arrays[f"{number}/labels"])
        weights = Weights(*(arrays[f"{number}/{name}"] for name in Weights._fields))
        _check_tree(tree, weights, model.n_labels_)
        model.trees_.append(FittedTree(tree, weights, link))
    return model


def _check_header(header: dict[str, Any]) -> None:
    """Refuse a header that `save_tree` cannot have written, although its checksum is correct."""
    links, names, n_features = header["links"], header["feature_names"], header["n_features"]
    rules = {
        "links": isinstance(links, list) and bool(links) and all(type(link) is int and link in LINKS for link in links),
        "n_features": type(n_features) is int and n_features > 0,
        "feature_names": isinstance(names, list) and len(names) in (0, n_features),
        "label_names": header.setdefault("label_names", None) is None or isinstance(header["label_names"], list),
        "output_type": header["output_type"] is None or np.dtype(header["output_type"]).kind in "biuf",
    }
    wrong = next((name for name, holds in rules.items() if not holds), None)
    if wrong is not None:
        msg = f"the header has {wrong} {header[wrong]!r:.60}"
        raise InputError(msg)


def _check_tree(tree: Tree, weights: Weights, n_labels: int) -> None:
    """Refuse numbers that would make compiled code read outside its arrays."""
    tree.check(n_labels)
    n_nodes, n_entries = tree.n_nodes, weights.values.size
    shapes = (weights.slot_starts.shape, weights.entry_starts.shape, weights.biases.shape, weights.children.shape)
    if shapes != ((n_nodes + 1,), (n_nodes + 1,), (n_nodes,), (n_entries,)) or weights.slots.shape[1:] != (2,):
        msg = "the shapes of the weights do not match the tree"
        raise InputError(msg)
    for starts, size in ((weights.slot_starts, weights.slots.shape[0]), (weights.entry_starts, n_entries)):
        if starts[0] != 0 or starts[-1] != size or (np.diff(starts) < 0).any():
            msg = "the tables of weights are not contiguous"
            raise InputError(msg)
    if not (np.isfinite(weights.values).all() and np.isfinite(weights.biases).all()):
        msg = "some weights are not finite"
        raise InputError(msg)


def _padded(n_bytes: int) -> int:
    return -(-n_bytes // ALIGNMENT) * ALIGNMENT


def _refuse(path: str | os.PathLike[str], fault: str) -> NoReturn:
    msg = f"{path} must be a complete file that LabelTree.save wrote. {fault}. Copy it or save it again."
    raise FileError(msg)
