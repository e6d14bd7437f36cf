"""Error messages for the command line: names of Python arguments are replaced by those of options."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable

# Values that an argument can only have in Python; on the command line, the option is omitted instead.
OR_NONE = re.compile(r",? or None(?: for [^.,]*)?(?=[.,])")
# Messages that already give both forms: overwrite=True (--overwrite).
IN_BOTH = re.compile(r"\b\w+=\S+?(?: \((--?[a-z][^)]*)\)|, (?=-k none))")
# A name or a value that may be part of a path is not replaced.
BEFORE, AFTER = r"(?<![\w/\\.-])", r"(?![\w/\\]|\.\w)"
QUOTES = "\"'"
ASSIGNED = re.compile(rf"""{BEFORE}(\w+)=('[^']*'|"[^"]*"|\w+(?:\.\w+)?){AFTER}""")


def in_options(message: str, actions: Iterable[argparse.Action]) -> str:
    """Return a message about arguments with the names of the corresponding options instead."""
    flags = {action.dest: action.option_strings[-1] for action in actions if action.option_strings}
    first, _, rest = message.partition(" ")
    if first in flags and rest.startswith(("must ", "needs ")):
        message = f"{flags[first]} {OR_NONE.sub('', rest)}"

    def as_option(found: re.Match[str]) -> str:
        flag = flags.get(found[1], "-")
        return f"{flag} {found[2].strip(QUOTES)}" if flag.startswith("--") else found[0]

    message = ASSIGNED.sub(as_option, IN_BOTH.sub(r"\1", message))
    for name, flag in flags.items():
        if "_" in name:  # not an English word
            message = re.sub(rf"{BEFORE}{name}{AFTER}", flag, message)
    return message
