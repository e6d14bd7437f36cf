"""Install a wheel into an environment of its own, and make a first call from a fresh interpreter.

With --compiled, fail if that call compiles anything. The environment gets the version of Numba that runs this program.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import venv
from importlib.metadata import version
from pathlib import Path

CALL = """
import numpy as np, scipy.sparse as sp, tailwise as tw
P = sp.random_array((200, 60), density=0.2, rng=0).tocsr() if hasattr(sp, "random_array") else sp.random(200, 60, 0.2)
labels = tw.select(P, "macro-f1", 3, fill="none").labels
assert labels.shape == (200, 3)
from tailwise.kernels.compiling import compile_seconds
print(compile_seconds())
"""


def main() -> None:
    """Try the wheel that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--compiled", action="store_true", help="fail if the call compiles anything")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        python = install(options.wheel, Path(folder) / "environment")
        compiled, seconds = call(python, Path(folder))
    print(f"first call: {seconds:.1f} s from a fresh interpreter, {compiled:.1f} s of it compiling")
    if options.compiled and compiled > 0:
        sys.exit("The wheel has compiled code, but the first call compiled something.")


def install(wheel: Path, folder: Path) -> Path:
    """Make an environment with the wheel; returns its Python."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, wheel.resolve(), f"numba=={version('numba')}"], check=True)
    return python


def call(python: Path, folder: Path) -> tuple[float, float]:
    """Seconds of compiling, and in all, of the first call; where Python's own files are compiled already."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "PYTHON"))}
    environment["NUMBA_CACHE_DIR"] = str(folder / "cache")  # nothing but what is in the wheel
    subprocess.run([python, "-c", "import numba, scipy.sparse"], env=environment, check=True)
    start = time.perf_counter()
    done = subprocess.run([python, "-c", CALL], cwd=folder, env=environment, stdout=subprocess.PIPE, check=True)
    return float(done.stdout), time.perf_counter() - start


if __name__ == "__main__":
    main()
