"""``tailwise experiment``: a table or figure of the paper on a data set of one's own."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailwise.experiments.experiment import Experiment
    from tailwise.experiments.results import Results

__all__ = ["add_parser"]

NAMES = {
    "head-labels": "full against head labels: which metrics notice that a model never predicts the tail",
    "main": "the main table: strategies by metrics at k = 1, 3, 5, 10, with exact expectation and certificate",
    "extended": "the same with greedy strategies and macro-recall by priors, mean and deviation over 5 seeds",
    "true-labels": "what the strategies reach with the true labels as probabilities",
    "parameters": "the impact of k' and epsilon on metrics, passes and seconds",
    "mixed": "precision mixed with macro-precision, macro-F1 and coverage, as curves",
    "label-tree": "inference on a label tree: metrics, seconds, speed-up, visited nodes",
}
EXAMPLES = """\
experiments:
{names}

examples:
  tailwise experiment main --data data --probabilities probabilities.npz --out main
      the main table for the probabilities of your own model
  tailwise experiment mixed --data data --out mixed -k 3 --second macro-f1 --seeds 2
      one curve; without probabilities a label tree is trained, and kept in mixed/

DIR holds X.trn.npz, Y.trn.npz, X.tst.npz, Y.tst.npz and labels.txt, or train.txt and test.txt of the Extreme
Classification Repository (tailwise data get). Where probabilities are given, training data may be missing.

OUT becomes a folder with runs (a record of each run), tables (.txt .csv .tex .html), figures (.png .svg), and
experiment.json; tailwise report OUT makes a page of it. After Ctrl-C the same command goes on where it stopped.
"""


def add_parser(commands: Any) -> None:
    """Add the command to those of the parser."""
    names = "\n".join(f"  {name:<12} {what}" for name, what in NAMES.items())
    parser = commands.add_parser(
        "experiment",
        help="make a table or figure of the paper",
        description="Make a table or figure of the paper on a data set, with the columns that exact expectation adds.",
        epilog=EXAMPLES.format(names=names),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", metavar="NAME", choices=list(NAMES), help="which one; see below")
    parser.add_argument("--data", required=True, metavar="DIR", help="folder with the data set")
    parser.add_argument("--probabilities", metavar="FILE", help="of the test set; without, a label tree is trained")
    parser.add_argument("--out", required=True, metavar="OUT", help="the folder to write, or to go on with")
    parser.add_argument("-k", type=int, nargs="+", metavar="K", help="labels per instance, instead of the paper's")
    parser.add_argument("--seeds", type=int, metavar="N", help="number of seeds, instead of the paper's")
    parser.add_argument("--second", nargs="+", metavar="UTILITY", help="mixed only: what to mix with precision")
    parser.add_argument("--overwrite", action="store_true", help="replace OUT if it is the folder of an experiment")
    parser.add_argument("--quiet", action="store_true", help="no progress bar, no tables on standard output")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from tailwise.experiments.experiment_data import open_data
    from tailwise.experiments.results_folder import ResultsFolder
    from tailwise.experiments.run_experiment import identify, run_experiment, summarise
    from tailwise.report.experiment_page import save_results
    from tailwise.report.figures import check_drawing

    experiment = _specify(options)
    out = Path(options.out)
    progress = sys.stderr.isatty() and not options.quiet
    data = open_data(options.data, options.probabilities, out, progress=progress)
    experiment.check(data)
    if experiment.has_curves:
        check_drawing()
    store = ResultsFolder(out)
    with store.opened(identify(experiment, data), overwrite=options.overwrite):
        try:
            results = run_experiment(experiment, data, store, progress=progress)
        except KeyboardInterrupt:
            told = f"{store.count()} runs are kept in {out}; the same command goes on from there"
            print(f"tailwise: {told}", file=sys.stderr)
            raise
        save_results(results, store.path)
        store.finish(summarise(experiment, data, results))
    if not options.quiet:
        _print(results, out)
    return 0


def _specify(options: argparse.Namespace) -> Experiment:
    """The paper's specification, with what the command line says otherwise."""
    from tailwise.errors import InputError
    from tailwise.experiments.experiment_names import EXPERIMENTS

    kind = EXPERIMENTS[options.name]
    changes: dict[str, Any] = {}
    if options.k is not None:
        changes["budgets"] = tuple(dict.fromkeys(options.k))
    if options.seeds is not None:
        if not kind.uses_seeds:
            msg = f"The experiment {options.name} is the same for every seed. Got --seeds. Leave it out."
            raise InputError(msg)
        if options.seeds < 1:
            msg = f"--seeds must be at least 1. Got {options.seeds}."
            raise InputError(msg)
        changes["seeds"] = tuple(range(options.seeds))
    if options.second is not None:
        if options.name != "mixed":
            msg = f"--second belongs to the experiment mixed. Got it with {options.name}. Leave it out."
            raise InputError(msg)
        changes["seconds"] = tuple(dict.fromkeys(name.strip().lower() for name in options.second))
    return kind(**changes)


def _print(results: Results, out: Path) -> None:
    from tailwise.report.tables import describe_marks, to_text

    for table in results.tables:
        marks = describe_marks(table, best="*", second="'")
        print(f"{table.title}{f'  ({marks})' if marks else ''}\n\n{to_text(table)}\n")
    for note in results.notes:
        print(note)
    print(f"{results.seconds:.1f} s; everything is in {out}")
