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
    "progress": 0,
    "model_names": 0,
    "kernels": 1,
    "inputs": 2,
    "datasets": 2,
    "engines": 2,
    "utilities": 3,
    "expectations": 4,
    "certificates": 6,
    "metrics": 6,
    "models": 6,
    "selection": 6,
    "online": 6,
    "runs": 7,
    "warming": 7,
    "doctor": 7,
    "experiments": 8,
    "reports": 9,
    "cli": 10,
    "": 11,  # tailwise/__init__.py
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


def find_imports(module, path, modules, *, at_the_top=False):
    """The modules that one module imports anywhere: at its top, within functions, or for type checkers only."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    tree = ast.parse(path.read_text())
    for node in tree.body if at_the_top else ast.walk(tree):
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


def test_imports_point_one_way():
    faults = []
    modules = find_modules(SOURCE)
    for module, path in modules.items():
        own = part_of(module)
        for target in find_imports(module, path, modules):
            is_ours = target.partition(".")[0] == "tailwise"
            if own == "kernels" and not (
                part_of(target) == own if is_ours else target.partition(".")[0] in KERNELS_MAY_IMPORT
            ):
                faults.append(f"{module} imports {target}")
            elif is_ours and RANKS[part_of(target)] > RANKS[own]:
                faults.append(f"{module} looks up to {target}")
    assert faults == []


def test_no_module_imports_itself_by_a_detour():
    modules = find_modules(SOURCE)
    imports = {
        module: {
            target
            for target in find_imports(module, path, modules, at_the_top=True)
            if target in modules and target != module
        }
        for module, path in modules.items()
        if path.name != "__init__.py"
    }
    graphlib.TopologicalSorter(imports).prepare()  # raises CycleError, which names the modules


# How large its parts are


def test_no_file_name_in_two_folders():
    names = [path.name for path in SOURCE.rglob("*.py") if path.name != "__init__.py"]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_files_have_one_subject():
    lengths = {str(path.relative_to(SOURCE)): len(path.read_text().splitlines()) for path in SOURCE.rglob("*.py")}
    assert {name: length for name, length in lengths.items() if length > 400} == {}


def test_functions_are_short():
    lengths = sorted(
        node.end_lineno - body[0].lineno + 1
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
        and (body := node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body)
    )
    assert lengths[int(0.9 * (len(lengths) - 1))] <= 20


def test_compiled_code_calls_no_kernel():
    """Kernels are kept on disk without what it takes to link them into other functions; shared code is a step."""
    functions = [
        node
        for path in (SOURCE / "kernels").glob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.decorator_list
    ]
    names = {node.name for node in functions for mark in node.decorator_list if ast.unparse(mark).startswith("kernel")}
    calls = {
        (node.name, call.func.id)
        for node in functions
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
    }
    assert len(names) > 30
    assert [(caller, called) for caller, called in calls if called in names] == []


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


def is_explained(name, value):
    """Whether a class or function has words of its own, not only the signature that a dataclass is given."""
    words = (value.__doc__ or "").strip()
    return words and not words.startswith(f"{name}(")


@pytest.mark.parametrize("name", MODULES)
def test_modules_and_their_public_names_are_explained(name):
    module = importlib.import_module(name)
    assert (module.__doc__ or "").strip()
    public = {
        each: value
        for each, value in vars(module).items()
        if not each.startswith("_") and (inspect.isclass(value) or inspect.isfunction(value))
    }
    own = {each: value for each, value in public.items() if value.__module__ == name and value.__name__ == each}
    is_kernel = part_of(name) == "kernels"  # where formulas are named after what they compute
    assert is_kernel or [each for each, value in own.items() if not is_explained(each, value)] == []


@pytest.mark.parametrize("module", ["tailwise", "tailwise.errors", "tailwise.cli.main", "tailwise.cli.program"])
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
