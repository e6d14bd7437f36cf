"""Compiled code on disk, across versions."""

import subprocess
import sys

import pytest

MODULE = """
from typing import NamedTuple

from tailwise.kernels.compiling import kernel


class {name}(NamedTuple):
    number: float


@kernel
def double(pair):
    return 2 * pair.number


print(double({name}(21.0)), sum(double.stats.cache_hits.values()))
"""


@pytest.fixture
def run(tmp_path):
    def run(name):
        path = tmp_path / "compiled.py"
        path.write_text(MODULE.format(name=name))
        command = [sys.executable, "-c", "import compiled"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
        assert done.stderr == ""
        return done.stdout.split()

    return run


def test_code_is_kept(run):
    assert run("Pair") == ["42.0", "0"]
    assert run("Pair") == ["42.0", "1"]


def test_code_of_a_version_whose_classes_are_gone_is_compiled_anew(run):
    assert run("Pair") == ["42.0", "0"]
    assert run("Two") == ["42.0", "0"]
    assert run("Two") == ["42.0", "1"]
