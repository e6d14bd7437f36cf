"""The faster compiler gives the same code as Numba's own, which is used with versions of Numba that were not tried."""

import subprocess
import sys

import numpy as np

import tailwise as tw

PROGRAM = """
import numba
numba.__version__ = "99.0.0"
import numpy as np, tailwise as tw
from tailwise.kernels.compiling import IS_TRIED
assert not IS_TRIED
P = np.random.default_rng(0).random((9, 7))
print(tw.select(P, "precision", 3).labels.tolist())
"""


def test_with_a_version_that_was_not_tried(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300, check=True)
    expected = tw.select(np.random.default_rng(0).random((9, 7)), "precision", 3).labels.tolist()
    assert done.stdout.strip() == str(expected)
