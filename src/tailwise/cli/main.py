"""Reads the command line, runs a command, and turns errors into exit codes.

0    done
2    bad input: the message on standard error says what is wrong and how to fix it
70   an error of tailwise itself; TAILWISE_DEBUG=1 in the environment shows where
130  interrupted
141  the output pipe was closed
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from tailwise import __version__
from tailwise.cli import data_command as data
from tailwise.cli import demo_command as demo
from tailwise.cli import evaluate_command as evaluate
from tailwise.cli import experiment_command as experiment
from tailwise.cli import predict_command as predict
from tailwise.cli import report_command as report
from tailwise.cli import run_command as run
from tailwise.cli import select_command as select
from tailwise.cli import train_command as train
from tailwise.cli.announce import (
    BAD_INPUT,
    BROKEN_PIPE,
    INTERNAL,
    INTERRUPTED,
    compilation_announced,
    drop_output,
    usable_streams,
)
from tailwise.errors import EmptySlotsWarning, TailwiseError

__all__ = ["main"]

DESCRIPTION = "Choose which k labels to predict, so that a whole batch scores best on the utility that matters."
EXAMPLES = """\
examples:
  tailwise demo
      see every strategy on a synthetic long-tailed data set
  tailwise select probabilities.npz -u macro-f1 -k 5 -o chosen.npz
      five labels per instance that maximise expected macro-F1
  tailwise evaluate truth.npz chosen.npz
      what they score on the true labels
  tailwise run data -u macro-f1 -k 5 -o first-run
      from features to chosen labels: train a label tree, predict, select and evaluate in one go
  tailwise report first-run
      a page about it: what was chosen, why, and what it costs
  tailwise data list
      the benchmarks that can be downloaded, or drawn where there is no network

exit codes:
  0    done
  2    bad input, or output that cannot be written: the message says what, and what to do
  70   an error of tailwise itself: please report it, with what it prints when TAILWISE_DEBUG=1 is set
  130  interrupted
  141  the output pipe was closed
"""

DEBUG = "TAILWISE_DEBUG"  # set to 1, every error shows where it happened


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    with usable_streams(), warnings.catch_warnings():
        warnings.simplefilter("default", EmptySlotsWarning)
        warnings.showwarning = _tell_warning  # type: ignore[assignment]  # which takes more, of no use here
        try:
            code = _run(arguments)
            sys.stdout.flush()
            return code
        except (Exception, KeyboardInterrupt) as error:
            return _explain(error)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        options = _build_parser().parse_args(arguments)
    except SystemExit:
        sys.stdout.flush()  # the help, while somebody still looks whether it could be written
        raise
    with _compilation_announced(options):
        return options.run(options)


def _explain(error: BaseException) -> int:
    """Say on standard error what went wrong; gives the exit code."""
    if os.environ.get(DEBUG, "0") not in ("", "0"):
        _tell("".join(traceback.format_exception(error)).rstrip())
    if isinstance(error, OSError) and not isinstance(error, TailwiseError) and error.filename is None:
        drop_output()
    code, words = _describe(error)
    if words:
        _tell(f"tailwise: {words}")
    return code


def _describe(error: BaseException) -> tuple[int, str]:
    """The exit code of an error, and what to say of it."""
    if isinstance(error, TailwiseError):
        return BAD_INPUT, f"error: {error}"
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, "interrupted"
    if isinstance(error, BrokenPipeError):
        return BROKEN_PIPE, ""
    if isinstance(error, MemoryError):
        return BAD_INPUT, "error: There is not enough memory for this. Use fewer candidates, or part of the data."
    if isinstance(error, OverflowError):
        reason = error.args[-1] if error.args else type(error).__name__  # the system's errors begin with a number
        return BAD_INPUT, f"error: A number is too large to calculate with ({reason}). Use smaller ones in the options."
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
        if error.filename is not None:
            return BAD_INPUT, f"error: {os.fsdecode(error.filename)} could not be read or written: {reason}."
        return BAD_INPUT, f"error: The output could not be written: {reason}."
    return INTERNAL, (
        f"internal error: {type(error).__name__}: {error}\n"
        "This is a mistake in tailwise. Please report it with the command, and with what it prints when "
        f"{DEBUG}=1 is set."
    )


def _tell_warning(message: Warning | str, *where: Any) -> None:
    """Without the line of Python that warns, which means nothing to a user of the command."""
    _tell(f"tailwise: warning: {message}")


def _tell(words: str) -> None:
    try:
        print(words, file=sys.stderr, flush=True)
    except OSError:  # standard error cannot be written either: the exit code has to do
        return


def _compilation_announced(options: argparse.Namespace) -> AbstractContextManager[None]:
    """Somebody at a terminal is told of compilation; but Numba is not imported for commands that go without it."""
    is_quiet = getattr(options, "quiet", False) or options.run.__module__ == data.__name__
    if is_quiet or not sys.stderr.isatty():
        return nullcontext()
    return compilation_announced()


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tailwise",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tailwise {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (select, evaluate, train, predict, run, experiment, report, data, demo):
        command.add_parser(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
