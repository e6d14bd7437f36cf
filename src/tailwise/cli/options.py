"""Parts that several commands share: their help, and the options of search, calibration and outputs."""

from __future__ import annotations

import argparse
import logging
import math
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailwise.models.calibrator import Calibrator
    from tailwise.selection import Selection

SEARCH_OPTIONS = (
    *("method", "expectation", "init", "tolerance", "max_passes", "group_size", "fill"),
    *("workers", "certify", "seed"),
)
CALIBRATION_DEFAULTS = {"by": "all", "folds": 5}
LARGEST_PROPENSITY = 100  # published parameters are below 3; weights of much larger ones overflow


def add_command(
    commands: Any, name: str, examples: str, *, help: str, description: str | None = None, has_actions: bool = False
) -> argparse.ArgumentParser:
    """Add a command, or an action of one; `examples` are shown below its options."""
    parser = commands.add_parser(
        name,
        help=help,
        description=description or f"{help[0].upper()}{help[1:]}.",
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if not has_actions:
        parser.takes_config = True
        _add_common_options(parser)
    return parser


def _add_common_options(parser: argparse.ArgumentParser) -> None:
    common = parser.add_argument_group("messages and configuration")
    common.add_argument(
        "--config", metavar="FILE", help="TOML file with options of this command; those on the command line win"
    )
    common.add_argument("--quiet", action="store_true", help="no progress, no notices, no summary")
    common.add_argument("--verbose", action="store_true", help="report every step on standard error")
    common.add_argument(
        "--log-format", choices=["text", "json"], default="text", help="format of messages (default: %(default)s)"
    )


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Add --json, with which standard output is one JSON object."""
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object: results, decisions, package versions"
    )


# Search


def add_search_options(parser: argparse.ArgumentParser, *, on_tree: bool = False) -> None:
    """Add the options of the search; with a label tree, there is an additional method."""
    methods = "auto, instance, ascent, global, greedy" + (", or tree (on the label tree itself)" if on_tree else "")
    search = parser.add_argument_group("search")
    search.add_argument(
        "--condition-positives",
        choices=["candidates", "priors"],
        default="candidates",
        help="expected positives per label: sum of the candidates' probabilities, or training priors times n "
        "(default: %(default)s)",
    )
    search.add_argument("--method", default="auto", help=f"{methods} (default: %(default)s)")
    search.add_argument("--expectation", default="auto", help="auto, semi or exact (default: %(default)s)")
    search.add_argument("--init", default="top", help="start of the search: top, random, greedy (default: %(default)s)")
    search.add_argument(
        "--tolerance", type=float, default=1e-7, help="stop when a pass gains less than this (default: %(default)s)"
    )
    search.add_argument("--max-passes", type=int, default=100, help="maximum number of passes (default: %(default)s)")
    search.add_argument(
        "--group-size",
        type=_parse_group_size,
        default="auto",
        metavar="N",
        help="number of instances that are processed at once (default: %(default)s)",
    )
    search.add_argument(
        "--fill", default="auto", help="how to fill empty slots: auto, least-loss or none (default: %(default)s)"
    )
    search.add_argument("--workers", type=int, help="number of threads (default: all cores)")
    search.add_argument(
        "--certify", action="store_true", help="prove how far, at most, the selection is from the optimum"
    )
    search.add_argument("--seed", type=int, default=0, help="seed of the visiting order (default: %(default)s)")


def read_search_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options as arguments of `select`."""
    from tailwise.inputs.checks import check_workers

    check_workers(options.workers, "--workers")
    values = {name: getattr(options, name) for name in SEARCH_OPTIONS}
    values["condition_positives"] = "priors" if options.condition_positives == "priors" else None
    return values


def add_max_seconds_option(parser: argparse.ArgumentParser) -> None:
    """Add the time limit of a search whose result is written; see :func:`is_out_of_time`."""
    what = "stop the search after this many seconds, and write the best selection so far (exit code 4)"
    parser.add_argument("--max-seconds", type=float, metavar="S", help=what)


def is_out_of_time(selection: Selection, options: argparse.Namespace) -> bool:
    """Whether a search was stopped by its time limit, of which the user is then told."""
    if options.max_seconds is None or selection.converged or selection.passes >= options.max_passes:
        return False
    words = "stopped after --max-seconds %g; the best selection so far was written"
    logging.getLogger("tailwise.cli").warning(words, options.max_seconds)
    return True


def parse_budget(text: str) -> int | None:
    """Parse the number of labels per instance; None for "none"."""
    if text.lower() == "none":
        return None
    try:
        return int(text)
    except ValueError as error:
        msg = f"k must be an integer, or none for no budget. Got {text!r}."
        raise argparse.ArgumentTypeError(msg) from error


def parse_alphas(text: str) -> list[float]:
    """Parse the weights of a trade-off curve."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        msg = f"alphas must be numbers from 0 to 1, separated by commas. Got {text!r}."
        raise argparse.ArgumentTypeError(msg) from error


def _parse_group_size(text: str) -> int | str:
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError as error:
        msg = f"--group-size must be an integer, or auto. Got {text!r}."
        raise argparse.ArgumentTypeError(msg) from error


# Calibration


def add_calibration_options(group: Any) -> None:
    """Add the options of a calibrator, except the one that requests it; see :func:`settle_calibration`."""
    defaults = {name: f"(default: {value})" for name, value in CALIBRATION_DEFAULTS.items()}
    group.add_argument("--by", help=f"all (one curve) or frequency (one curve per frequency bin) {defaults['by']}")
    group.add_argument("--folds", type=int, help=f"folds of the cross-validation {defaults['folds']}")


def settle_calibration(options: argparse.Namespace, asked_by: str, **defaults: Any) -> None:
    """Set default options of a calibrator; refuse options if no calibrator is requested."""
    from tailwise.errors import InputError

    is_asked = getattr(options, asked_by) is not None
    for name, default in {**CALIBRATION_DEFAULTS, **defaults}.items():
        if getattr(options, name) is None:
            setattr(options, name, default)
        elif not is_asked:
            msg = f"--{name} needs --{asked_by}. Got it alone. Add --{asked_by}, or omit --{name}."
            raise InputError(msg)


def build_calibrator(method: str, options: argparse.Namespace) -> Calibrator:
    """Return an unfitted calibrator with checked parameters."""
    from tailwise.models.calibrator import Calibrator, check_parameters

    calibrator = Calibrator(method, by=options.by, random_state=options.seed)
    check_parameters(calibrator)
    return calibrator


# Columns, names, propensities and outputs


def add_columns_option(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Add --columns."""
    parser.add_argument(
        "--columns",
        type=parse_columns,
        metavar="A,B,C",
        help="columns of instances, labels and probabilities in CSV, TSV, JSON and Parquet (default: usual names such "
        "as user_id,item_id,score)",
    )


def parse_columns(text: str) -> list[str]:
    """Parse the names of columns."""
    names = [name.strip() for name in text.split(",")]
    if not 2 <= len(names) <= 4 or "" in names:
        msg = f"--columns must name two to four columns: instance,label,probability,rank. Got {text!r}."
        raise argparse.ArgumentTypeError(msg)
    return names


def add_names_options(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Add --label-names and --language."""
    parser.add_argument(
        "--label-names",
        metavar="FILE",
        help="label names: one per line, optionally with a tab and a title; CSV with a header; SKOS in .ttl or .rdf",
    )
    parser.add_argument("--language", metavar="CODE", help="language of the titles in a vocabulary, such as en")


def add_label_weights_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for weights per label."""
    parser.add_argument(
        "--label-weights",
        metavar="FILE",
        help="weight of each label in macro averages and coverage: one number per line, or label, tab, number",
    )


def add_propensity_option(parser: argparse.ArgumentParser, default: str) -> None:
    """Add --propensity A B."""
    parser.add_argument(
        "--propensity",
        nargs=2,
        type=_parse_parameter,
        metavar=("A", "B"),
        help=f"parameters of propensity-scored metrics (default: {default})",
    )


def _parse_parameter(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= LARGEST_PROPENSITY:
        msg = (
            f"A and B must be numbers above 0 and at most {LARGEST_PROPENSITY}. Got {text!r}. "
            "Use 0.55 1.5, for instance."
        )
        raise argparse.ArgumentTypeError(msg)
    return value


def check_sizes(options: argparse.Namespace, *names: str) -> None:
    """Refuse options that are below 1."""
    from tailwise.inputs.checks import check_size

    for name in names:
        if getattr(options, name) is not None:
            check_size(f"--{name}", getattr(options, name))


def check_not_input(output: str, *inputs: str | None) -> None:
    """Refuse to overwrite an input file."""
    from tailwise.errors import FileError

    for source in filter(None, inputs):
        if os.path.exists(output) and os.path.exists(source) and os.path.samefile(output, source):
            msg = f"The output must not be an input file. Got {output} for both. Choose another name."
            raise FileError(msg)
