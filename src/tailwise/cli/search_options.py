"""The options of commands that select: how to search for the best labels."""

from __future__ import annotations

import argparse
from typing import Any

__all__ = ["add_search_options", "parse_budget", "read_search_options"]

SEARCH_OPTIONS = (
    "method",
    "expectation",
    "init",
    "tolerance",
    "max_passes",
    "batch",
    "fill",
    "workers",
    "certify",
    "seed",
)


def add_search_options(parser: argparse.ArgumentParser, *, on_tree: bool = False) -> None:
    """Add the group of options; where there is a label tree, a method more."""
    methods = "auto, instance, ascent, global, greedy" + (", or tree: on the label tree itself" if on_tree else "")
    search = parser.add_argument_group("search")
    search.add_argument(
        "--condition-positives",
        choices=["candidates", "priors"],
        default="candidates",
        help="expected positives per label: those of the candidates, or the training priors times n, of which exact "
        "expectation adds what exceeds the candidates (default: %(default)s)",
    )
    search.add_argument("--method", default="auto", help=f"{methods} (default: %(default)s)")
    search.add_argument("--expectation", default="auto", help="auto, semi or exact (default: %(default)s)")
    search.add_argument("--init", default="top", help="start of the ascent: top, random, greedy (default: %(default)s)")
    search.add_argument(
        "--tolerance", type=float, default=1e-7, help="stop below this gain a pass (default: %(default)s)"
    )
    search.add_argument("--max-passes", type=int, default=100, help="at most so many passes (default: %(default)s)")
    search.add_argument(
        "--batch", type=_parse_batch, default="auto", help="instances that move at once (default: %(default)s)"
    )
    search.add_argument(
        "--fill", default="auto", help="slots that no candidate takes: auto, least-loss or none (default: %(default)s)"
    )
    search.add_argument("--workers", type=int, help="threads (default: all cores)")
    search.add_argument("--certify", action="store_true", help="prove how close to the optimum the selection is")
    search.add_argument("--seed", type=int, default=0, help="seed of the visiting order (default: %(default)s)")


def read_search_options(options: argparse.Namespace) -> dict[str, Any]:
    """The options as `select` takes them."""
    from tailwise.engines.threads import check_workers

    check_workers(options.workers, "--workers")
    values = {name: getattr(options, name) for name in SEARCH_OPTIONS}
    values["condition_positives"] = "priors" if options.condition_positives == "priors" else None
    return values


def parse_budget(text: str) -> int | None:
    """Labels per instance from text."""
    if text.lower() == "none":
        return None
    try:
        return int(text)
    except ValueError as error:
        msg = f"k must be an integer, or none for no budget. Got {text!r}."
        raise argparse.ArgumentTypeError(msg) from error


def _parse_batch(text: str) -> int | str:
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError as error:
        msg = f"batch must be an integer, or auto. Got {text!r}."
        raise argparse.ArgumentTypeError(msg) from error
