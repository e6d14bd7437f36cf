"""``tailwise evaluate``: evaluate a selection with true labels."""

from __future__ import annotations

import argparse
import json
import math
from typing import TYPE_CHECKING, Any

from tailwise.cli.cluster_options import add_cluster_options, engine_for
from tailwise.cli.options import (
    add_command,
    add_json_option,
    add_label_weights_option,
    add_propensity_option,
    parse_columns,
)
from tailwise.cli.streams import inputs_in_files

if TYPE_CHECKING:
    from tailwise.metrics import Evaluation

EXAMPLES = """\
examples:
  tailwise evaluate truth.npz chosen.npz
  tailwise evaluate truth.npz chosen.npz -m macro-f1 -m "macro-fbeta(2)" -k 3
      two metrics for the first 3 labels of each instance
  tailwise evaluate truth.npz chosen.npz --priors train-labels.npz
      also propensity-scored metrics, and head, torso and tail separately
  tailwise evaluate truth.npz chosen.npz --probabilities probabilities.npz
      expected and realised values
  tailwise evaluate tst_X_Y.txt chosen.jsonl --filter filter_labels_test.txt --label-names Y.txt
      without the pairs of a filter file; the selection uses label names
  tailwise evaluate truth.npz chosen.npz --format json | jq '."macro-f1"'
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(commands, "evaluate", EXAMPLES, help="evaluate a selection with true labels")
    parser.add_argument("truth", metavar="TRUTH", help="true labels, in any format, or - for standard input")
    parser.add_argument("selection", metavar="SELECTION", help="selection of tailwise, any 0/1 matrix, or -")
    parser.add_argument("-m", "--metric", action="append", metavar="NAME", help="a metric; may be repeated")
    parser.add_argument("-k", type=int, help="evaluate the first K labels of each instance")
    parser.add_argument("--labels", default="all", help="average macro metrics over all labels, or only those present")
    parser.add_argument("--zero-division", type=float, default=0.0, help="value of 0/0: 0, 1 or nan (default: 0)")
    parser.add_argument("--priors", metavar="FILE", help="training labels, or priors.npz of a run")
    add_propensity_option(parser, "0.55 1.5; for a benchmark, see tailwise data list")
    parser.add_argument("--probabilities", metavar="FILE", help="label probabilities, to also compute expected values")
    parser.add_argument("--filter", metavar="FILE", help="pairs of instance and label to exclude")
    parser.add_argument("--label-names", metavar="FILE", help="names of the labels, one per line, if files name them")
    parser.add_argument(
        "--columns",
        type=parse_columns,
        metavar="A,B",
        help="columns of instances and labels in TRUTH, and in other tables that have them",
    )
    parser.add_argument(
        "--instances", default="common", help="by id: evaluate the instances in both files (common, default), or all"
    )
    add_label_weights_option(parser)
    add_cluster_options(parser)
    parser.add_argument("--format", choices=["text", "json", "csv"], default="text", help="default: %(default)s")
    add_json_option(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from tailwise.errors import InputError

    if options.propensity is not None and options.priors is None:
        msg = "--propensity needs training labels. Got no --priors. Use --priors FILE, or omit --propensity."
        raise InputError(msg)
    if options.probabilities is None and (options.scheduler is not None or options.local_cluster is not None):
        msg = "A cluster computes expected values, which need --probabilities. Got none. Add --probabilities FILE."
        raise InputError(msg)
    evaluation = _evaluate(options)
    if options.json:
        print(_as_json(evaluation, options), end="")
    elif options.format == "json":
        # JSON has no NaN.
        values: dict[str, Any] = {name: None if math.isnan(value) else value for name, value in evaluation.items()}
        print(json.dumps(values | ({"expected": evaluation.expected} if evaluation.expected else {}), indent=2))
    elif options.format == "csv":
        _print_csv(evaluation)
    else:
        print(evaluation)
        if options.priors is not None:
            _print_bins(evaluation)
    return 0


def _evaluate(options: argparse.Namespace) -> Evaluation:
    from tailwise.inputs.priors import USUAL_PROPENSITY
    from tailwise.metrics import evaluate

    columns = dict(zip(("instance", "label"), options.columns or (), strict=False))
    sources = options.truth, options.selection, options.probabilities
    with inputs_in_files(*sources) as (truth, selection, probabilities), engine_for(options) as engine:
        return evaluate(
            truth,
            selection,
            options.metric,
            k=options.k,
            labels=options.labels,
            zero_division=options.zero_division,
            priors=options.priors,
            propensity=options.propensity or USUAL_PROPENSITY,
            probabilities=probabilities,
            filter=options.filter,
            label_names=options.label_names,
            label_weights=options.label_weights,
            instances=options.instances,
            engine=engine,
            **columns,
        )


def _as_json(evaluation: Any, options: argparse.Namespace) -> str:
    from tailwise.runs.record import as_json, describe_versions

    record = {
        "command": "evaluate",
        "truth": options.truth,
        "selection": options.selection,
        "k": options.k,
        "labels": options.labels,
        "metrics": dict(evaluation.items()),
        "expected": evaluation.expected,
        "by_frequency": None if options.priors is None else [each._asdict() for each in evaluation.by_frequency()],
        "versions": describe_versions(),
    }
    return as_json(record)


def _print_csv(evaluation: Any) -> None:
    print("metric,value,expected" if evaluation.expected else "metric,value")
    for name, value in evaluation.items():
        more = f",{evaluation.expected.get(name, '')}" if evaluation.expected else ""
        print(f"{name},{value!r}{more}")


def _print_bins(evaluation: Any) -> None:
    from tailwise.experiments.results import Table
    from tailwise.reports.tables import to_text

    columns = {"macro_precision": "mP", "macro_recall": "mR", "macro_f1": "mF1", "coverage": "coverage"}
    rows = {
        f"{bin_.name}, {bin_.n_labels:,} labels": {key: getattr(bin_, key) for key in columns}
        for bin_ in evaluation.by_frequency()
    }
    print("\nby training frequency, percent")
    print(to_text(Table.of(rows, columns, better=None), best="", second=""))
