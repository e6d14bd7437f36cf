"""``tailwise demo``: what tailwise does, on a synthetic data set with a long tail."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailwise.cli.options import add_command

if TYPE_CHECKING:
    from tailwise.datasets import LongTail
    from tailwise.metrics import Evaluation

INSTANCE_COLUMNS = {
    "precision": "P",
    "recall": "R",
    "ndcg": "nDCG",
    "ps-precision": "PS-P",
    "ps-precision-normalised": "PSPn",
    "ps-ndcg": "PSnDCG",
    "micro-f1": "micro-F1",
}
MACRO_COLUMNS = {
    "macro-precision": "P",
    "macro-recall": "R",
    "macro-f1": "F1",
    "macro-jaccard": "Jac",
    "macro-balanced-accuracy": "BA",
    "macro-gmean": "G",
    "macro-hmean": "H",
    "macro-accuracy": "Acc",
    "coverage": "Cov",
    "catalogue-coverage": "Cat",
}
BUDGETS = (1, 3, 5)
EXAMPLES = """\
examples:
  tailwise demo
      four strategies, one record explained, a certificate; writes a report page and a picture
  tailwise demo --full
      all strategies of the paper, all metrics, three budgets
  tailwise demo --seed 7 --out elsewhere
      different random data; files are written to the folder elsewhere
"""
PICTURED_BUDGET = 3
LEGEND = """
Rows: what is maximised
  Top-K              precision: the most probable labels
  PS-K Pow-K Log-K   precision with rare labels weighted up: by inverse propensities, a power or log of training priors
  Macro-P -R -F1     macro precision, recall, F1: averages over labels; Cov: coverage
  greedy, prior      in one pass over the instances; with positives estimated from training frequencies
  exact              with exact expectations, after a shift to the training frequencies; the others as in the paper
Columns
  PS-P               propensity-scored precision; may exceed 100, because rare labels count more than once
  PSPn PSnDCG        propensity-scored precision and nDCG as fractions of the best possible values
  Jac BA G H Acc     Jaccard, balanced accuracy, geometric and harmonic mean of recall and specificity, accuracy
  Cov Cat            labels found, and labels predicted, at least once"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    description = (
        "Show what tailwise does on a synthetic long-tailed data set: four strategies, one record explained, "
        "a certificate, a report page and a picture."
    )
    what = "see what tailwise does, on synthetic data"
    parser = add_command(commands, "demo", EXAMPLES, help=what, description=description)
    parser.add_argument(
        "--out", default="tailwise-demo", metavar="DIR", help="folder to write the files to (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the data set (default: %(default)s)")
    parser.add_argument("--full", action="store_true", help="all strategies, metrics and budgets")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    return _compare_all(options) if options.full else _tell(options)


def _tell(options: argparse.Namespace) -> int:
    import shutil

    from tailwise.progress import track
    from tailwise.reports.demo_story import describe_story, tell_story
    from tailwise.reports.figures import check_drawing

    check_drawing()
    with track(total=6, title="demo", unit="steps", shown=options.progress, leave=False) as bar, _written(options.out):
        story = tell_story(Path(options.out), options.seed, on_step=lambda name: bar.update())
    print(describe_story(story, shutil.get_terminal_size((80, 24)).columns))
    return 0


@contextmanager
def _written(folder: str) -> Iterator[None]:
    """Say which option to change if files cannot be written."""
    from tailwise.datasets.formats.disk_failures import file_error

    try:
        yield
    except OSError as error:
        msg = f"The files cannot be written to {folder}: {error.strerror or error}. Choose another --out."
        raise file_error(msg, error) from error


def _compare_all(options: argparse.Namespace) -> int:
    from tailwise.datasets import make_long_tail

    folder = Path(options.out)
    with _written(options.out):
        folder.mkdir(parents=True, exist_ok=True)
    data = make_long_tail(seed=options.seed)
    n, m = data.probabilities.shape
    print(f"{n:,} instances, {m:,} labels, {data.truth.sum() / n:.1f} true labels per instance, seed {options.seed}")
    print(LEGEND)
    evaluations = {k: _compare(data, k, progress=options.progress) for k in BUDGETS}
    for k, rows in evaluations.items():
        _print_tables(k, rows)
    path = _draw(data, evaluations[PICTURED_BUDGET], folder)
    print(f"\nThe figure of precision versus macro-F1 at {PICTURED_BUDGET} is in {path}")
    return 0


def _compare(data: LongTail, k: int, *, progress: bool) -> dict[str, Evaluation]:
    from tailwise.experiments import STRATEGIES, compare_strategies
    from tailwise.progress import track

    with track(total=len(STRATEGIES), title=f"k={k}", unit="strategies", leave=False, shown=progress) as bar:
        return compare_strategies(data.probabilities, data.truth, k, data.priors, on_done=lambda strategy: bar.update())


def _print_tables(k: int, rows: dict[str, Evaluation]) -> None:
    from tailwise.experiments.results import Table
    from tailwise.reports.tables import to_text

    for what, columns in (("Instance-wise metrics", INSTANCE_COLUMNS), ("Macro averages and coverage", MACRO_COLUMNS)):
        print(f"\n{what} at {k}, percent (* best, ' second best)")
        print(to_text(Table.of(rows, columns)))


def _draw(data: LongTail, rows: dict[str, Evaluation], folder: Path) -> Path:
    from tailwise.experiments import trade_off
    from tailwise.reports.figures import save_trade_off

    curve = trade_off(data.probabilities, "precision", "macro-f1", PICTURED_BUDGET, truth=data.truth)
    others = {name: (values["precision"], values["macro-f1"]) for name, values in rows.items()}
    path = folder / "trade-off.png"
    with _written(str(folder)):
        save_trade_off(
            path, curve, others, title=f"Trade-off of precision and macro-F1, {PICTURED_BUDGET} labels per instance"
        )
    return path
