"""``tailwise certify``: how much better could a selection be?"""

from __future__ import annotations

import argparse
import logging
from typing import TYPE_CHECKING, Any

from tailwise.cli.exit_codes import DONE, INTERRUPTED, NOT_IN_TIME
from tailwise.cli.judged_files import add_judged_options, read_judged
from tailwise.cli.options import add_command, add_json_option, parse_budget

if TYPE_CHECKING:
    from tailwise.certificates import Certificate

LOG = logging.getLogger("tailwise.cli")
EXAMPLES = """\
examples:
  tailwise certify probabilities.npz chosen.npz -u macro-f1 -k 5
      how far this selection is from the best one, at most; it may come from any tool
  tailwise certify probabilities.npz chosen.npz -u coverage -k 5 --target-gap 0.0001 --rounds 500
      a closer bound, which takes longer
  tailwise certify probabilities.npz chosen.npz -u macro-f1 -k 5 --max-seconds 60 --json
      for programs: value, upper bound and gap

The selection is judged as it is and not changed. To select and certify in one go, use tailwise select --certify.
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    what = "Prove how much better, at most, a selection could be: an upper bound on the utility of every selection."
    parser = add_command(commands, "certify", EXAMPLES, help="how much better a selection could be", description=what)
    parser.add_argument("probabilities", metavar="PROBS", help="label probabilities, in any format")
    parser.add_argument("selection", metavar="SELECTION", help="the selection, in any format")
    parser.add_argument("-u", "--utility", required=True, help="what to bound, for instance macro-f1")
    parser.add_argument("-k", required=True, type=parse_budget, help="labels per instance, or none for no budget")
    add_judged_options(parser)
    parser.add_argument("--expectation", default="auto", help="auto, semi or exact (default: %(default)s)")
    parser.add_argument("--fill", default="auto", help="as for tailwise select (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=100, help="maximum price updates (default: %(default)s)")
    gap = "stop when the bound is within this share of the value (default: %(default)s)"
    parser.add_argument("--target-gap", type=float, default=1e-3, help=gap)
    seconds = "stop after this many seconds; the bound so far is valid (exit code 4)"
    parser.add_argument("--max-seconds", type=float, metavar="S", help=seconds)
    parser.add_argument("--workers", type=int, help="number of threads (default: all cores)")
    add_json_option(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from tailwise.runs.record import as_json, describe_versions

    certificate = _certify(options)
    if options.json:
        record = {"command": "certify", "k": options.k, **certificate.to_dict(), "versions": describe_versions()}
        print(as_json(record), end="")
    else:
        print(certificate)
    if certificate.interrupted:
        return INTERRUPTED
    if not certificate.finished:
        LOG.warning("stopped after --max-seconds %g; the bound is valid, but may be loose", options.max_seconds)
        return NOT_IN_TIME
    return DONE


def _certify(options: argparse.Namespace) -> Certificate:
    from tailwise.inputs.checks import check_workers
    from tailwise.selection import certify

    check_workers(options.workers, "--workers")
    candidates, chosen, priors, excluded = read_judged(options, options.probabilities)
    return certify(
        candidates,
        options.utility,
        options.k,
        chosen,
        expectation=options.expectation,
        fill=options.fill,
        exclude=excluded,
        rounds=options.rounds,
        target_gap=options.target_gap,
        priors=priors,
        workers=options.workers,
        progress=options.progress,
        max_seconds=options.max_seconds,
        on_interrupt="return",
    )
