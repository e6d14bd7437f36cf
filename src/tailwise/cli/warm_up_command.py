"""``tailwise warm-up``: compile ahead of time."""

from __future__ import annotations

import argparse
import os
import platform
from typing import Any

from tailwise.cli.options import add_command
from tailwise.errors import TailwiseError

EXAMPLES = """\
examples:
  tailwise warm-up
      compile what is usually needed, for example when an image is built
  tailwise warm-up --all
      also all utilities, label trees, calibration, streams and text files
  tailwise warm-up --all --portable
      for an image that will run on other machines
  NUMBA_CACHE_DIR=/opt/compiled tailwise warm-up
      keep the compiled code in this folder; set the variable when tailwise is used, too
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    what = "Compile tailwise for this processor, so that no later command or call has to."
    parser = add_command(commands, "warm-up", EXAMPLES, help="compile ahead of time", description=what)
    parser.add_argument("--all", action="store_true", help="also compile what is needed less often")
    portable = "compile for a common processor instead of this one, so that other machines can use the code"
    parser.add_argument("--portable", action="store_true", help=portable)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    if options.portable:
        _choose_common_processor()
    from tailwise.kernels.code_folders import find_writable  # imports Numba, which then knows the processor
    from tailwise.warming import warm_up

    folder = find_writable()
    if folder is None:
        msg = (
            "Compiled code cannot be kept, because no folder for it can be written. "
            "Set NUMBA_CACHE_DIR to a folder that this user can write."
        )
        raise TailwiseError(msg)
    seconds = warm_up(everything=options.all, progress=options.progress)
    if not options.quiet:
        print(f"compiled in {seconds:.1f} s, kept in {folder}" if seconds > 0 else "everything was compiled already")
    return 0


def _choose_common_processor() -> None:
    from tailwise.kernels.processors import BASELINES

    machine = platform.system(), platform.machine()
    if machine not in BASELINES:
        msg = f"--portable knows no common processor for {' '.join(machine)}. Omit it to compile for this one."
        raise TailwiseError(msg)
    os.environ["NUMBA_CPU_NAME"], os.environ["NUMBA_CPU_FEATURES"] = BASELINES[machine]
