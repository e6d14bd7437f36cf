"""``tailwise run``: train, predict, select and evaluate in one go, with a record of how it was done."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from tailwise.cli.options import (
    add_calibration_options,
    add_propensity_option,
    add_search_options,
    add_tree_options,
    build_calibrator,
    build_tree,
    check_sizes,
    parse_budget,
    read_search_options,
    settle_calibration,
)

__all__ = ["add_parser"]

EXAMPLES = """\
examples:
  tailwise run data -u macro-f1 -k 5 -o first-run
      train on data/*.trn.npz, choose five labels for each row of data/X.tst.npz, score them on data/Y.tst.npz
  tailwise run data -u macro-f1 -k 5 -o second-run --calibration context --certify
      with calibrated probabilities, and the proof of how close to the optimum the selection is
  tailwise run data -u coverage -k 5 -o third-run --method tree
      greedily, on the tree itself, without a shortlist

DIR holds X.trn.npz, Y.trn.npz and X.tst.npz, sparse matrices as scipy.sparse.save_npz writes them; Y.tst.npz, without
which nothing is evaluated; and labels.txt, with the name of a label in each line, where there are names. Or it holds
train.txt and test.txt as the Extreme Classification Repository has them; tailwise data info DIR shows what is found.
Its filter file, where there is one, is not applied.

OUT becomes a folder with model.tree, probabilities.npz (not by --method tree), selection.npz, selection.tsv where there
are names, calibrator.npz where asked for, and run.json: configuration, seed, versions, SHA-256 of the inputs, seconds,
metrics, certificate. For tailwise report OUT it also keeps truth.npz and labels.txt, where there, and priors.npz, the
counts of training labels. After Ctrl-C the same command goes on with the steps that were finished.
"""


def add_parser(commands: Any) -> None:
    """Add the command to those of the parser."""
    parser = commands.add_parser(
        "run",
        help="train, predict, select and evaluate in one go",
        description="Train a label tree, predict, select and evaluate in one go, and write down how it was done.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("data", metavar="DIR", help="folder with training and test data")
    parser.add_argument("-u", "--utility", required=True, help="what to maximise, for instance macro-f1")
    parser.add_argument("-k", required=True, type=parse_budget, help="labels per instance, or none for no budget")
    parser.add_argument("-o", "--output", required=True, metavar="OUT", help="the folder to write, or to go on with")
    parser.add_argument("--top", type=int, default=100, help="labels of the shortlist (default: %(default)s)")
    parser.add_argument(
        "--beam", type=int, metavar="N", help="beam width: nodes kept per level; faster, no longer exact"
    )
    add_propensity_option(parser, "those of the benchmark that has the sizes of the data, else 0.55 1.5")
    parser.add_argument("--overwrite", action="store_true", help="replace OUT if it is the folder of an earlier run")
    parser.add_argument("--quiet", action="store_true", help="no progress bar, no summary")
    add_search_options(parser, on_tree=True)
    add_tree_options(parser)
    calibration = parser.add_argument_group("calibration")
    calibration.add_argument(
        "--calibration", metavar="METHOD", help="isotonic, platt, temperature or context, by cross-validation"
    )
    add_calibration_options(calibration)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from tailwise.runs.run import run as run_all
    from tailwise.runs.steps import list_kept_steps

    settle_calibration(options, "calibration")
    check_sizes(options, "top", "beam")
    progress = sys.stderr.isatty() and not options.quiet
    names = ("data", "utility", "k", "output", "overwrite", "folds", "top", "beam", "propensity")
    try:
        done = run_all(
            **{name: getattr(options, name) for name in names},
            model=build_tree(options, progress=progress),
            calibration=None if options.calibration is None else build_calibrator(options.calibration, options),
            progress=progress,
            **read_search_options(options),
        )
    except KeyboardInterrupt:
        if list_kept_steps(options.output):
            told = f"finished steps are kept in {options.output}; the same command goes on from there"
            print(f"tailwise: {told}", file=sys.stderr)
        raise
    if not options.quiet:
        print(f"{done.summary()}\neverything is in {options.output}")
    return 0
