"""The option of commands that evaluate: which propensity model weighs the labels."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailwise.datasets import DataSet

__all__ = ["add_propensity_option", "choose_propensity"]

LARGEST = 100  # published parameters are below 3; weights of much larger ones cannot be calculated


def add_propensity_option(parser: argparse.ArgumentParser, default: str) -> None:
    """Add --propensity A B; the help says what is taken without it."""
    parser.add_argument(
        "--propensity",
        nargs=2,
        type=_parse_parameter,
        metavar=("A", "B"),
        help=f"parameters of propensity-scored metrics (default: {default})",
    )


def choose_propensity(options: argparse.Namespace, benchmark: DataSet | None = None) -> tuple[float, float]:
    """The parameters that are given, else those of the benchmark, else the usual ones."""
    from tailwise.inputs.priors import USUAL_PROPENSITY

    if options.propensity is not None:
        a, b = options.propensity
        return a, b
    return USUAL_PROPENSITY if benchmark is None else benchmark.propensity


def _parse_parameter(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= LARGEST:
        msg = (
            f"propensity must be two numbers above 0 and at most {LARGEST}, A and B. Got {text!r}. "
            "The usual ones are 0.55 1.5."
        )
        raise argparse.ArgumentTypeError(msg)
    return value
