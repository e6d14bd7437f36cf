"""``tailwise doctor``: check this machine and installation."""

from __future__ import annotations

import argparse
from typing import Any

from tailwise.cli.exit_codes import DONE, MACHINE
from tailwise.cli.options import add_command, add_json_option

EXAMPLES = """\
examples:
  tailwise doctor
      versions, cores, memory, the folder of compiled code, extras, and a small test
  tailwise doctor --json > machine.json
      the same as JSON, for programs and bug reports

The exit code is 3 if the test fails or if something should be changed; the last lines say what.
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    what = "Show what tailwise finds on this machine, and test it on three instances."
    parser = add_command(commands, "doctor", EXAMPLES, help="check this machine and installation", description=what)
    add_json_option(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from tailwise.doctor import examine
    from tailwise.runs.record import as_json

    facts = examine()
    print(as_json(facts) if options.json else _describe(facts), end="")
    return MACHINE if facts["problems"] else DONE


def _describe(facts: dict[str, Any]) -> str:
    memory, cache, test = facts["memory"], facts["compiled_code"], facts["self_test"]
    size = "unknown" if memory["total_gb"] is None else f"{memory['free_gb']} of {memory['total_gb']} GB free"
    limit = "" if memory["limit_gb"] is None else f", of which this process may use {memory['limit_gb']} GB"
    extras = ", ".join(f"{name} {'yes' if is_there else 'no'}" for name, is_there in facts["extras"].items())
    rows = {
        "versions": ", ".join(f"{name} {number}" for name, number in facts["versions"].items()),
        "system": facts["system"],
        "cores": f"{facts['cores']['usable']} usable of {facts['cores']['of_the_machine']}, all used by default",
        "memory": size + limit,
        "compiled code": f"{cache['functions_kept']} functions; new ones go to {cache['folder'] or 'nowhere'}",
        "extras": extras,
        "self-test": f"{'passed' if test['passed'] else 'FAILED'} in {test['seconds']} s, "
        f"{test['seconds_compiling']} s of it compiling",
    }
    lines = [f"{name:<14} {words}" for name, words in rows.items()]
    return "\n".join([*lines, *(f"problem: {each}" for each in facts["problems"]), ""])
