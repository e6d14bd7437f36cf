"""``tailwise demo``: all strategies of the paper on a synthetic data set with a long tail."""

from __future__ import annotations

import argparse
import sys
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
  tailwise demo --seed 7 --out elsewhere
      different random data; the figure is written to the folder elsewhere
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
        "Apply all strategies of the paper to a synthetic long-tailed data set with known probabilities, print all "
        "metrics, and draw the trade-off between precision and macro-F1."
    )
    what = "compare all strategies on synthetic data"
    parser = add_command(commands, "demo", EXAMPLES, help=what, description=description)
    parser.add_argument(
        "--out", default="tailwise-demo", metavar="DIR", help="folder of the figure (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the data set (default: %(default)s)")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from tailwise.datasets import make_long_tail

    data = make_long_tail(seed=options.seed)
    n, m = data.probabilities.shape
    print(f"{n:,} instances, {m:,} labels, {data.truth.sum() / n:.1f} true labels per instance, seed {options.seed}")
    print(LEGEND)
    evaluations = {k: _compare(data, k) for k in BUDGETS}
    for k, rows in evaluations.items():
        _print_tables(k, rows)
    path = _draw(data, evaluations[PICTURED_BUDGET], Path(options.out))
    print(f"\nThe figure of precision versus macro-F1 at {PICTURED_BUDGET} is in {path}")
    return 0


def _compare(data: LongTail, k: int) -> dict[str, Evaluation]:
    from tqdm import tqdm

    from tailwise.experiments import STRATEGIES, compare_strategies

    with tqdm(total=len(STRATEGIES), desc=f"k={k}", leave=False, disable=not sys.stderr.isatty()) as bar:
        return compare_strategies(data.probabilities, data.truth, k, data.priors, on_done=lambda strategy: bar.update())


def _print_tables(k: int, rows: dict[str, Evaluation]) -> None:
    from tailwise.experiments.results import Table
    from tailwise.reports.tables import to_text

    for what, columns in (("Instance-wise metrics", INSTANCE_COLUMNS), ("Macro averages and coverage", MACRO_COLUMNS)):
        print(f"\n{what} at {k}, percent (* best, ' second best)")
        print(to_text(Table.of(rows, columns)))


def _draw(data: LongTail, rows: dict[str, Evaluation], folder: Path) -> Path:
    from tailwise.errors import FileError
    from tailwise.experiments import trade_off
    from tailwise.reports.figures import save_trade_off

    curve = trade_off(data.probabilities, "precision", "macro-f1", PICTURED_BUDGET, truth=data.truth)
    others = {name: (values["precision"], values["macro-f1"]) for name, values in rows.items()}
    path = folder / "trade-off.png"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        save_trade_off(
            path, curve, others, title=f"Trade-off of precision and macro-F1, {PICTURED_BUDGET} labels per instance"
        )
    except OSError as error:
        msg = f"The figure cannot be written to {path}: {error.strerror or error}. Choose another --out."
        raise FileError(msg) from error
    return path
