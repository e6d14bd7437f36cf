"""Compiled code on disk: across versions, after damage, and where nothing can be written."""

import os
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


# Two kernels and a C function, loaded anew by each import.
FUNCTIONS = """
from numba import types

from tailwise.kernels.compiling import c_function, kernel


@kernel
def double(number):
    return 2 * number


@kernel
def triple(number):
    return 3 * number


def halve(number):
    return number / 2


found = double(21), triple(21), c_function(types.float64(types.float64), halve).ctypes(21.0)
hits = sum(double.stats.cache_hits.values()) + sum(triple.stats.cache_hits.values())
"""
# In a process of its own, for damaged machine code may end it.
DAMAGES = """
import pickle, random, sys
from importlib import reload
from pathlib import Path

import functions

cache = Path(sys.argv[1])
damages = {
    "empty": lambda content: b"",
    "cut short": lambda content: content[: len(content) // 2],
    "without its end": lambda content: content[:-1],
    "longer": lambda content: content + b"0",
    "random": lambda content: random.Random(len(content)).randbytes(len(content)),
    "a bit in the middle": lambda content: content[:-500] + bytes([content[-500] ^ 1]) + content[-499:],
    "another pickle": lambda content: pickle.dumps({"a": 1}) + pickle.dumps(("b", 2)),
    "a pickle without its class": lambda content: b"cno_such_module\\nNoClass\\n.",
    "text": lambda content: "what is this\u2028".encode("utf-8") * 100,
}
for suffix in (".nbi", ".nbc", ""):
    files = sorted(path for path in cache.rglob("*") if path.is_file() and path.name.endswith(suffix))
    assert len(files) == (6 if suffix == "" else 3), files
    for name, damage in damages.items():
        for path in files:
            path.write_bytes(damage(path.read_bytes()))
        for hits in (0, 2):
            reload(functions)
            print(suffix, name, *functions.found, functions.hits == hits)
doubling, tripling = (next(cache.rglob(f"*{name}*.nbc")) for name in ("double", "triple"))
doubling.write_bytes(tripling.read_bytes())
reload(functions)
print("", "data of another function", *functions.found, functions.hits == 1)
"""


def start(tmp_path, script, *arguments, **environment):
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=tmp_path,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout.splitlines()


def test_damaged_code_is_compiled_anew_and_kept_again(tmp_path):
    cache = tmp_path / "cache"
    lines = start(tmp_path, DAMAGES, str(cache), NUMBA_CACHE_DIR=str(cache))
    assert len(lines) == 2 * 3 * 9 + 1
    assert [line for line in lines if not line.endswith(" 42 63 10.5 True")] == []


UNWRITABLE = """
import numba.core.caching

def refuse(*arguments):
    raise OSError(28, "No space left on device")

{patch}
import functions

print(*functions.found, functions.hits)
"""


@pytest.mark.parametrize(
    "patch",
    [
        "numba.core.caching.IndexDataCacheFile._open_for_write = refuse",
        "numba.core.caching.CacheImpl._locator_classes = []",
    ],
    ids=["full disk", "no place"],
)
def test_without_a_place_to_write_code_is_compiled_each_time(tmp_path, patch):
    for _ in range(2):
        lines = start(tmp_path, UNWRITABLE.format(patch=patch), NUMBA_CACHE_DIR=str(tmp_path / "cache"))
        assert lines == ["42 63 10.5 0"]
