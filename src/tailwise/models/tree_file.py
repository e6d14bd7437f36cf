"""A fitted label tree taken apart for its file, and put together again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.errors import InputError
from tailwise.inputs.label_names import LabelNames, plain_names
from tailwise.kernels.best_first import LOGISTIC, STEEP
from tailwise.kernels.node_weights import Weights, has_fault
from tailwise.models.features import check_parameters
from tailwise.models.model_file import Packed
from tailwise.models.plt_search import FittedTree
from tailwise.models.tree import Tree
from tailwise.utilities import LabelPriors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.models.label_tree import LabelTree

LINKS = (LOGISTIC, STEEP)
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


def pack_tree(model: LabelTree) -> Packed:
    """Take a fitted label tree apart."""
    header = {
        "parameters": _plain_parameters(model),
        **describe_fit(model),
        "links": [int(fitted.link) for fitted in model.trees_],
    }
    return Packed(model.kind, model.VERSION, header, _arrays_of(model))


def describe_fit(model: Any) -> dict[str, Any]:
    """Return what every model has learned about features and labels, except the counts of the labels."""
    return {
        "n_features": int(model.n_features_in_),
        "feature_names": [str(name) for name in getattr(model, "feature_names_in_", ())],
        "n_instances": model.priors_.n_instances,
        "label_names": plain_names(model.priors_.label_names),
        "output_type": None if model._output_type is None else np.dtype(model._output_type).str,
    }


def restore_fit(model: Any, header: dict[str, Any], counts: NDArray) -> None:
    """Set what :func:`describe_fit` described, after checking it."""
    _check_fit(header)
    model.n_features_in_ = header["n_features"]
    if header["feature_names"]:
        model.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    names = LabelNames.of(header["label_names"])
    model.priors_ = LabelPriors(counts, header["n_instances"]).with_names(names)
    model.n_labels_ = model.priors_.n_labels
    model._output_type = None if header["output_type"] is None else np.dtype(header["output_type"])


def unpack_tree(kind: type[LabelTree], packed: Packed) -> LabelTree:
    """Put a label tree together again, after checks that keep compiled code within its arrays."""
    header, arrays = packed.header, packed.arrays
    packed.check_types(TYPES)
    _check("links", header["links"], _are_links(header["links"]))
    model = kind(**header["parameters"])
    check_parameters(kind(**{**model.get_params(), "n_jobs": None}))  # n_jobs may be from a larger machine
    restore_fit(model, header, arrays["counts"])
    model.trees_ = []
    for number, link in enumerate(header["links"]):
        tree = Tree(arrays[f"{number}/first_children"], arrays[f"{number}/labels"])
        weights = Weights(*(arrays[f"{number}/{name}"] for name in Weights._fields))
        _check_tree(tree, weights, model.n_labels_)
        model.trees_.append(FittedTree(tree, weights, link))
    return model


def _arrays_of(model: LabelTree) -> dict[str, NDArray]:
    arrays = {"counts": model.priors_.counts}
    for number, fitted in enumerate(model.trees_):
        parts = {"first_children": fitted.tree.first_children, "labels": fitted.tree.labels, **fitted.weights._asdict()}
        arrays |= {f"{number}/{name}": array for name, array in parts.items()}
    return arrays


def _plain_parameters(model: LabelTree) -> dict[str, Any]:
    """Convert parameters to JSON types; a random number generator cannot be saved."""
    parameters = model.get_params(deep=False)
    parameters["tree"] = model.tree if isinstance(model.tree, str) else np.asarray(model.tree).tolist()
    return plain_parameters(parameters)


def plain_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Convert parameters to JSON types; a random number generator cannot be saved."""
    if isinstance(parameters["random_state"], np.random.RandomState):
        parameters = {**parameters, "random_state": None}
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in parameters.items()}


def _check_fit(header: dict[str, Any]) -> None:
    """Refuse a header that `describe_fit` cannot have written, although its checksum is correct."""
    names, n_features = header["feature_names"], header["n_features"]
    _check("n_features", n_features, type(n_features) is int and n_features > 0)
    _check("feature_names", names, isinstance(names, list) and len(names) in (0, n_features))
    labels, output = header.setdefault("label_names", None), header["output_type"]
    _check("label_names", labels, labels is None or isinstance(labels, list))
    _check("output_type", output, output is None or np.dtype(output).kind in "biuf")


def _are_links(links: Any) -> bool:
    return isinstance(links, list) and bool(links) and all(type(link) is int and link in LINKS for link in links)


def _check(name: str, value: Any, holds: bool) -> None:  # noqa: FBT001 - a rule
    if not holds:
        msg = f"the header has {name} {value!r:.60}"
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
    if has_fault(weights, tree.first_children):
        msg = "a table of weights points outside itself"
        raise InputError(msg)
