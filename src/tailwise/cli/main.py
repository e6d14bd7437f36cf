"""Reads the command line, runs a command, and turns errors into exit codes.

0    done
2    bad input: the message on standard error says what and how to mend it; nothing is written
130  interrupted
141  whoever read the output has stopped reading
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from tailwise import __version__
from tailwise.cli import data, demo, evaluate, experiment, predict, report, run, select, train
from tailwise.errors import TailwiseError

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
"""

BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 2, 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    options = _build_parser().parse_args(arguments)
    try:
        with _compilation_announced(options):
            code = options.run(options)
        sys.stdout.flush()
        return code
    except TailwiseError as error:
        print(f"tailwise: error: {error}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("tailwise: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return BROKEN_PIPE
    except MemoryError:
        print(
            "tailwise: error: There is not enough memory for this. Use fewer candidates, or part of the data.",
            file=sys.stderr,
        )
        return BAD_INPUT
    except OSError as error:  # files raise FileError, so this is standard output
        _drop_output()
        print(f"tailwise: error: The output could not be written: {error.strerror}.", file=sys.stderr)
        return BAD_INPUT


def _compilation_announced(options: argparse.Namespace) -> AbstractContextManager[None]:
    """Somebody at a terminal is told of compilation; but Numba is not imported for commands that go without it."""
    is_quiet = getattr(options, "quiet", False) or options.run.__module__ == data.__name__
    if is_quiet or not sys.stderr.isatty():
        return nullcontext()
    from tailwise.cli.compiling import compilation_announced

    return compilation_announced()


def _drop_output() -> None:
    """The interpreter flushes standard output once more at exit; let that go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
