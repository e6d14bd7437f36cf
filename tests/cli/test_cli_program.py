"""The program `tailwise` as a process: signals before a command begins, modules that wait until used, a quick end."""

import subprocess
import sys

import pytest

from tailwise import __version__

RUN = "from tailwise.cli.program import run; run()"
# A signal that comes while the program imports the first of its own modules.
SIGNALLED = """
import signal, sys
class Sender:
    def find_spec(name, path, target=None):
        if name == "tailwise.cli.main":
            signal.raise_signal(signal.{name})
sys.meta_path.insert(0, Sender)
"""


def start(program, *arguments):
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_interrupted_before_the_command_begins(name, code):
    done = start(SIGNALLED.format(name=name) + RUN, "--version")
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "tailwise: interrupted\n")


def test_signals_that_are_ignored_stay_ignored():
    program = SIGNALLED.format(name="SIGINT") + "signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + RUN
    done = start(program, "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"tailwise {__version__}\n", "")


@pytest.mark.parametrize(("argument", "code"), [("--version", 0), ("nonsense", 2)])
def test_what_waits_for_the_end_is_done(argument, code):
    done = start("import atexit; atexit.register(print, 'last words')\n" + RUN, argument)
    assert done.returncode == code
    assert done.stdout.endswith("last words\n")
    assert ("there is no command" in done.stderr) == (code == 2)


def test_modules_that_are_rarely_used_are_loaded_when_used():
    program = """
import sys
from tailwise.cli.program import RARELY_USED, _LoadedWhenUsed
sys.meta_path.insert(0, _LoadedWhenUsed)
import numba, scipy.sparse
import importlib, numpy
for name in ("numpy.testing", "numpy.f2py"):  # not imported by all versions of Numba and SciPy
    if name not in sys.modules:  # a second import would load it
        importlib.import_module(name)
print(sorted(RARELY_USED & set(sys.modules)))
names = object.__getattribute__(sys.modules["numpy.testing"], "__dict__")
print("assert_equal" in names)
numpy.testing.assert_equal(1, 1)
print("assert_equal" in names, callable(numpy.f2py.get_include))
"""
    loaded, before, after = start(program).stdout.splitlines()
    assert {"numpy.f2py", "numpy.testing"} <= set(eval(loaded))
    assert (before, after) == ("False", "True True")
