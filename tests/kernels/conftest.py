"""An installation of the kernels alone, which tests may copy, damage, and run in processes of their own."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import tailwise

PACKAGE = Path(tailwise.__file__).parent
# Two kernels and a C function: what they compute, and how often their code came from disk.
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


halved = c_function(types.float64(types.float64), halve)
found = double(21), triple(21), halved.ctypes(21.0)
hits = sum(double.stats.cache_hits.values()) + sum(triple.stats.cache_hits.values()) + halved.cache_hits
"""
PRINT = "import functions; print(*functions.found, functions.hits)"
COMPILED, LOADED = ["42 63 10.5 0"], ["42 63 10.5 3"]


class Installation:
    """A folder with a copy of the kernels and a module that uses them; `start` runs Python there."""

    def __init__(self, folder):
        self.folder = folder
        self.beside_sources = folder / "tailwise/kernels/__pycache__/compiled"
        self.home, self.temporary = folder / "home", folder / "temporary"

    def start(self, script=PRINT, *arguments, prefix=(), **environment):
        """A process without the settings of this one; ``NAME=None`` leaves a variable out."""
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
        own = {"PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(self.home)}
        own |= {"TMPDIR": str(self.temporary), "LOCALAPPDATA": str(self.home)}
        given = {name: str(value) for name, value in {**kept, **own, **environment}.items() if value is not None}
        command = [*prefix, sys.executable, "-c", script, *map(str, arguments)]
        return subprocess.Popen(
            command, cwd=self.folder, env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def run(self, *arguments, **environment):
        """The lines that a process prints."""
        process = self.start(*arguments, **environment)
        output, errors = process.communicate(timeout=300)
        assert (errors, process.returncode) == ("", 0)
        return output.splitlines()

    def fill(self, cache):
        """Lay the code that belongs beside the sources into a cache folder of Numba instead."""
        shutil.copytree(self.beside_sources, cache / "tailwise")
        shutil.rmtree(self.beside_sources)

    def files(self):
        """All files of machine code, complete or not."""
        return sorted(path for suffix in ("nbc", "tmp") for path in self.folder.rglob(f"*.{suffix}"))


def make_folder():
    # Not tmp_path, which other users cannot enter.
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    return folder


def remove(folder):
    for path in folder.rglob("*"):  # some were made read-only
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def sources():
    """The files of an installation, which tests copy; code is compiled once."""
    folder = make_folder()
    (folder / "tailwise/kernels").mkdir(parents=True)
    for path in [PACKAGE / "__init__.py", *PACKAGE.glob("kernels/*.py")]:
        shutil.copy(path, folder / "tailwise" / path.relative_to(PACKAGE))
    (folder / "functions.py").write_text(FUNCTIONS, encoding="utf-8")
    (folder / "home").mkdir()
    (folder / "temporary").mkdir()
    assert Installation(folder).run() == COMPILED
    yield folder
    remove(folder)


@pytest.fixture
def warm(sources):
    """An installation whose code was compiled by a process that has ended."""
    folder = make_folder()
    shutil.copytree(sources, folder, dirs_exist_ok=True)
    yield Installation(folder)
    remove(folder)


@pytest.fixture
def installation(warm):
    """An installation that has not compiled anything yet."""
    shutil.rmtree(warm.beside_sources)
    return warm


@pytest.fixture
def unprivileged(warm):
    """The start of a command that runs as a user who can write nothing there; the installation is read-only then."""

    def make_read_only():
        for path in [warm.folder, *warm.folder.rglob("*")]:
            path.chmod(path.stat().st_mode & ~0o222)
        if os.geteuid() != 0:
            return ()
        if shutil.which("setpriv") is None:
            pytest.skip("root can write everywhere, and setpriv, which starts a process as another user, is missing")
        # May read everything, for the interpreter is perhaps in the home folder of root.
        reading = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
        return ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *reading)

    if os.name != "posix":
        pytest.skip("permissions of folders are those of POSIX")
    return make_read_only
