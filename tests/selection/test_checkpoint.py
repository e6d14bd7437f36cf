"""Checkpoints: a call that is killed goes on from its last pass, and ends as one that was not."""

import errno
import subprocess
import sys

import numpy as np
import pytest

import tailwise as tw
from tailwise.datasets import zipf_candidates
from tailwise.errors import FileError, InputError, MachineError

CALL = {"utility": "macro-f1", "k": 3}


class Killed(Exception):
    pass


@pytest.fixture(scope="module")
def probabilities():
    return zipf_candidates(400, 150, 12, seed=1)


def kill_after(stage, n_passes):
    passes = []

    def told(each):
        passes.append(each.stage)
        if passes.count(stage) > n_passes:
            raise Killed

    return told


@pytest.mark.parametrize("expectation", ["semi", "exact"])
@pytest.mark.parametrize("method", ["ascent", "global"])
@pytest.mark.parametrize("n_passes", [1, 2])
def test_goes_on_after_a_kill(probabilities, tmp_path, expectation, method, n_passes):
    options = {"expectation": expectation, "method": method, "tolerance": 0.0}
    whole = tw.select(probabilities, **CALL, **options)
    for stage in ("warm-up", "rows") if expectation == "exact" else ("rows",):
        with pytest.raises(Killed):
            tw.select(probabilities, **CALL, **options, checkpoint=tmp_path / "c", on_pass=kill_after(stage, n_passes))
    passes = []
    again = tw.select(probabilities, **CALL, **options, checkpoint=tmp_path / "c", on_pass=passes.append)
    assert again.labels.tobytes() == whole.labels.tobytes()
    assert again.history == whole.history
    assert again.expected == whole.expected
    assert all(each.stage != "warm-up" for each in passes)


def test_goes_on_from_a_given_start(probabilities, tmp_path):
    start = np.zeros((400, 1), dtype=np.int32)
    whole = tw.select(probabilities, **CALL, init=start, fill="least-loss")
    with pytest.raises(Killed):
        tw.select(
            probabilities,
            **CALL,
            init=start,
            fill="least-loss",
            checkpoint=tmp_path,
            on_pass=kill_after("rows", 1),
        )
    again = tw.select(probabilities, **CALL, init=start, fill="least-loss", checkpoint=tmp_path)
    assert again.labels.tobytes() == whole.labels.tobytes()


def test_another_call_is_refused(probabilities, tmp_path):
    tw.select(probabilities, **CALL, checkpoint=tmp_path)
    with pytest.raises(InputError, match="checkpoint must belong to the same call"):
        tw.select(probabilities, "macro-f1", k=2, checkpoint=tmp_path)


@pytest.mark.parametrize("name", ["thesis.txt", "pass.npz"])
def test_folder_of_others_is_refused_and_left_as_it_is(probabilities, tmp_path, name):
    if name == "pass.npz":
        np.savez(tmp_path / name, words=np.arange(3))
    else:
        (tmp_path / name).write_text("mine")
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    rule = "belong to the same call" if name == "pass.npz" else "be a new or empty folder, or one with a checkpoint"
    with pytest.raises(InputError, match=f"checkpoint must {rule}"):
        tw.select(probabilities, **CALL, checkpoint=tmp_path)
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before


def test_draft_of_a_killed_call_is_no_file_of_others(probabilities, tmp_path):
    left = tmp_path / ".tailwise-0123.part" / "content"
    left.mkdir(parents=True)
    (left / "file").write_bytes(b"half a pass")
    assert tw.select(probabilities, **CALL, checkpoint=tmp_path).converged


def test_damaged_checkpoint(probabilities, tmp_path):
    tw.select(probabilities, **CALL, checkpoint=tmp_path)
    data = (tmp_path / "pass.npz").read_bytes()
    (tmp_path / "pass.npz").write_bytes(data[: len(data) // 2])
    with pytest.raises(FileError, match="must be a whole checkpoint"):
        tw.select(probabilities, **CALL, checkpoint=tmp_path)


def test_what_is_no_folder(probabilities, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"checkpoint must be a folder\. Got .*file, which is a file"):
        tw.select(probabilities, **CALL, checkpoint=tmp_path / "file")
    with pytest.raises(InputError, match=r"checkpoint must be the name of a folder, or None. Got int"):
        tw.select(probabilities, **CALL, checkpoint=3)


def test_full_disk_keeps_the_pass_before(probabilities, tmp_path, monkeypatch):
    whole = tw.select(probabilities, **CALL, tolerance=0.0)
    with pytest.raises(Killed):
        tw.select(probabilities, **CALL, tolerance=0.0, checkpoint=tmp_path, on_pass=kill_after("rows", 1))
    kept = (tmp_path / "pass.npz").read_bytes()

    def fail(*arguments, **more):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("tailwise.selection.checkpoint.np.savez", fail)
        with pytest.raises(MachineError, match="No space left on device"):
            tw.select(probabilities, **CALL, tolerance=0.0, checkpoint=tmp_path)
    assert (tmp_path / "pass.npz").read_bytes() == kept
    again = tw.select(probabilities, **CALL, tolerance=0.0, checkpoint=tmp_path)
    assert again.labels.tobytes() == whole.labels.tobytes()


KILLED = """
import os, sys
from tailwise.selection import checkpoint
from tailwise.cli.main import main
write = checkpoint.Checkpoint.write
def killed(self, reached):
    write(self, reached)
    os.kill(os.getpid(), 9)
checkpoint.Checkpoint.write = killed
main(sys.argv[1:])
"""


def test_killed_command_goes_on(probabilities, tmp_path):
    from tailwise.cli.main import main

    tw.save(tmp_path / "a.store", probabilities)
    command = ["select", str(tmp_path / "a.store"), "-u", "macro-f1", "-k", "3", "--quiet"]
    kept = [*command, "--checkpoint", str(tmp_path / "kept"), "-o", str(tmp_path / "b.npz")]
    assert subprocess.run([sys.executable, "-c", KILLED, *kept], check=False).returncode == -9
    assert not (tmp_path / "b.npz").exists()
    assert main(kept) == 0
    assert main([*command, "-o", str(tmp_path / "c.npz")]) == 0
    assert (tmp_path / "b.npz").read_bytes() == (tmp_path / "c.npz").read_bytes()


def test_checkpoint_of_the_same_rows_in_another_order_is_refused(tmp_path):
    rng = np.random.default_rng(0)
    p = (rng.integers(1, 64, (60, 12)) / 64).astype(np.float32)
    tw.select(p, "macro-f1", k=2, checkpoint=tmp_path / "kept")
    with pytest.raises(InputError, match="same call"):
        tw.select(p[::-1].copy(), "macro-f1", k=2, checkpoint=tmp_path / "kept")


def test_another_context_is_another_call(tmp_path):
    probabilities = np.array([[0.9, 0.4, 0.3], [0.8, 0.1, 0.7]])
    chosen = np.array([[0], [0]])
    certain, unsure = (tw.Totals.of(chosen, np.array([[first, 0, 0], [1 - first + 1e-9, 0, 0]])) for first in (1, 0.5))
    assert certain.t[0] == pytest.approx(unsure.t[0])  # only the chance of failure differs
    options = {"method": "ascent", "checkpoint": tmp_path}
    tw.select(probabilities, "coverage", 1, context=certain, **options)
    with pytest.raises(InputError, match="must belong to the same call"):
        tw.select(probabilities, "coverage", 1, context=unsure, **options)
