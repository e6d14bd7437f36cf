"""Entry point of the command line: parse it, run a command, and convert errors to exit codes (exit_codes.py)."""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress

from tailwise import __version__
from tailwise.cli.announce import drop_output, messages_shown, tell, usable_streams
from tailwise.cli.config_file import CommandParser
from tailwise.cli.exit_codes import HELP, describe_error
from tailwise.cli.signals import Signals, signals_caught
from tailwise.errors import EmptySlotsWarning, NoCertificateWarning, TailwiseError, UnknownIdsWarning

DESCRIPTION = "Choose the k labels to predict for each instance so that a utility of the whole batch is maximal."
EXAMPLES = """\
examples:
  tailwise demo
      what tailwise does, on a synthetic long-tailed data set
  tailwise select probabilities.npz -u macro-f1 -k 5 -o chosen.npz
      five labels per instance that maximise expected macro-F1
  tailwise evaluate truth.npz chosen.npz
      their metrics on the true labels
  tailwise run data -u macro-f1 -k 5 -o first-run
      from features to chosen labels: train a model, predict, select and evaluate
  tailwise report first-run
      a page about the run: what was chosen, why, and the trade-off
  tailwise data list
      the benchmarks that can be downloaded, or replaced by synthetic data of the same size
"""

# Each is in a file of its own, which is imported only when that command is used.
COMMANDS = (
    *("select", "evaluate", "certify", "convert", "explain", "trade-off", "train", "predict", "calibrate"),
    *("run", "experiment", "report", "data", "demo", "warm-up", "doctor"),
)
DEBUG = "TAILWISE_DEBUG"  # if set to 1, every error shows its traceback
QUIET = "TAILWISE_QUIET"  # if set to 1, commands print only warnings and errors


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit code."""
    with usable_streams(), signals_caught() as signals, warnings.catch_warnings():
        for category in (EmptySlotsWarning, NoCertificateWarning, UnknownIdsWarning):
            warnings.simplefilter("default", category)
        log = argparse.Namespace(as_json=_asks_for_json(arguments), actions=())
        try:
            code = _run(arguments, signals, log)
            sys.stdout.flush()
            return signals.code_for(code)
        except (Exception, KeyboardInterrupt) as error:
            return signals.code_for(_explain(error, log))


def _run(arguments: Sequence[str] | None, signals: Signals, log: argparse.Namespace) -> int:
    try:
        words = sys.argv[1:] if arguments is None else arguments
        options = _build_parser(next(iter(words), None)).parse_args(words)
    except SystemExit:
        sys.stdout.flush()  # the help text, while failures to write it are still reported
        raise
    is_quiet = options.quiet or (_is_set(QUIET) and not options.verbose)
    options.progress = not options.quiet and (sys.stderr.isatty() or not is_quiet)  # as a bar, or as messages
    signals.keeps_partial = getattr(options, "keep_partial", False)
    log.as_json, log.actions = options.log_format == "json", options.actions
    level = logging.DEBUG if options.verbose else logging.WARNING if is_quiet else logging.INFO
    with messages_shown(level, as_json=log.as_json):
        return options.run(options)


def _explain(error: BaseException, log: argparse.Namespace) -> int:
    """Report an error on standard error, and return the exit code."""
    if _is_set(DEBUG):
        with suppress(OSError):
            print("".join(traceback.format_exception(error)).rstrip(), file=sys.stderr, flush=True)
    if isinstance(error, OSError) and not isinstance(error, TailwiseError) and error.filename is None:
        drop_output()
    code, words = describe_error(error, DEBUG, log.actions)
    if words:
        words = words.removeprefix("error: ") if log.as_json else words  # which the level says
        tell(words, logging.ERROR, as_json=log.as_json)
    return code


def _asks_for_json(arguments: Sequence[str] | None) -> bool:
    """Whether messages about the options themselves should be JSON, by an option or by a configuration file."""
    words = " ".join(sys.argv[1:] if arguments is None else map(os.fsdecode, arguments))
    return "--log-format json" in words or "--log-format=json" in words


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "0") not in ("", "0")


def _build_parser(command: str | None = None) -> CommandParser:
    """Return the parser of one command, or of all commands if none has this name."""
    parser = CommandParser(
        prog="tailwise",
        description=DESCRIPTION,
        epilog=f"{EXAMPLES}\n{HELP}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tailwise {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in [command] if command in COMMANDS else COMMANDS:
        importlib.import_module(f"tailwise.cli.{name.replace('-', '_')}_command").add_parser(commands)
    parser.let_find_others(_build_parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
