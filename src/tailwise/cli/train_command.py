"""``tailwise train``: train a label tree and save it to a file."""

from __future__ import annotations

import argparse
import os
import time
from typing import TYPE_CHECKING, Any

from tailwise.cli.options import (
    add_calibration_options,
    add_command,
    add_tree_options,
    build_calibrator,
    build_tree,
    settle_calibration,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tailwise.models.label_tree import LabelTree

METHODS = "isotonic, platt, temperature or context"

EXAMPLES = """\
examples:
  tailwise train data -o model.tree
      from data/X.trn.npz and data/Y.trn.npz, or data/train.txt of the Extreme Classification Repository
  tailwise train features.npz labels.npz -o model.tree --n-trees 3
      from two files; the average of three trees
  tailwise train data -o model.tree --calibrator calibrator.npz --calibration context
      with a calibrator fitted by cross-validation, which trains the model six times in all

A folder may have any layout that tailwise data info reads. Two files are sparse matrices, with one row per instance, as
scipy.sparse.save_npz writes them or in any other format that tailwise.load reads.
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    what = "Train a label tree on features and labels, for tailwise predict."
    parser = add_command(commands, "train", EXAMPLES, help="train a label tree", description=what)
    parser.add_argument(
        "data", nargs="+", metavar="DATA", help="folder of training data, or two files: features and labels"
    )
    parser.add_argument("-o", "--output", required=True, metavar="MODEL", help="file to write the model to")
    parser.add_argument("--overwrite", action="store_true", help="replace MODEL (and the calibrator) if it exists")
    parser.add_argument("--workers", type=int, help="number of threads (default: all cores)")
    parser.add_argument("--seed", type=int, default=0, help="seed of tree and training (default: %(default)s)")
    add_tree_options(parser)
    calibration = parser.add_argument_group("calibration")
    calibration.add_argument(
        "--calibrator", metavar="FILE", help="fit a calibrator by cross-validation, and write it to this file (.npz)"
    )
    calibration.add_argument("--calibration", metavar="METHOD", help=f"{METHODS} (default: isotonic)")
    calibration.add_argument("--top", type=int, help="labels per instance (default: 100)")
    add_calibration_options(calibration)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from tailwise.datasets.formats.output_files import reserved_files
    from tailwise.errors import InputError

    if len(options.data) > 2:
        msg = f"DATA must be a folder, or two files, features and labels. Got {len(options.data)} paths."
        raise InputError(msg)
    settle_calibration(options, "calibrator", calibration="isotonic", top=100)
    paths = [path for path in (options.output, options.calibrator) if path is not None]
    with reserved_files(*paths, overwrite=options.overwrite) as drafts:
        model, n_instances, seconds = _train(options, *drafts)
    if not options.quiet:
        print(_summary(model, n_instances, seconds, options))
    return 0


def _train(
    options: argparse.Namespace, output: Path, calibrator_output: Path | None = None
) -> tuple[LabelTree, int, float]:
    """Train and save; return the model, the number of instances and the duration of the training."""
    from tailwise.runs.run import fit_calibrator

    model = build_tree(options, progress=options.progress)
    calibrator = build_calibrator(options.calibration, options)
    X, Y = _load(options.data)
    start = time.perf_counter()
    model.fit(X, Y)
    seconds = time.perf_counter() - start
    if calibrator_output is not None:
        fit_calibrator(calibrator, model, X, Y, folds=options.folds, top=options.top).save(calibrator_output)
    model.save(output)
    return model, X.shape[0], seconds


def _load(data: list[str]) -> tuple[Any, Any]:
    from tailwise.datasets import load_features, load_labels
    from tailwise.runs.run_data import read_data

    if len(data) == 2:
        return load_features(data[0]), load_labels(data[1])
    found = read_data(data[0], needs=("X", "Y"))
    return found.X, found.Y


def _summary(model: LabelTree, n_instances: int, seconds: float, options: argparse.Namespace) -> str:
    trees = "1 tree" if model.n_trees == 1 else f"{model.n_trees} trees"
    lines = [
        f"{trees} of {model.n_labels_:,} labels trained on {n_instances:,} instances in {seconds:.1f} s",
        f"{os.path.getsize(options.output) / 1e6:.1f} MB written to {options.output}",
    ]
    if options.calibrator is not None:
        lines.append(f"calibrator ({options.calibration}, {options.folds} folds) written to {options.calibrator}")
    return "\n".join(lines)
