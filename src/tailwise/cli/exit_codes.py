"""Exit codes of commands, and the messages and codes of errors."""

from __future__ import annotations

import errno
import os
import signal
from typing import TYPE_CHECKING

from tailwise.errors import MachineError, TailwiseError

if TYPE_CHECKING:
    from argparse import Action
    from collections.abc import Iterable

DONE, BAD_INPUT, MACHINE, NOT_IN_TIME, INTERNAL = 0, 2, 3, 4, 70
INTERRUPTED, BROKEN_PIPE, TERMINATED = 130, 141, 143
# Of the signals that end a command as Ctrl-C does.
CODES: dict[int, int] = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED}

HELP = """\
exit codes:
  0    done
  2    invalid input or options; the message explains how to fix it
  3    a problem of the machine: no space, no memory, or no permission to read or write
  4    not finished in time (--max-seconds); the best result so far is given
  70   internal error: please report it with the output of the command when TAILWISE_DEBUG=1 is set
  130  interrupted by Ctrl-C
  141  the output pipe was closed
  143  terminated by SIGTERM, which is handled like Ctrl-C
"""
NO_MEMORY = "Use fewer candidates (--top), fewer threads (--workers), or part of the data."


def describe_error(error: BaseException, debug: str, actions: Iterable[Action]) -> tuple[int, str]:
    """Return the exit code and the message of an error in a command with these options.

    `debug` is the variable that shows the traceback of an error.
    """
    if isinstance(error, TailwiseError):
        from tailwise.cli.option_words import in_options

        return MACHINE if isinstance(error, MachineError) else BAD_INPUT, f"error: {in_options(str(error), actions)}"
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, "interrupted"
    if isinstance(error, BrokenPipeError):
        return BROKEN_PIPE, ""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        needed = f": {error}" if str(error) else ""
        return MACHINE, f"error: There is not enough memory{needed.rstrip('.')}. {NO_MEMORY}"
    if isinstance(error, OverflowError):
        reason = error.args[-1] if error.args else type(error).__name__  # system errors begin with a number
        return BAD_INPUT, f"error: A number is too large ({reason}). Use smaller numbers in the options."
    if isinstance(error, OSError):
        return _describe_failure(error)
    return INTERNAL, (
        f"internal error: {type(error).__name__}: {error}\n"
        f"This is a bug in tailwise. Please report it with the command and its output when {debug}=1 is set."
    )


def _describe_failure(error: OSError) -> tuple[int, str]:
    from tailwise.datasets.formats.disk_failures import FULL, find_remedy, is_of_the_machine

    reason = error.strerror or str(error)
    remedy = f" {find_remedy(error)}" if error.errno in FULL else ""
    if error.filename is None:
        return MACHINE, f"error: The output could not be written: {reason}.{remedy}"
    code = MACHINE if is_of_the_machine(error) else BAD_INPUT
    return code, f"error: {os.fsdecode(error.filename)} could not be read or written: {reason}.{remedy}"
