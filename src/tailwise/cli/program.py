"""The program ``tailwise``: a process that starts and ends quickly, and can be interrupted from the start."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import FrameType, ModuleType
from typing import NoReturn

from tailwise.cli.exit_codes import CODES

# Modules that libraries import, but that commands hardly ever use: SciPy imports all of NumPy, and Numba looks for
# settings in YAML.
RARELY_USED = frozenset({"numpy.f2py", "numpy.testing", "yaml"})
# Nearly everything that imports allocate stays; looking through it every 700 objects finds nothing to free.
COLLECT_EVERY = 50_000


def run() -> NoReturn:
    """Run the command line as a process of its own."""
    for number in CODES:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _end_at_once)
    gc.set_threshold(COLLECT_EVERY)
    sys.meta_path.insert(0, _LoadedWhenUsed)
    from tailwise.cli.main import main

    try:
        code: object = main()
    except SystemExit as request:  # of argparse, after the help text, or after an error
        code = request.code
    _end(code if isinstance(code, int) else int(code is not None))


class _LoadedWhenUsed:
    """Finds rarely used modules as usual, but loads them only when one of their attributes is accessed."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in RARELY_USED else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def _end_at_once(number: int, frame: FrameType | None) -> NoReturn:
    """Handle a signal before the command does so itself: nothing has been started, so there is nothing to clean up."""
    os.write(2, b"tailwise: interrupted\n")
    os._exit(CODES[number])


def _end(code: int) -> NoReturn:
    """End the process without tearing down the interpreter, which took a sixth of the time of a small command."""
    for number in CODES:
        signal.signal(number, lambda *_: os._exit(code))  # the command is done, and its exit code stands
    atexit._run_exitfuncs()
    for stream in filter(None, (sys.stdout, sys.stderr)):
        with suppress(OSError, ValueError):  # closed; by now everything is written, and failures are reported
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    run()
