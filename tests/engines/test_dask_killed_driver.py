"""A driver that is killed leaves a cluster that serves the next call, which goes on from the checkpoint."""

import subprocess
import sys

import numpy as np
import pytest
from engines.clusters import distributed, open_cluster

import tailwise as tw
from tailwise.cli.main import main
from tailwise.datasets import zipf_candidates

# In the middle of the pass after the first checkpoint, while tasks of further groups are under way.
KILLED = """
import os, sys
from tailwise.cli.main import main
from tailwise.engines import Dask
from tailwise.selection.checkpoint import Checkpoint
write, answers, passes = Checkpoint.write, Dask._answers, []
def note(self, reached):
    write(self, reached)
    passes.append(0)
def killed(self, snapshot):
    if passes:
        passes.append(1)
    if len(passes) > 3:
        os.kill(os.getpid(), 9)
    return answers(self, snapshot)
Checkpoint.write, Dask._answers = note, killed
main(sys.argv[1:])
"""


@pytest.fixture(scope="module")
def processes():
    with open_cluster(2, processes=True) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.mark.parametrize("expectation", ["semi", "exact"])
def test_killed_driver(processes, tmp_path, expectation):
    tw.save(tmp_path / "a.store", zipf_candidates(2000, 400, 90, seed=2).astype(np.float32))
    command = ["select", str(tmp_path / "a.store"), "-u", "macro-f1", "-k", "3", "--quiet", "--method", "ascent"]
    command += ["--expectation", expectation]
    on_cluster = [*command, "--scheduler", processes.scheduler.address]
    kept = ["--checkpoint", str(tmp_path / "kept"), "-o", str(tmp_path / "b.npz")]
    driver = subprocess.run([sys.executable, "-c", KILLED, *on_cluster, *kept], check=False)
    assert driver.returncode == -9
    assert not (tmp_path / "b.npz").exists()
    assert main([*on_cluster, *kept]) == 0
    assert main([*command, "-o", str(tmp_path / "c.npz")]) == 0
    assert (tmp_path / "b.npz").read_bytes() == (tmp_path / "c.npz").read_bytes()
