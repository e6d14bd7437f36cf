"""``tailwise train``: from features and labels to a label tree in a file."""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from tailwise.cli.tree_options import (
    add_calibration_options,
    add_tree_options,
    build_calibrator,
    build_tree,
    fit_calibrator,
)

if TYPE_CHECKING:
    from tailwise.estimators.label_tree import LabelTree

__all__ = ["add_parser"]

EXAMPLES = """\
examples:
  tailwise train data -o model.tree
      from data/X.trn.npz and data/Y.trn.npz
  tailwise train features.npz labels.npz -o model.tree --n-trees 3
      from two files; three trees, averaged
  tailwise train data -o model.tree --calibrator calibrator.npz --calibration context
      and how honest its probabilities are, by cross-validation: six trainings in all

Features and labels are sparse matrices as scipy.sparse.save_npz writes them, one row per instance.
"""


def add_parser(commands: Any) -> None:
    """Add the command to those of the parser."""
    parser = commands.add_parser(
        "train",
        help="train a label tree",
        description="Train a label tree on features and labels, for tailwise predict.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "data", nargs="+", metavar="DATA", help="folder with X.trn.npz and Y.trn.npz, or two files: features and labels"
    )
    parser.add_argument("-o", "--output", required=True, metavar="MODEL", help="where to write the model")
    parser.add_argument("--overwrite", action="store_true", help="replace MODEL (and the calibrator) if it exists")
    parser.add_argument("--quiet", action="store_true", help="no progress bar, no summary")
    parser.add_argument("--workers", type=int, help="threads (default: all cores)")
    parser.add_argument("--seed", type=int, default=0, help="seed of tree and training (default: %(default)s)")
    add_tree_options(parser)
    calibration = parser.add_argument_group("calibration")
    calibration.add_argument(
        "--calibrator", metavar="FILE", help="fit a calibrator by cross-validation; where to (.npz)"
    )
    calibration.add_argument("--calibration", default="isotonic", metavar="METHOD", help="default: %(default)s")
    calibration.add_argument("--top", type=int, default=100, help="labels per instance (default: %(default)s)")
    add_calibration_options(calibration)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from tailwise.cli.outputs import check_new_file
    from tailwise.datasets import load, load_labels

    features, labels = _find_files(options.data)
    for path in filter(None, (options.output, options.calibrator)):
        check_new_file(path, overwrite=options.overwrite)
    model = build_tree(options, progress=sys.stderr.isatty() and not options.quiet)
    calibrator = None if options.calibrator is None else build_calibrator(options.calibration, options)
    X, Y = load(features), load_labels(labels)
    start = time.perf_counter()
    model.fit(X, Y)
    seconds = time.perf_counter() - start
    if calibrator is not None:
        fit_calibrator(calibrator, model, X, Y, options).save(options.calibrator)
    model.save(options.output)
    if not options.quiet:
        print(_summary(model, X.shape[0], seconds, options))
    return 0


def _find_files(data: list[str]) -> tuple[Any, Any]:
    from tailwise.cli.data_folder import find_parts
    from tailwise.errors import InputError

    if len(data) > 2:
        msg = f"DATA must be a folder, or two files: features and labels. Got {len(data)} names."
        raise InputError(msg)
    if len(data) == 2:
        return data[0], data[1]
    parts = find_parts(data[0], ("X.trn.npz", "Y.trn.npz"))
    return parts["X.trn.npz"], parts["Y.trn.npz"]


def _summary(model: LabelTree, n_instances: int, seconds: float, options: argparse.Namespace) -> str:
    trees = "1 tree" if model.n_trees == 1 else f"{model.n_trees} trees"
    lines = [
        f"{trees} of {model.n_labels_:,} labels trained on {n_instances:,} instances in {seconds:.1f} s",
        f"{os.path.getsize(options.output) / 1e6:.1f} MB written to {options.output}",
    ]
    if options.calibrator is not None:
        lines.append(f"calibrator ({options.calibration}, {options.folds} folds) written to {options.calibrator}")
    return "\n".join(lines)
