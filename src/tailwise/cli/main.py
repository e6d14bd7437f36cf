"""Entry point of the command line: parses it, runs a command, and converts errors to exit codes (see EXAMPLES)."""

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
from tailwise.cli import convert_command as convert
from tailwise.cli import data_command as data
from tailwise.cli import demo_command as demo
from tailwise.cli import evaluate_command as evaluate
from tailwise.cli import experiment_command as experiment
from tailwise.cli import predict_command as predict
from tailwise.cli import report_command as report
from tailwise.cli import run_command as run
from tailwise.cli import select_command as select
from tailwise.cli import train_command as train
from tailwise.cli import warm_up_command as warm_up
from tailwise.cli.announce import (
    BAD_INPUT,
    BROKEN_PIPE,
    INTERNAL,
    INTERRUPTED,
    compilation_announced,
    drop_output,
    usable_streams,
)
from tailwise.errors import EmptySlotsWarning, TailwiseError, UnknownIdsWarning

DESCRIPTION = "Choose the k labels to predict for each instance so that a utility of the whole batch is maximal."
EXAMPLES = """\
examples:
  tailwise demo
      compare all strategies on a synthetic long-tailed data set
  tailwise select probabilities.npz -u macro-f1 -k 5 -o chosen.npz
      five labels per instance that maximise expected macro-F1
  tailwise evaluate truth.npz chosen.npz
      their metrics on the true labels
  tailwise run data -u macro-f1 -k 5 -o first-run
      from features to chosen labels: train a label tree, predict, select and evaluate
  tailwise report first-run
      a page about the run: what was chosen, why, and the trade-off
  tailwise data list
      the benchmarks that can be downloaded, or imitated by synthetic data

exit codes:
  0    success
  2    invalid input, or output that cannot be written; the message explains how to fix it
  70   internal error: please report it with the output of the command when TAILWISE_DEBUG=1 is set
  130  interrupted
  141  the output pipe was closed
"""

DEBUG = "TAILWISE_DEBUG"  # if set to 1, every error shows its traceback
QUIET = "TAILWISE_QUIET"  # if set to 1, no command tells that it is compiling


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit code."""
    with usable_streams(), warnings.catch_warnings():
        warnings.simplefilter("default", EmptySlotsWarning)
        warnings.simplefilter("default", UnknownIdsWarning)
        warnings.showwarning = _tell_warning  # type: ignore[assignment]
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
        sys.stdout.flush()  # the help text, while failures to write it are still reported
        raise
    with _compilation_announced(options):
        return options.run(options)


def _explain(error: BaseException) -> int:
    """Report an error on standard error, and return the exit code."""
    if _is_set(DEBUG):
        _tell("".join(traceback.format_exception(error)).rstrip())
    if isinstance(error, OSError) and not isinstance(error, TailwiseError) and error.filename is None:
        drop_output()
    code, words = _describe(error)
    if words:
        _tell(f"tailwise: {words}")
    return code


def _describe(error: BaseException) -> tuple[int, str]:
    """Return the exit code and the message of an error."""
    if isinstance(error, TailwiseError):
        return BAD_INPUT, f"error: {error}"
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, "interrupted"
    if isinstance(error, BrokenPipeError):
        return BROKEN_PIPE, ""
    if isinstance(error, MemoryError):
        return BAD_INPUT, "error: There is not enough memory. Use fewer candidates, or part of the data."
    if isinstance(error, OverflowError):
        reason = error.args[-1] if error.args else type(error).__name__  # system errors begin with a number
        return BAD_INPUT, f"error: A number is too large ({reason}). Use smaller numbers in the options."
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
        if error.filename is not None:
            return BAD_INPUT, f"error: {os.fsdecode(error.filename)} could not be read or written: {reason}."
        return BAD_INPUT, f"error: The output could not be written: {reason}."
    return INTERNAL, (
        f"internal error: {type(error).__name__}: {error}\n"
        f"This is a bug in tailwise. Please report it with the command and its output when {DEBUG}=1 is set."
    )


def _tell_warning(message: Warning | str, *where: Any) -> None:
    """Print a warning without its place in the code, which is of no use to users of the command."""
    _tell(f"tailwise: warning: {message}")


def _tell(words: str) -> None:
    try:
        print(words, file=sys.stderr, flush=True)
    except OSError:  # standard error cannot be written either; the exit code must suffice
        return


def _compilation_announced(options: argparse.Namespace) -> AbstractContextManager[None]:
    is_quiet = getattr(options, "quiet", False) or _is_set(QUIET)
    return nullcontext() if is_quiet else compilation_announced()


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "0") not in ("", "0")


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tailwise",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tailwise {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (select, evaluate, convert, train, predict, run, experiment, report, data, demo, warm_up):
        command.add_parser(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
