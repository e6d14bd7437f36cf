"""``tailwise trade-off``: what one utility costs in terms of another."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from tailwise.cli.options import (
    add_columns_option,
    add_command,
    add_json_option,
    add_search_options,
    parse_alphas,
    read_search_options,
)

if TYPE_CHECKING:
    from tailwise.experiments import Curve

EXAMPLES = """\
examples:
  tailwise trade-off probabilities.npz -k 5
      expected precision and macro-F1 of mixtures of both
  tailwise trade-off probabilities.npz -k 5 --max-drop 0.05
      also the command for the most macro-F1 at a cost of at most 5 % of the precision
  tailwise trade-off probabilities.npz -k 5 --second coverage --truth truth.npz --alphas 0,0.5,1 --csv curve.csv
      values on true labels, with fewer points, as a table
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    what = "Maximise mixtures of two utilities, and show what one costs in terms of the other."
    parser = add_command(
        commands, "trade-off", EXAMPLES, help="what one utility costs in terms of another", description=what
    )
    parser.add_argument("probabilities", metavar="PROBS", help="label probabilities, in any format")
    parser.add_argument("-k", required=True, type=int, help="labels per instance")
    parser.add_argument("--first", default="precision", metavar="UTILITY", help="default: %(default)s")
    parser.add_argument("--second", default="macro-f1", metavar="UTILITY", help="default: %(default)s")
    parser.add_argument(
        "--alphas", type=parse_alphas, metavar="LIST", help="weights of the second, separated by commas"
    )
    add_columns_option(parser)
    parser.add_argument("--truth", metavar="FILE", help="true labels, for realised values")
    parser.add_argument("--priors", metavar="FILE", help="training labels, or priors.npz of a run")
    parser.add_argument("--exclude", metavar="FILE", help="pairs that must not come out, as for tailwise select")
    parser.add_argument(
        "--max-drop", type=float, metavar="SHARE", help="recommend a point: largest acceptable loss of the first"
    )
    parser.add_argument("--csv", metavar="FILE", help="also write the points as a table")
    parser.add_argument("--overwrite", action="store_true", help="replace FILE of --csv if it exists")
    add_json_option(parser)
    add_search_options(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from contextlib import nullcontext

    from tailwise.datasets.formats.output_files import reserved_file

    csv = nullcontext() if options.csv is None else reserved_file(options.csv, overwrite=options.overwrite)
    with csv as draft:
        curve = _compute(options)
        if draft is not None:
            _write_csv(curve, draft)
    best = None if options.max_drop is None else curve.best(options.max_drop)
    if options.json:
        from tailwise.runs.record import as_json, describe_versions

        print(
            as_json({"command": "trade-off", **curve.to_dict(options.max_drop), "versions": describe_versions()}),
            end="",
        )
        return 0
    print(curve)
    if best is not None:
        print(f"\nat most {options.max_drop:.1%} less {curve.first}: alpha {best.alpha:g}\n{_recommend(best, options)}")
    return 0


def _recommend(best: Any, options: argparse.Namespace) -> str:
    """The command that makes the selection of a point."""
    words = [f'tailwise select {options.probabilities} -u "{best.selection.utility}" -k {options.k}']
    words += [] if options.columns is None else [f"--columns {','.join(options.columns)}"]
    words += [] if options.exclude is None else [f"--exclude {options.exclude}"]
    return " ".join([*words, f"-o {_name_output(best.selection)}"])


def _name_output(selection: Any) -> str:
    """Name an output whose format holds the ids of the selection."""
    return "chosen.npz" if selection.instance_ids is None and selection.label_names is None else "chosen.csv"


def _compute(options: argparse.Namespace) -> Curve:
    from tailwise.experiments.trade_off import check_alphas, trade_off
    from tailwise.progress import track

    alphas, probabilities = check_alphas(options.alphas), _read_columns(options)
    with track(total=len(alphas), title="trade-off", unit="mixtures", shown=options.progress, leave=False) as bar:
        return trade_off(
            probabilities,
            options.first,
            options.second,
            options.k,
            alphas=alphas,
            truth=_read_truth(options),
            priors=options.priors,
            exclude=_read_excluded(options, probabilities),
            on_done=lambda point: bar.update(),
            **read_search_options(options),
        )


def _read_columns(options: argparse.Namespace) -> Any:
    """Read the columns that were given; otherwise return the path, to be read later."""
    from tailwise.inputs.paths import Source
    from tailwise.selection.resolve import find_candidates

    if options.columns is None:
        return options.probabilities
    return find_candidates(Source.of(options.probabilities, columns=options.columns), None, None)


def _read_excluded(options: argparse.Namespace, probabilities: Any) -> Any:
    """Read exclusions by the columns that were named, if their file has them; otherwise leave it to be read."""
    from tailwise.inputs.excluded_pairs import read_excluded

    if options.exclude is None or options.columns is None:
        return options.exclude
    return read_excluded(options.exclude, probabilities, options.columns)


def _read_truth(options: argparse.Namespace) -> Any:
    """Read true labels by the columns that were given, if their file has them; otherwise return the path."""
    from tailwise.inputs.paths import id_columns_there
    from tailwise.metrics.evaluation_inputs import read_truth

    columns = None if options.truth is None else id_columns_there(options.truth, options.columns)
    return options.truth if columns is None else read_truth(options.truth, columns=columns)


def _write_csv(curve: Curve, path: Any) -> None:
    from tailwise.datasets.formats.disk import written_beside

    with written_beside(path) as file:
        file.write(f"alpha,{curve.first},{curve.second}\n".encode())
        for point in curve.points:
            file.write(f"{point.alpha!r},{point.first!r},{point.second!r}\n".encode())
