"""Label trees of others, in an environment of their own: `.venv-tree-peers` in the root of the repository."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

__all__ = ["PEERS", "run_tree_peer"]

PEERS = ("napkinxc", "omikuji", "pecos")
PACKAGES = ("napkinxc==0.7.2", "omikuji==0.5.2", "libpecos==1.2.8", "numpy<2")
ENVIRONMENT = Path(__file__).resolve().parents[1] / ".venv-tree-peers"


def run_tree_peer(name: str, folder: Path, *arguments: str) -> dict[str, np.ndarray]:
    """Train and predict on the data of a folder; what the script `peer_<name>.py` measured and found."""
    with tempfile.TemporaryDirectory() as scratch:
        returned = Path(scratch, "returned.npz")
        command = [_find_interpreter(), Path(__file__).with_name(f"peer_{name}.py"), folder, returned, *arguments]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=scratch)
        if done.returncode:
            raise RuntimeError(done.stderr[-2000:])
        with np.load(returned, allow_pickle=False) as results:
            return dict(results)


def _find_interpreter() -> Path:
    """The interpreter of the peers; made, and the peers installed, where they are missing."""
    python, stamp = ENVIRONMENT / "bin" / "python", ENVIRONMENT / "installed"
    if not stamp.exists():
        subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *PACKAGES], check=True)
        stamp.touch()
    return python
