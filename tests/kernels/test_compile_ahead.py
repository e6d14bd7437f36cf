"""A second process compiles what is needed later; whatever becomes of it, this one goes on."""

import subprocess
import sys

import numpy as np

from tailwise.kernels import compile_ahead
from tailwise.kernels.rows import find_odd_probability

PROGRAM = """
import numpy as np, tailwise as tw
from tailwise.kernels import compile_ahead
from tailwise.kernels.label_ascent import propose_labels, settle_labels
from tailwise.selection import label_moves
label_moves.count_cores = lambda: 2
labels = tw.select(np.random.default_rng(0).random((20, 15)) ** 3, "macro-f1", 2).labels
hits = [sum(each.stats.cache_hits.values()) for each in (propose_labels, settle_labels)]
print(labels.tolist(), hits, compile_ahead._Second.names or "none left")
"""


def run(cache):
    environment = {"NUMBA_CACHE_DIR": str(cache), "PATH": "", "PYTHONPATH": ":".join(sys.path)}
    command = [sys.executable, "-W", "error", "-c", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=True)
    return done.stdout


def test_kernels_come_from_the_second_process(tmp_path):
    found = run(tmp_path)
    assert found.endswith("[1, 1] none left\n")
    assert run(tmp_path) == found  # from disk


def test_a_second_process_that_fails_keeps_nobody_waiting(monkeypatch):
    monkeypatch.setattr(compile_ahead, "_PROGRAM", "raise SystemExit(3)")
    compile_ahead.compile_ahead((find_odd_probability, (np.ones(1), 0.0)))
    compile_ahead.wait_for("rows.find_odd_probability")
    assert not compile_ahead._Second.names
