"""Programs of others, in an environment of their own: `.venv-peers` in the root of the repository."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["find_interpreter", "run_peer"]

PACKAGES = {"xcolumns": "xcolumns", "sklearn": "scikit-learn"}
ENVIRONMENT = Path(__file__).resolve().parents[1] / ".venv-peers"


def find_interpreter() -> Path:
    """The interpreter of the peers; made, and the peers installed, where they are missing."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
    if not _are_installed(python):
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *PACKAGES.values()], check=True)
    return python


def run_peer(script: str, arrays: dict[str, Any], *arguments: str) -> dict[str, np.ndarray]:
    """Run a script of this folder with the peers' interpreter; arrays go there and come back as .npz files."""
    with tempfile.TemporaryDirectory() as folder:
        given, returned = Path(folder, "given.npz"), Path(folder, "returned.npz")
        np.savez(given, **arrays)
        command = [find_interpreter(), Path(__file__).with_name(script), given, returned, *arguments]
        subprocess.run([str(part) for part in command], check=True)
        with np.load(returned, allow_pickle=False) as results:
            return dict(results)


def _are_installed(python: Path) -> bool:
    check = "import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, sys.argv[1:])))"
    return subprocess.run([str(python), "-c", check, *PACKAGES]).returncode == 0
