"""The order of the house: who may import whom, what is public, and what stays out of the files."""

import ast
import graphlib
import importlib
import importlib.resources
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tailwise

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tailwise"

# Imports point to the same rank or a lower one.
RANKS = {
    "errors": 0,
    "kernels": 1,
    "parameters": 2,
    "canonical": 2,
    "candidates": 2,
    "chosen": 2,
    "utilities": 3,
    "expectations": 4,
    "selection": 5,
    "certificates": 5,
    "metrics": 5,
    "estimators": 5,
    "datasets": 5,
    "engines": 5,
    "experiments": 6,
    "report": 7,
    "cli": 8,
    "": 9,  # tailwise/__init__.py
}
KERNELS_MAY_IMPORT = {"numpy", "numba", "llvmlite", *sys.stdlib_module_names}
# The version is a fact about the whole package and brings no code along.
FREE_NAMES = {"tailwise.__version__"}


# Who imports whom


def find_modules(source):
    """Name to path of every module below a folder that stands for the package tailwise."""
    modules = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        modules[".".join(("tailwise", *(part for part in parts if part != "__init__")))] = path
    return modules


def find_imports(module, path, modules):
    """The modules that one module imports anywhere: at its top, within functions, or for type checkers only."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join((*above, base) if base else above)
            for alias in node.names:
                name = f"{base}.{alias.name}"
                if name not in FREE_NAMES:
                    yield name if name in modules else base


def part_of(module):
    """The part of the house a module belongs to: its first name below tailwise."""
    return module.partition(".")[2].partition(".")[0]


def find_faults(source):
    """What breaks the order, as one line each."""
    modules = find_modules(source)
    faults, neighbours = [], {}
    for module, path in modules.items():
        own = part_of(module)
        if own not in RANKS:
            faults.append(f"{own} has no rank")
            continue
        for target in find_imports(module, path, modules):
            is_ours = target.partition(".")[0] == "tailwise"
            other = part_of(target)
            if own == "kernels" and not (other == own if is_ours else target.partition(".")[0] in KERNELS_MAY_IMPORT):
                faults.append(f"{module} imports {target}")
            elif is_ours and RANKS.get(other, -1) > RANKS[own]:
                faults.append(f"{module} looks up to {target}")
            elif is_ours and other != own and RANKS.get(other) == RANKS[own]:
                neighbours.setdefault(own, set()).add(other)
    return faults + find_cycles(neighbours)


def find_cycles(neighbours):
    try:
        graphlib.TopologicalSorter(neighbours).prepare()
    except graphlib.CycleError as error:
        return [f"cycle {' - '.join(sorted(set(error.args[1])))}"]
    return []


def test_imports_point_one_way():
    assert find_faults(SOURCE) == []


UPWARD = "tailwise.kernels.rows imports tailwise.errors"
BROKEN_TREES = {
    "upward": (
        {"utilities/macro.py": "import tailwise.selection"},
        "tailwise.utilities.macro looks up to tailwise.selection",
    ),
    "from": (
        {"metrics/a.py": "from tailwise.report.tables import x"},
        "tailwise.metrics.a looks up to tailwise.report.tables",
    ),
    "a name": ({"cli/a.py": "from tailwise import select"}, "tailwise.cli.a looks up to tailwise"),
    "a module": (
        {"report/a.py": "from tailwise import cli", "cli/__init__.py": ""},
        "tailwise.report.a looks up to tailwise.cli",
    ),
    "within a function": (
        {"candidates.py": "def of():\n    from tailwise.datasets import load"},
        "tailwise.candidates looks up to tailwise.datasets",
    ),
    "for type checkers": (
        {"chosen.py": "if TYPE_CHECKING:\n    from tailwise.selection import Selection"},
        "tailwise.chosen looks up to tailwise.selection",
    ),
    "relative": ({"utilities/a.py": "from ..report import tables"}, "tailwise.utilities.a looks up to tailwise.report"),
    "relative in a package": (
        {"utilities/__init__.py": "from .a import x", "utilities/a.py": "from .. import cli", "cli/__init__.py": ""},
        "tailwise.utilities.a looks up to tailwise.cli",
    ),
    "top level": ({"errors.py": "import tailwise"}, "tailwise.errors looks up to tailwise"),
    "kernels and ours": ({"kernels/rows.py": "from tailwise.errors import InputError"}, UPWARD),
    "kernels and others": (
        {"kernels/rows.py": "import scipy.sparse as sp"},
        "tailwise.kernels.rows imports scipy.sparse",
    ),
    "cycle": (
        {"metrics/a.py": "import tailwise.datasets", "datasets/a.py": "def f():\n    import tailwise.metrics.a"},
        "cycle datasets - metrics",
    ),
    "cycle of three": (
        {
            "metrics/a.py": "import tailwise.datasets",
            "datasets/a.py": "import tailwise.engines",
            "engines/a.py": "import tailwise.metrics",
        },
        "cycle datasets - engines - metrics",
    ),
    "unknown": ({"helpers/a.py": ""}, "helpers has no rank"),
}


def plant(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


@pytest.mark.parametrize(("files", "fault"), BROKEN_TREES.values(), ids=BROKEN_TREES)
def test_the_check_finds_what_breaks_the_order(tmp_path, files, fault):
    plant(tmp_path, files)
    assert find_faults(tmp_path) == [fault]


def test_the_check_allows_what_keeps_the_order(tmp_path):
    files = {
        "__init__.py": "from tailwise.cli import main",
        "cli/main.py": "from tailwise import __version__\nfrom tailwise.cli import select\nfrom .. import errors",
        "cli/select.py": "def run():\n    from tailwise.cli.main import main",
        "metrics/a.py": "from tailwise.datasets import load\nimport scipy",
        "kernels/rows.py": "import math\nfrom numba import njit\nfrom tailwise.kernels.compiling import kernel",
        "errors.py": "",
    }
    plant(tmp_path, files)
    assert find_faults(tmp_path) == []


# What is public

MODULES = sorted(find_modules(SOURCE))


def test_public_names_are_said_once_and_for_all():
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    guarded = next(node for node in tree.body if isinstance(node, ast.If))  # what type checkers see
    seen = {alias.name for node in guarded.body for alias in node.names}
    assert sorted(tailwise.__all__) == sorted(seen) == sorted(tailwise._HOMES)
    assert set(tailwise.__all__) <= set(dir(tailwise))
    assert len(set(tailwise.__all__)) == len(tailwise.__all__)


def test_star_import_gives_the_public_names():
    names = {}
    exec("from tailwise import *", names)
    assert set(names) - {"__builtins__"} == set(tailwise.__all__)


@pytest.mark.parametrize("name", tailwise.__all__)
def test_public_names_are_there_and_explained(name):
    assert (getattr(tailwise, name).__doc__ or "").strip()


def test_other_names_are_not_there():
    with pytest.raises(AttributeError, match="module 'tailwise' has no attribute 'chose'"):
        tailwise.chose  # noqa: B018


@pytest.mark.parametrize("name", MODULES)
def test_modules_and_their_public_names_are_explained(name):
    module = importlib.import_module(name)
    assert (module.__doc__ or "").strip()
    for public in getattr(module, "__all__", ()):
        value = getattr(module, public)
        is_ours = getattr(value, "__module__", "").startswith("tailwise")  # kernels.part and step are made by Numba
        if is_ours and (inspect.isclass(value) or inspect.isroutine(value)):
            words = (value.__doc__ or "").strip()
            assert words, f"{name}.{public} has no docstring"
            assert not words.startswith(f"{public}("), f"{name}.{public} has only the docstring of a dataclass"


@pytest.mark.parametrize("module", ["tailwise", "tailwise.errors", "tailwise.cli.main"])
def test_the_compiler_is_imported_only_when_needed(module):
    program = f"import sys, {module}; print(sorted({{'numba', 'scipy', 'matplotlib'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_package_is_marked_as_typed():
    assert importlib.resources.files("tailwise").joinpath("py.typed").is_file()


# What stays out of the files

MACHINE_PATH = re.compile(r"(?<![\w.])/(?:home|root|work)/")
SUFFIXES = {".py", ".md", ".rst", ".txt", ".toml", ".cfg", ".yml", ".yaml", ".json", ".csv", ".svg", ".html", ".ipynb"}


def find_texts():
    for folder in ("src", "tests", "docs", "benchmarks", "examples"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in SUFFIXES and not {"__pycache__", "_build"} & set(path.parts):
                yield path
    yield from (path for name in ("README.md", "Makefile", "pyproject.toml") if (path := ROOT / name).exists())


def test_no_paths_of_one_machine():
    found = [str(path.relative_to(ROOT)) for path in find_texts() if MACHINE_PATH.search(path.read_text())]
    assert found == []


@pytest.mark.parametrize("folder", ["home", "root", "work"])
def test_paths_of_one_machine_would_be_found(folder):
    assert MACHINE_PATH.search(f'open("/{folder}/data.npz")')
    assert MACHINE_PATH.search(f"/{folder}/data.npz")
    assert not MACHINE_PATH.search(f"https://example.org/{folder}/data.npz")
