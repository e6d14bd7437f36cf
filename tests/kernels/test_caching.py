"""Machine code on disk is found again by what went into it, and never trusted blindly."""

import sys

from kernels.conftest import COMPILED, LOADED

HITS = "import functions; print(functions.hits)"


def test_code_is_kept(warm):
    assert warm.run() == LOADED


def test_a_change_of_any_kernel_compiles_all_again(warm):
    changed = warm.folder / "tailwise/kernels/heaps.py"
    changed.write_text(changed.read_text(encoding="utf-8") + "\nWORSE = 1\n", encoding="utf-8")
    assert warm.run() == COMPILED
    assert warm.run() == LOADED


def test_a_change_of_a_function_elsewhere_compiles_it_again(warm):
    own = warm.folder / "functions.py"
    own.write_text(own.read_text(encoding="utf-8").replace("2 * number", "4 * number"), encoding="utf-8")
    assert warm.run() == ["84 63 10.5 0"]


def test_settings_that_change_the_code_have_files_of_their_own(warm):
    assert warm.run(NUMBA_BOUNDSCHECK="1") == COMPILED
    assert warm.run(NUMBA_OPT="1") == COMPILED
    assert warm.run(NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="") == COMPILED
    assert warm.run() == LOADED
    assert warm.run(NUMBA_BOUNDSCHECK="1") == LOADED


CLASSES = """
from typing import NamedTuple

from tailwise.kernels.compiling import kernel


class {name}(NamedTuple):
    number: float


@kernel
def double(pair):
    return 2 * pair.number


print(double({name}(21.0)), sum(double.stats.cache_hits.values()))
"""


def test_code_of_a_version_whose_classes_are_gone_is_compiled_again(installation):
    module = installation.folder / "classes.py"
    for name, hits in (("Pair", 0), ("Two", 0), ("Two", 1)):
        module.write_text(CLASSES.format(name=name), encoding="utf-8")
        assert installation.run("import classes") == [f"42.0 {hits}"]


CLOSURE = """
from tailwise.kernels.compiling import kernel


def multiply_by(factor):
    @kernel
    def multiply(number):
        return factor * number

    return multiply


print([multiply_by(factor)(21) for factor in (2, 3)])
"""


def test_values_of_a_closure_are_part_of_the_code(installation):
    (installation.folder / "closure.py").write_text(CLOSURE, encoding="utf-8")
    for _ in range(2):
        assert installation.run("import closure") == ["[42, 63]"]


# In a process of its own, for damaged machine code may end it.
DAMAGES = """
import pickle, random, sys
from importlib import reload
from pathlib import Path

import functions

damages = {
    "empty": lambda content: b"",
    "cut short": lambda content: content[: len(content) // 2],
    "without its end": lambda content: content[:-1],
    "longer": lambda content: content + b"0",
    "random": lambda content: random.Random(len(content)).randbytes(len(content)),
    "a bit in the middle": lambda content: content[:-500] + bytes([content[-500] ^ 1]) + content[-499:],
    "another pickle": lambda content: pickle.dumps({"a": 1}) + pickle.dumps(("b", 2)),
    "a pickle without its class": lambda content: b"cno_such_module\\nNoClass\\n.",
    "text": lambda content: "what is this\\u2028".encode("utf-8") * 100,
}
files = sorted(Path().rglob("*.nbc"))
assert len(files) == 3, files
for name, damage in damages.items():
    for path in files:
        path.write_bytes(damage(path.read_bytes()))
    for hits in (0, 3):
        reload(functions)
        print(name, *functions.found, functions.hits == hits)
doubling, tripling, _ = sorted(files, key=lambda path: "double" not in path.name)
doubling.write_bytes(tripling.read_bytes())
reload(functions)
print("code of another function", *functions.found, functions.hits == 2)
"""


def test_damaged_code_is_compiled_again_and_kept_again(installation):
    lines = installation.run(DAMAGES)
    assert len(lines) == 2 * 9 + 1
    assert [line for line in lines if not line.endswith(" 42 63 10.5 True")] == []


OTHER_NUMBA = """
from numba.core import codegen

del {gone}
import functions

print(*functions.found, functions.hits)
"""


def test_a_numba_with_other_internals_compiles_each_time(warm):
    for gone in ("codegen.CPUCodegen.magic_tuple", "codegen.CodeLibrary._set_compiled_object"):
        assert warm.run(OTHER_NUMBA.format(gone=gone)) == COMPILED


def test_processes_at_the_same_time(installation):
    processes = [installation.start() for _ in range(3)]
    outputs = [process.communicate(timeout=300) for process in processes]
    assert {errors for _, errors in outputs} == {""}
    assert {output.rpartition(" ")[0] for output, _ in outputs} == {"42 63 10.5"}
    assert installation.run() == LOADED
    assert len(installation.files()) == 3


def test_names_of_files_tell_python_numba_and_the_function(warm):
    version = {path.parent.name.rpartition("-")[0] for path in warm.files()}
    assert len(version) == 1
    assert version.pop().startswith(f"{sys.implementation.cache_tag}-numba-0.")
    names = [path.name.partition("-")[0] for path in warm.files()]
    assert names == ["functions.double", "functions.halve", "functions.triple"]
