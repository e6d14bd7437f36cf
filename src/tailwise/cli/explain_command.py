"""``tailwise explain``: why an instance was given its labels, or where a label is chosen."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from tailwise.cli.announce import without_controls
from tailwise.cli.judged_files import add_judged_options, read_judged
from tailwise.cli.options import add_command, add_json_option, parse_budget

if TYPE_CHECKING:
    from tailwise.selection.explain import Explainer

EXAMPLES = """\
examples:
  tailwise explain first-run 17
      why instance 17 of a run was given its labels, and not the next best
  tailwise explain first-run --label "Comets"
      where a label was chosen, and what it gains there
  tailwise explain probabilities.npz 17 --selection chosen.npz -u macro-f1
      for any selection from these probabilities, made by tailwise or by another tool
  tailwise explain probabilities.npz 17 --selection chosen.npz -u macro-f1 --priors train-labels.npz --json
      with training frequencies, as JSON

Give an instance by name if the file names its instances, otherwise by number, from 0. Gains refer to the final totals:
what the utility of the whole batch would lose without a chosen label, or gain from another one.
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    what = "Explain why an instance was given its labels and not others, or where a label was chosen."
    parser = add_command(commands, "explain", EXAMPLES, help="why these labels and not others", description=what)
    parser.add_argument("file", metavar="FILE", help="folder of a run, or label probabilities in any format")
    parser.add_argument("instance", metavar="INSTANCE", nargs="?", help="name or number of an instance")
    parser.add_argument("--label", help="explain this label instead: its name or number")
    parser.add_argument("--selection", metavar="FILE", help="the selection, for probabilities")
    parser.add_argument("-u", "--utility", help="what the selection should maximise, for probabilities")
    parser.add_argument("-k", type=parse_budget, help="labels per instance (default: as many as the selection has)")
    add_judged_options(parser)
    parser.add_argument("--expectation", default="exact", help="exact or semi (default: %(default)s)")
    parser.add_argument("--others", type=int, default=5, help="how many other labels to explain (default: %(default)s)")
    add_json_option(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from tailwise.errors import InputError
    from tailwise.runs.record import as_json, describe_versions

    if (options.instance is None) == (options.label is None):
        msg = "tailwise explain needs either an INSTANCE or --label. Give exactly one of them."
        raise InputError(msg)
    explainer, priors = _open(options)
    if options.label is None:
        found: Any = explainer.explain(options.instance, others=options.others, priors=priors)
    else:
        found = explainer.explain_label(options.label, others=options.others, priors=priors)
    print(
        as_json({**found.to_dict(), "versions": describe_versions()})
        if options.json
        else f"{without_controls(str(found))}\n",
        end="",
    )
    return 0


def _open(options: argparse.Namespace) -> tuple[Explainer, Any]:
    """Return the explainer for a run or for files, and the training frequencies."""
    from tailwise.errors import InputError
    from tailwise.runs.explain_run import explainer_of_run
    from tailwise.runs.run_folder import is_run
    from tailwise.selection.explain import explainer_of

    if is_run(options.file):
        return explainer_of_run(options.file)
    if options.selection is None or options.utility is None:
        msg = (
            "Probabilities need --selection FILE and -u UTILITY to be explained. Add them, or give the folder of a run."
        )
        raise InputError(msg)
    candidates, chosen, priors, excluded = read_judged(options, options.file)
    more = {"expectation": options.expectation, "priors": priors, "exclude": excluded}
    return explainer_of(candidates, options.utility, chosen, options.k, **more), priors
