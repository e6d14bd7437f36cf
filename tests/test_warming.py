"""Compiling ahead of time: nothing is left to compile afterwards."""

import os
import subprocess
import sys

import pytest

import tailwise as tw

EVERY_KERNEL = """
import pkgutil
from importlib import import_module
import tailwise as tw
from tailwise import kernels
from tailwise.kernels.caching import KernelCache

tw.warm_up(everything=True, progress=False)
for module in pkgutil.iter_modules(kernels.__path__, "tailwise.kernels."):
    for name, value in vars(import_module(module.name)).items():
        if isinstance(getattr(value, "_cache", None), KernelCache):
            print(len(value.signatures) > 0, name)
"""
USUAL_CALLS = """
import numpy as np, scipy.sparse as sp, tailwise as tw
from tailwise.kernels.compiling import compile_seconds

tw.warm_up(progress=False)
before = compile_seconds()
P = np.random.default_rng(0).random((40, 20))
for matrix in (P, P.astype(np.float32), sp.csr_matrix(P), sp.csc_array(P.astype(np.float32))):
    for k in (2, None):
        selection = tw.select(matrix, "macro-f1", k)
tw.select(P, "coverage", 2)
tw.select(P, "macro-f1", 2, method="ascent")
tw.select(P, "macro-f1", 2, certify=True)
tw.evaluate((P > 0.5).astype(int), selection)
print(compile_seconds() - before)
"""


def start(program, **environment):
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout.splitlines()


def test_every_kernel_is_compiled():
    lines = start(EVERY_KERNEL)
    assert len(lines) > 40
    assert [line for line in lines if not line.startswith("True")] == []


def test_usual_calls_compile_nothing_afterwards():
    assert start(USUAL_CALLS) == ["0.0"]


def test_a_second_time_takes_no_time():
    tw.warm_up(progress=False)
    assert tw.warm_up(progress=False) == 0.0


def test_a_bar_shows_how_far_it_is(capsys):
    tw.warm_up(progress=True)
    assert "compiling: 100%" in capsys.readouterr().err


COMMAND = "import sys; from tailwise.cli.main import main; sys.exit(main(['warm-up']))"


def test_the_command_reports_what_it_did():
    tw.warm_up(progress=False)
    assert start(COMMAND) == ["everything was compiled already"]


@pytest.mark.skipif(os.name != "posix", reason="no file is a folder there either, but named otherwise")
def test_the_command_fails_where_nothing_can_be_kept():
    command = [sys.executable, "-c", COMMAND]
    environment = {**os.environ, "NUMBA_CACHE_DIR": "/dev/null"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        "tailwise: error: Compiled code cannot be kept, because no folder for it can be written. "
        "Set NUMBA_CACHE_DIR to a folder that this user can write.\n"
    )
