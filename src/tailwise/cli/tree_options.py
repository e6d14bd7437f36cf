"""The options of commands that train: the label tree, and its calibration."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import scipy.sparse as sp

    from tailwise.models.calibrator import Calibrator
    from tailwise.models.label_tree import LabelTree

__all__ = [
    "add_calibration_options",
    "add_tree_options",
    "build_calibrator",
    "build_tree",
    "fit_calibrator",
    "settle_calibration",
]

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
CALIBRATION_DEFAULTS = {"by": "all", "folds": 5}
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
    """Add the options of a calibrator, but not the one that asks for it; see :func:`settle_calibration`."""
    defaults = {name: f"(default: {value})" for name, value in CALIBRATION_DEFAULTS.items()}
    group.add_argument("--by", help=f"one curve for all, or by frequency of labels {defaults['by']}")
    group.add_argument("--folds", type=int, help=f"of the cross-validation {defaults['folds']}")


def settle_calibration(options: argparse.Namespace, asked_by: str, **defaults: Any) -> None:
    """Fill in the options of a calibrator that were left out; refuse one that is given where none is asked for."""
    from tailwise.errors import InputError

    is_asked = getattr(options, asked_by) is not None
    for name, default in {**CALIBRATION_DEFAULTS, **defaults}.items():
        if getattr(options, name) is None:
            setattr(options, name, default)
        elif not is_asked:
            msg = f"--{name} belongs to a calibrator. Got it without --{asked_by}. Add --{asked_by}, or leave it out."
            raise InputError(msg)


def build_tree(options: argparse.Namespace, *, progress: bool) -> LabelTree:
    """The estimator that the options describe, its parameters checked, not yet fitted."""
    from tailwise.engines.threads import check_workers
    from tailwise.inputs.checks import check_seed
    from tailwise.models.features import LARGEST_SEED, check_parameters
    from tailwise.models.label_tree import LabelTree

    check_seed(options.seed, LARGEST_SEED)
    check_workers(options.workers, "--workers")
    given = {name: getattr(options, PREFIX + name) for name in (*TREE_OPTIONS, "normalise")}
    parameters = {name: value for name, value in given.items() if value is not None}
    model = LabelTree(**parameters, n_jobs=options.workers, random_state=options.seed, progress=progress)
    check_parameters(model)
    return model


def build_calibrator(method: str, options: argparse.Namespace) -> Calibrator:
    """The calibrator that the options describe, its parameters checked, not yet fitted."""
    from tailwise.models.calibrator import Calibrator, check_parameters

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
