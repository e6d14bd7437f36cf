"""A fitted label tree in one file: a header in JSON, then the arrays, each where the header says.

The file begins with MAGIC, the version of the format, and the length and checksum of the header. Arrays start at
multiples of 64 bytes, so that they can be mapped into memory as they are. Nothing is ever unpickled.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import struct
import zlib
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tailwise.datasets.writing import written_beside
from tailwise.errors import FileError, InputError
from tailwise.estimators.searching import FittedTree
from tailwise.estimators.tree import Tree
from tailwise.kernels.node_weights import Weights, has_fault
from tailwise.utilities import LabelPriors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.estimators.label_tree import LabelTree

__all__ = ["load_tree", "save_tree"]

MAGIC = b"tailwise-label-tree\n"
VERSION = 1
PREFIX = struct.Struct("<IQI")  # version, length of the header, its checksum
START = len(MAGIC) + PREFIX.size
ALIGNMENT = 64
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
    """Write a fitted label tree beside the path, and move it there."""
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
        "output_type": None if model._output_type is None else np.dtype(model._output_type).str,
        "links": [int(fitted.link) for fitted in model.trees_],
        "arrays": {name: [array.dtype.name, array.shape, offsets[name]] for name, array in arrays.items()},
        "n_bytes": end,
    }
    text = json.dumps(header).encode()
    text += b" " * (_padded(START + len(text)) - START - len(text))
    with written_beside(path) as file:
        file.write(MAGIC + PREFIX.pack(VERSION, len(text), zlib.crc32(text)) + text)
        for array in arrays.values():
            file.write(array.tobytes() + bytes(_padded(array.nbytes) - array.nbytes))


def load_tree(kind: type[LabelTree], path: str | os.PathLike[str]) -> LabelTree:
    """Read a file that save_tree wrote; its arrays are mapped, not copied."""
    try:
        header, data = _open(path)
        arrays = {name: _array(data, name, *place) for name, place in header["arrays"].items()}
        return _build(kind, header, arrays)
    except FileError:
        raise
    except OSError as error:
        msg = f"{path} could not be read: {error.strerror or error}."
        raise FileError(msg) from error
    except Exception as error:  # a damaged file can break in more ways than a list can name
        _refuse(path, f"It is damaged ({type(error).__name__}: {error})")


def _arrays_of(model: LabelTree) -> dict[str, NDArray]:
    arrays = {"counts": model.priors_.counts}
    for number, fitted in enumerate(model.trees_):
        parts = {"first_children": fitted.tree.first_children, "labels": fitted.tree.labels, **fitted.weights._asdict()}
        arrays |= {f"{number}/{name}": np.ascontiguousarray(array) for name, array in parts.items()}
    return arrays


def _plain_parameters(model: LabelTree) -> dict[str, Any]:
    """Parameters as JSON knows them; a generator of random numbers cannot be kept."""
    parameters = model.get_params(deep=False)
    parameters["tree"] = model.tree if isinstance(model.tree, str) else np.asarray(model.tree).tolist()
    if isinstance(model.random_state, np.random.RandomState):
        parameters["random_state"] = None
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in parameters.items()}


def _open(path: str | os.PathLike[str]) -> tuple[dict[str, Any], NDArray]:
    """The header, and the bytes that follow it, mapped."""
    with open(path, "rb") as file:
        begin = file.read(START)
        if not begin.startswith(MAGIC) or len(begin) < START:
            _refuse(path, "It is none, or it was cut short")
        version, length, checksum = PREFIX.unpack(begin[len(MAGIC) :])
        if version != VERSION:
            msg = f"{path} must have version {VERSION} of the format. Got version {version}. Use a newer tailwise."
            raise FileError(msg)
        n_bytes = os.fstat(file.fileno()).st_size - START - length
        text = file.read(length) if n_bytes >= 0 else b""
        if zlib.crc32(text) != checksum:
            _refuse(path, "Its header is damaged, or it was cut short")
        header = json.loads(text)
        if header["n_bytes"] != n_bytes:
            _refuse(path, f"It should have {header['n_bytes']} bytes of arrays and has {n_bytes}")
        # Private pages, so that arrays look writable: kernels are compiled once for these and for arrays in memory.
        pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    return header, np.frombuffer(pages, np.uint8, offset=START + length)


def _array(data: NDArray, name: str, type_name: str, shape: list[int], offset: int) -> NDArray:
    if type_name not in TYPES[name.split("/")[-1]] or min([offset, *shape]) < 0 or offset % ALIGNMENT:
        msg = f"the array {name} has type {type_name}, shape {shape}, offset {offset}"
        raise InputError(msg)
    n_bytes = math.prod(shape) * np.dtype(type_name).itemsize
    return data[offset : offset + n_bytes].view(type_name).reshape(shape)


def _build(kind: type[LabelTree], header: dict[str, Any], arrays: dict[str, NDArray]) -> LabelTree:
    model = kind(**header["parameters"])
    model.n_features_in_ = int(header["n_features"])
    if header["feature_names"]:
        model.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    model.priors_ = LabelPriors(arrays["counts"], header["n_instances"])
    model.n_labels_ = model.priors_.n_labels
    model._output_type = None if header["output_type"] is None else np.dtype(header["output_type"])
    model.trees_ = []
    for number, link in enumerate(header["links"]):
        tree = Tree(arrays[f"{number}/first_children"], arrays[f"{number}/labels"])
        weights = Weights(*(arrays[f"{number}/{name}"] for name in Weights._fields))
        _check_tree(tree, weights, model.n_labels_)
        model.trees_.append(FittedTree(tree, weights, int(link)))
    return model


def _check_tree(tree: Tree, weights: Weights, n_labels: int) -> None:
    """Refuse numbers that would lead compiled code outside its arrays."""
    tree.check(n_labels)
    n_nodes, n_entries = tree.n_nodes, weights.values.size
    shapes = (weights.slot_starts.shape, weights.entry_starts.shape, weights.biases.shape, weights.children.shape)
    if shapes != ((n_nodes + 1,), (n_nodes + 1,), (n_nodes,), (n_entries,)) or weights.slots.shape[1:] != (2,):
        msg = "arrays of weights have shapes that do not fit the tree"
        raise InputError(msg)
    for starts, size in ((weights.slot_starts, weights.slots.shape[0]), (weights.entry_starts, n_entries)):
        if starts[0] != 0 or starts[-1] != size or (np.diff(starts) < 0).any():
            msg = "tables of weights do not follow each other"
            raise InputError(msg)
    if has_fault(weights, tree.first_children):
        msg = "a table of weights points outside itself"
        raise InputError(msg)


def _padded(n_bytes: int) -> int:
    return -(-n_bytes // ALIGNMENT) * ALIGNMENT


def _refuse(path: str | os.PathLike[str], fault: str) -> NoReturn:
    msg = f"{path} must be a whole label tree as LabelTree.save writes it. {fault}. Copy it or save it again."
    raise FileError(msg)
