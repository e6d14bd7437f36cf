"""The options that choose the model to train, and those of label trees."""

from __future__ import annotations

import argparse
from typing import Any

from tailwise.model_names import MODELS

TREE_OPTIONS = {
    "tree": (str, "k-means, random or huffman"),
    "arity": (int, "maximum number of children of an inner node"),
    "leaf_size": (int, "maximum number of labels below a node of the lowest inner level"),
    "n_trees": (int, "number of trees whose probabilities are averaged"),
    "loss": (str, "logistic or squared-hinge"),
    "C": (float, "cost of an error"),
    "positive_weight": (float, "factor of the cost for errors on positives"),
    "threshold": (float, "drop weights below this absolute value"),
    "tolerance": (float, "train a node until changes are below this fraction of C"),
    "max_epochs": (int, "maximum number of epochs for a node"),
}
PREFIX = "tree_"  # in the namespace of options, because the search also has a tolerance


def add_model_options(parser: argparse.ArgumentParser, default: str = "an ensemble of tree and neighbours") -> None:
    """Add the options that choose a model, and those of label trees."""
    group = parser.add_argument_group("model")
    group.add_argument("--model", metavar="NAME", help=f"{', '.join(MODELS)} (default: {default})")
    group.add_argument(
        "--model-option",
        action="append",
        type=_parse_option,
        metavar="KEY=VALUE",
        help="a parameter of the model or of one of its parts: n_neighbours=50, tree__C=1, features__words=[1,2]; "
        "may be repeated",
    )
    group.add_argument(
        "--embeddings",
        metavar="ENCODER",
        help="folder or name of a text encoder, for neighbours by its vectors and a classifier",
    )
    trees = parser.add_argument_group("label tree, alone or in an ensemble (defaults are those of tailwise.LabelTree)")
    for name, (kind, words) in TREE_OPTIONS.items():
        flag = {"tolerance": "--tree-tolerance", "C": "-C"}.get(name, f"--{name.replace('_', '-')}")
        trees.add_argument(flag, dest=PREFIX + name, type=kind, metavar=kind.__name__.upper(), help=words)
    trees.add_argument(
        "--no-normalise", dest=PREFIX + "normalise", action="store_const", const=False, help="do not scale features"
    )


def add_column_options(parser: argparse.ArgumentParser | argparse._ArgumentGroup, *, labels: bool = True) -> None:
    """Add the columns of texts and of labels."""
    parser.add_argument(
        "--text-column",
        default="text",
        metavar="NAME",
        help="column of texts in CSV, TSV, JSONL (default: %(default)s); several, as title,abstract, make one text",
    )
    if labels:
        names = "labels, subjects, subject_uris or tags"
        parser.add_argument("--label-column", metavar="NAME", help=f"column of labels (default: {names})")


def _parse_option(text: str) -> tuple[str, Any]:
    from tailwise.errors import InputError
    from tailwise.models.model import parse_option

    try:
        return parse_option(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def read_model_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options as arguments of `tailwise.run`."""
    given = {f"tree__{name}": getattr(options, PREFIX + name) for name in (*TREE_OPTIONS, "normalise")}
    of_tree = {name: value for name, value in given.items() if value is not None}
    if of_tree and options.model not in (None, "tree", "ensemble"):
        from tailwise.errors import InputError

        name = next(iter(of_tree)).removeprefix("tree__")
        msg = (
            f"Options of label trees need --model tree or ensemble. Got {name} with --model {options.model}. "
            "Omit it, or use --model-option for parameters of this model."
        )
        raise InputError(msg)
    named = {**of_tree, **dict(options.model_option or ())}
    return {"model": options.model, "model_options": named or None, "embeddings": options.embeddings}
