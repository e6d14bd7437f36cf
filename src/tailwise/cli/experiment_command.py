"""``tailwise experiment``: a table or figure of the paper for any data set."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailwise.cli.model_options import add_column_options, add_model_options, read_model_options
from tailwise.cli.options import add_command

if TYPE_CHECKING:
    from tailwise.experiments.experiment import Experiment
    from tailwise.experiments.results import Results
    from tailwise.models.choosing import Wish

NAMES = {
    "head-labels": "all labels versus head labels: which metrics change if a model never predicts tail labels",
    "main": "the main table: strategies and metrics at k = 1, 3, 5, 10, with exact expectations and certificates",
    "extended": "the same with greedy strategies and macro-recall with priors, mean and deviation over 5 seeds",
    "true-labels": "the strategies with true labels as probabilities",
    "parameters": "the impact of k' and epsilon on metrics, passes and time",
    "mixed": "curves of precision mixed with macro-precision, macro-F1 and coverage",
    "label-tree": "inference on a label tree: metrics, time, speed-up, nodes visited",
}
LOG = logging.getLogger("tailwise.cli")
EXAMPLES = """\
experiments:
{names}

examples:
  tailwise experiment main --data data --probabilities probabilities.npz --out main
      the main table for the probabilities of your own model
  tailwise experiment mixed --data data --out mixed -k 3 --second macro-f1 --seeds 2
      one curve; without probabilities, a label tree is trained and kept in mixed/
  tailwise experiment main --data data --model ensemble --out main-ensemble
      the main table with another model; --model text needs texts or features, and the extra [text]

DIR holds X.trn.npz, Y.trn.npz, X.tst.npz, Y.tst.npz and labels.txt, or train.txt and test.txt of the Extreme
Classification Repository (tailwise data get), or texts. If probabilities are given, training data are optional.

OUT becomes a folder with runs (a record of each run), tables (.txt .csv .tex .html), figures (.png .svg) and
experiment.json; tailwise report OUT creates a page from it. After Ctrl-C, the same command resumes the experiment.
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    names = "\n".join(f"  {name:<12} {what}" for name, what in NAMES.items())
    what = "Reproduce a table or figure of the paper for a data set, with additional columns for exact expectations."
    parser = add_command(
        commands,
        "experiment",
        EXAMPLES.format(names=names),
        help="reproduce a table or figure of the paper",
        description=what,
    )
    parser.add_argument("name", metavar="NAME", choices=list(NAMES), help="name of the experiment, see below")
    parser.add_argument("--data", required=True, metavar="DIR", help="folder of the data set")
    parser.add_argument(
        "--probabilities", metavar="FILE", help="probabilities of the test set (default: a model is trained)"
    )
    parser.add_argument("--out", required=True, metavar="OUT", help="folder to write or to resume")
    parser.add_argument("-k", type=int, nargs="+", metavar="K", help="labels per instance (default: as in the paper)")
    parser.add_argument("--seeds", type=int, metavar="N", help="number of seeds (default: as in the paper)")
    parser.add_argument("--second", nargs="+", metavar="UTILITY", help="mixed only: utilities to mix with precision")
    parser.add_argument("--overwrite", action="store_true", help="replace OUT if it contains an experiment")
    add_column_options(parser)
    add_model_options(parser, default="tree, as in the paper")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from tailwise.experiments.experiment_data import ExperimentData
    from tailwise.experiments.results_folder import ResultsFolder
    from tailwise.experiments.run_experiment import identify, run_experiment, summarise
    from tailwise.reports.experiment_page import save_results
    from tailwise.reports.figures import check_drawing
    from tailwise.runs.run_data import TextColumns

    experiment = _specify(options)
    out = Path(options.out)
    progress = options.progress
    columns = TextColumns(options.text_column, options.label_column)
    data = ExperimentData(
        options.data, options.probabilities, out, wish=_choose_model(options), columns=columns, progress=progress
    )
    experiment.check(data)
    if experiment.has_curves:
        check_drawing()
    store = ResultsFolder(out)
    with store.opened(identify(experiment, data), overwrite=options.overwrite):
        try:
            results = run_experiment(experiment, data, store, progress=progress)
        except KeyboardInterrupt:
            LOG.warning("%d runs are kept in %s; the same command resumes them", store.count(), out)
            raise
        save_results(results, store.path)
        store.finish(summarise(experiment, data, results))
    if not options.quiet:
        _print(results, out)
    return 0


def _choose_model(options: argparse.Namespace) -> Wish:
    """Return the requested model: a label tree, as in the paper, or another one."""
    from tailwise.errors import InputError
    from tailwise.inputs.checks import check_choice
    from tailwise.model_names import MODELS
    from tailwise.models.choosing import Wish

    given = read_model_options(options)
    if options.probabilities is not None and any(given.values()):
        msg = "--probabilities cannot be combined with options of a model. Got both. Omit one of them."
        raise InputError(msg)
    name = given["model"] or ("ensemble" if options.embeddings else "tree")
    check_choice("--model", name, tuple(MODELS))
    return Wish(name, given["model_options"], given["embeddings"])


def _specify(options: argparse.Namespace) -> Experiment:
    """Return the paper's specification with the changes given by options."""
    from tailwise.errors import InputError
    from tailwise.experiments.run_experiment import EXPERIMENTS

    kind = EXPERIMENTS[options.name]
    changes: dict[str, Any] = {}
    if options.k is not None:
        changes["budgets"] = tuple(dict.fromkeys(options.k))
    if options.seeds is not None:
        if not kind.uses_seeds:
            msg = f"The experiment {options.name} does not depend on seeds. Got --seeds. Omit it."
            raise InputError(msg)
        if options.seeds < 1:
            msg = f"--seeds must be at least 1. Got {options.seeds}."
            raise InputError(msg)
        changes["seeds"] = tuple(range(options.seeds))
    if options.second is not None:
        if options.name != "mixed":
            msg = f"--second can only be used with the experiment mixed. Got {options.name}. Omit it."
            raise InputError(msg)
        changes["seconds"] = tuple(dict.fromkeys(name.strip().lower() for name in options.second))
    return kind(**changes)


def _print(results: Results, out: Path) -> None:
    from tailwise.reports.tables import describe_marks, to_text

    for table in results.tables:
        marks = describe_marks(table, best="*", second="'")
        print(f"{table.title}{f'  ({marks})' if marks else ''}\n\n{to_text(table)}\n")
    for note in results.notes:
        print(note)
    print(f"{results.seconds:.1f} s; everything is in {out}")
