"""``tailwise run``: train, predict, select and evaluate in one go, with a record of how it was done."""

from __future__ import annotations

import argparse
from typing import Any

from tailwise.cli.propensity import add_propensity_option
from tailwise.cli.search_options import add_search_options, parse_budget
from tailwise.cli.tree_options import add_calibration_options, add_tree_options, settle_calibration

__all__ = ["add_parser"]

EXAMPLES = """\
examples:
  tailwise run data -u macro-f1 -k 5 -o first-run
      train on data/*.trn.npz, choose five labels for each row of data/X.tst.npz, score them on data/Y.tst.npz
  tailwise run data -u macro-f1 -k 5 -o second-run --calibration context --certify
      with honest probabilities, and the proof of how close to the optimum the selection is
  tailwise run data -u coverage -k 5 -o third-run --method tree
      greedily, on the tree itself, without a shortlist

DIR holds X.trn.npz, Y.trn.npz and X.tst.npz, sparse matrices as scipy.sparse.save_npz writes them; Y.tst.npz, without
which nothing is evaluated; and labels.txt, with the name of a label in each line, where there are names. Or it holds
train.txt and test.txt as the Extreme Classification Repository has them; tailwise data info DIR shows what is found.
Its filter file, where there is one, is not applied.

OUT becomes a folder with model.tree, probabilities.npz (not by --method tree), selection.npz, selection.tsv where there
are names, calibrator.npz where asked for, and run.json: configuration, seed, versions, SHA-256 of the inputs, seconds,
metrics, certificate. For tailwise report OUT it also keeps truth.npz and labels.txt, where there, and priors.npz, the
counts of training labels.
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
    parser.add_argument("-o", "--output", required=True, metavar="OUT", help="the folder to write")
    parser.add_argument("--top", type=int, default=100, help="labels of the shortlist (default: %(default)s)")
    parser.add_argument("--beam", type=int, metavar="N", help="follow only N nodes a level: faster, no longer exact")
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
    from tailwise.cli.outputs import RUN, claimed_folder
    from tailwise.cli.pipeline import Pipeline
    from tailwise.datasets.formats.disk import file_errors_of

    settle_calibration(options, "calibration")
    with claimed_folder(options.output, RUN, overwrite=options.overwrite) as draft:
        pipeline = Pipeline(options)
        pipeline.train()
        pipeline.select()
        pipeline.evaluate()
        with file_errors_of(options.output):
            pipeline.save(draft)
    if not options.quiet:
        print(pipeline.summary())
    return 0
