"""``tailwise train``: train a model and save it to a file."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from tailwise.cli.announce import describe_written
from tailwise.cli.model_options import add_column_options, add_model_options, read_model_options
from tailwise.cli.options import (
    add_calibration_options,
    add_command,
    add_names_options,
    build_calibrator,
    settle_calibration,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tailwise.models.choosing import Choice, Wish

METHODS = "isotonic, platt, temperature or context"

EXAMPLES = """\
examples:
  tailwise train data -o trained.model
      from data/X.trn.npz and data/Y.trn.npz, or data/train.txt of the Extreme Classification Repository
  tailwise train features.npz labels.npz -o trained.model --model tree --n-trees 3
      from two files; the average of three label trees
  tailwise train titles.txt labels.npz -o trained.model
      from texts, one per line; the vocabulary is saved in the model
  tailwise train corpus.tsv -o trained.model
      from one file of texts and labels: an Annif corpus, or .csv, .tsv or .jsonl with columns for both
  tailwise train data -o trained.model --calibrator calibrator.npz --calibration context
      with a calibrator fitted by cross-validation, which trains the model six times in all

A folder may have any layout that tailwise data info reads. Two files are sparse matrices, with one row per instance, as
scipy.sparse.save_npz writes them or in any other format that tailwise.load reads; instead of features there may be
texts. The model by default is that of tailwise run.
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    what = "Train a model on features or texts and their labels, for tailwise predict."
    parser = add_command(commands, "train", EXAMPLES, help="train a model", description=what)
    parser.add_argument(
        "data",
        nargs="+",
        metavar="DATA",
        help="folder of training data; or two files, features or texts, and labels; or a file of texts with labels",
    )
    parser.add_argument("-o", "--output", required=True, metavar="MODEL", help="file to write the model to")
    parser.add_argument("--overwrite", action="store_true", help="replace MODEL (and the calibrator) if it exists")
    parser.add_argument("--workers", type=int, help="number of threads (default: all cores)")
    parser.add_argument("--seed", type=int, default=0, help="seed of tree and training (default: %(default)s)")
    add_column_options(parser)
    add_names_options(parser)
    add_model_options(parser)
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
        choice, n_instances, seconds = _train(options, *drafts)
    if not options.quiet:
        print(_summary(choice, n_instances, seconds, options))
    return 0


def _train(
    options: argparse.Namespace, output: Path, calibrator_output: Path | None = None
) -> tuple[Choice, int, float]:
    """Train and save; return the model, the number of instances and the duration of the training."""
    from tailwise.models.choosing import choose_model
    from tailwise.runs.model_steps import fit_calibrator, name_labels
    from tailwise.runs.run_data import TextColumns
    from tailwise.runs.training_input import read_training

    wish, settings = _choose_model(options)
    calibrator = build_calibrator(options.calibration, options)
    columns = TextColumns(options.text_column, options.label_column, options.label_names, options.language)
    data = read_training(options.data, columns)
    data.check_names()
    choice = choose_model(wish, data.rows, data.Y.shape[0])
    model = choice.model.set_params(**settings)
    start = time.perf_counter()
    model.fit(data.X, data.Y)
    seconds = time.perf_counter() - start
    name_labels(model, data.label_names)
    if calibrator_output is not None:
        fit_calibrator(calibrator, model, data.X, data.Y, folds=options.folds, top=options.top).save(calibrator_output)
    model.save(output)
    return choice, data.Y.shape[0], seconds


def _choose_model(options: argparse.Namespace) -> tuple[Wish, dict[str, Any]]:
    """Return what model is asked for, and the settings of every model, after checks that need no data."""
    from tailwise.inputs.checks import check_choice, check_seed, check_workers
    from tailwise.model_names import MODELS
    from tailwise.models.choosing import Wish
    from tailwise.models.features import LARGEST_SEED

    check_seed(options.seed, LARGEST_SEED)
    check_workers(options.workers, "--workers")
    if options.model is not None:
        check_choice("--model", options.model, tuple(MODELS))
    given = read_model_options(options)
    settings = {"n_jobs": options.workers, "random_state": options.seed, "progress": options.progress}
    return Wish(given["model"], given["model_options"], given["embeddings"]), settings


def _summary(choice: Choice, n_instances: int, seconds: float, options: argparse.Namespace) -> str:
    labels = f"{choice.model.n_labels_:,} labels"
    lines = [
        f"model {choice.name!r} of {labels} trained on {n_instances:,} instances in {seconds:.1f} s ({choice.why})",
        describe_written(options.output),
    ]
    if options.calibrator is not None:
        lines.append(f"calibrator ({options.calibration}, {options.folds} folds) written to {options.calibrator}")
    return "\n".join(lines)
