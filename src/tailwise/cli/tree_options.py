"""The options of commands that train: the label tree, and its calibration."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import scipy.sparse as sp

    from tailwise.estimators.calibrator import Calibrator
    from tailwise.estimators.label_tree import LabelTree

__all__ = ["add_calibration_options", "add_tree_options", "build_calibrator", "build_tree", "fit_calibrator"]

TREE_OPTIONS = {
    "tree": (str, "k-means, random or huffman"),
    "arity": (int, "most children of an inner node"),
    "leaf_size": (int, "most labels below a lowest inner node"),
    "n_trees": (int, "trees whose probabilities are averaged"),
    "loss": (str, "logistic or squared-hinge"),
    "C": (float, "cost of an error"),
    "positive_weight": (float, "cost of an error on a positive, in units of C"),
    "threshold": (float, "drop smaller weights"),
    "tolerance": (float, "train until nothing moves by more than this share of C"),
    "max_epochs": (int, "train a node for at most so many epochs"),
}
PREFIX = "tree_"  # in the namespace of options, where selecting has a tolerance, too


def add_tree_options(parser: argparse.ArgumentParser) -> None:
    """Add the group of options; their defaults are those of LabelTree."""
    group = parser.add_argument_group("label tree (defaults are those of tailwise.LabelTree)")
    for name, (kind, words) in TREE_OPTIONS.items():
        flag = {"tolerance": "--tree-tolerance", "C": "-C"}.get(name, f"--{name.replace('_', '-')}")
        group.add_argument(flag, dest=PREFIX + name, type=kind, metavar=kind.__name__.upper(), help=words)
    group.add_argument(
        "--no-normalise", dest=PREFIX + "normalise", action="store_const", const=False, help="features as they are"
    )


def add_calibration_options(group: Any) -> None:
    """Add the options of a calibrator, but not the one that asks for it."""
    group.add_argument(
        "--by", default="all", help="one curve for all, or by frequency of labels (default: %(default)s)"
    )
    group.add_argument("--folds", type=int, default=5, help="of the cross-validation (default: %(default)s)")


def build_tree(options: argparse.Namespace, *, progress: bool) -> LabelTree:
    """The estimator that the options describe, its parameters checked, not yet fitted."""
    from tailwise.estimators.label_tree import LabelTree
    from tailwise.estimators.validating import check_parameters
    from tailwise.parameters import check_seed

    check_seed(options.seed)
    given = {name: getattr(options, PREFIX + name) for name in (*TREE_OPTIONS, "normalise")}
    parameters = {name: value for name, value in given.items() if value is not None}
    model = LabelTree(**parameters, n_jobs=options.workers, random_state=options.seed, progress=progress)
    check_parameters(model)
    return model


def build_calibrator(method: str, options: argparse.Namespace) -> Calibrator:
    """The calibrator that the options describe, its parameters checked, not yet fitted."""
    from tailwise.estimators.calibrator import Calibrator, check_parameters

    calibrator = Calibrator(method, by=options.by, random_state=options.seed)
    check_parameters(calibrator)
    return calibrator


def fit_calibrator(
    calibrator: Calibrator, model: LabelTree, X: sp.csr_array, Y: sp.csr_array, options: argparse.Namespace
) -> Calibrator:
    """Fit it by cross-validation; bars of single folds would say little."""
    from sklearn.base import clone

    quiet = clone(model).set_params(progress=False)
    return calibrator.fit_cross_validated(
        quiet, X, Y, folds=options.folds, top=options.top, progress=bool(model.progress)
    )
