"""``tailwise run``: train, predict, select and evaluate in one command, with a record of all settings."""

from __future__ import annotations

import argparse
import logging
from typing import Any

from tailwise.cli.exit_codes import DONE, NOT_IN_TIME
from tailwise.cli.model_options import add_column_options, add_model_options, read_model_options
from tailwise.cli.options import (
    add_calibration_options,
    add_command,
    add_json_option,
    add_max_seconds_option,
    add_names_options,
    add_propensity_option,
    add_search_options,
    build_calibrator,
    check_sizes,
    is_out_of_time,
    parse_budget,
    read_search_options,
    settle_calibration,
)

LOG = logging.getLogger("tailwise.cli")
EXAMPLES = """\
examples:
  tailwise run data -u macro-f1 -k 5 -o first-run
      train on data/*.trn.npz, choose five labels for each row of data/X.tst.npz, evaluate them with data/Y.tst.npz
  tailwise run data -u macro-f1 -k 5 -o second-run --calibration context --certify
      with calibrated probabilities, and a proven bound on the distance to the optimum
  tailwise run data -u macro-f1 -k 5 -o third-run --model tree --n-trees 3
      with label trees only; --model-option KEY=VALUE sets any parameter of a model
  tailwise run data -u macro-f1 -k 5 -o fourth-run --embeddings all-MiniLM-L6-v2
      on texts, with the vectors of a pretrained encoder as well, given by name or as a folder
  tailwise run data -u coverage -k 5 -o fifth-run --method tree
      greedily on the label tree itself, without a shortlist

DIR holds X.trn.npz, Y.trn.npz and X.tst.npz, sparse matrices as scipy.sparse.save_npz writes them; optionally
Y.tst.npz, without which nothing is evaluated, and labels.txt, with one label name per line. Or it holds train.txt and
test.txt of the Extreme Classification Repository; tailwise data info DIR lists what is found. A filter file is not
applied. Instead of features there may be texts: texts.trn.txt and texts.tst.txt with a text per line, or train and test
as .tsv (an Annif corpus), .csv or .jsonl with the columns text and labels; without test labels, nothing is evaluated.

OUT becomes a folder with model.tailwise, probabilities.npz (except with --method tree), selection.npz, selection.tsv if
labels have names, instances.txt if the test texts have ids, calibrator.npz if requested, run.toml (for --config) and
run.json: configuration, seed, the model and why it was chosen, versions, SHA-256 of the inputs, seconds, metrics,
certificate. For tailwise report OUT it also holds priors.npz, the counts of the training labels, and truth.npz and
labels.txt if available. After Ctrl-C, the same command resumes after the last finished step.
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    what = "Train a model, predict, select and evaluate, and record all settings and results."
    parser = add_command(commands, "run", EXAMPLES, help="train, predict, select and evaluate", description=what)
    parser.add_argument("data", metavar="DIR", help="folder of training and test data")
    parser.add_argument("-u", "--utility", required=True, help="what to maximise, for instance macro-f1")
    parser.add_argument("-k", required=True, type=parse_budget, help="labels per instance, or none for no budget")
    parser.add_argument("-o", "--output", required=True, metavar="OUT", help="folder to write or to resume")
    parser.add_argument("--top", type=int, default=100, help="length of the shortlists (default: %(default)s)")
    parser.add_argument("--beam", type=int, metavar="N", help="beam width: nodes kept per level; faster, but not exact")
    add_column_options(parser)
    add_names_options(parser)
    add_propensity_option(parser, "those of the benchmark that the sizes of the data match, otherwise 0.55 1.5")
    parser.add_argument("--overwrite", action="store_true", help="replace OUT if it contains an earlier run")
    add_max_seconds_option(parser)
    add_json_option(parser)
    add_search_options(parser, on_tree=True)
    add_model_options(parser)
    calibration = parser.add_argument_group("calibration")
    calibration.add_argument(
        "--calibration", metavar="METHOD", help="isotonic, platt, temperature or context, by cross-validation"
    )
    add_calibration_options(calibration)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from tailwise.runs.record import as_json
    from tailwise.runs.run import run as run_all
    from tailwise.runs.steps import list_kept_steps

    settle_calibration(options, "calibration")
    check_sizes(options, "top", "beam")
    progress = options.progress
    names = (
        "data",
        "utility",
        "k",
        "output",
        "overwrite",
        "folds",
        "top",
        "beam",
        "propensity",
        "text_column",
        "label_column",
        "label_names",
        "language",
        "max_seconds",
    )
    try:
        done = run_all(
            **{name: getattr(options, name) for name in names},
            **read_model_options(options),
            calibration=None if options.calibration is None else build_calibrator(options.calibration, options),
            progress=progress,
            **read_search_options(options),
        )
    except KeyboardInterrupt:
        if list_kept_steps(options.output):
            LOG.warning("finished steps are kept in %s; the same command resumes the run", options.output)
        raise
    if options.json:
        print(as_json({"command": "run", "output": options.output, **done.record}), end="")
    elif not options.quiet:
        print(f"{done.summary()}\neverything is in {options.output}")
    return NOT_IN_TIME if is_out_of_time(done.selection, options) else DONE
