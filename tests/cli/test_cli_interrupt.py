"""Ctrl-C ends the work at once; what was found so far is kept only when asked for."""

import os
import re
import select
import signal
import time

import numpy as np
import pytest
import scipy.sparse as sp

from tailwise.cli.main import main
from tailwise.datasets import load_selection, save, zipf_candidates

SECONDS = 300
# Some seconds of work: many instances, a bad start, to the very end.
LONG = "-u macro-f1 -k 20 --init random --tolerance 0 --max-passes 100000"
N_INSTANCES = 100_000


@pytest.fixture(scope="module")
def large_folder(tmp_path_factory):
    # Drawing so many candidates would take longer than the tests: the labels of few instances serve for all.
    labels = np.tile(zipf_candidates(2_000, 3_000, 100).indices, N_INSTANCES // 2_000)
    values = np.random.default_rng(0).random(labels.size, dtype=np.float32) ** 8
    starts = np.arange(0, labels.size + 1, 100)
    folder = tmp_path_factory.mktemp("large")
    save(folder / "probabilities.npz", sp.csr_array((values, labels, starts), shape=(N_INSTANCES, 3_000)))
    yield folder
    os.remove(folder / "probabilities.npz")  # large, and pytest keeps folders for a while


def read_until(terminal, pattern):
    """What the terminal shows until a pattern appears, or until nobody writes to it any more."""
    seen, deadline = "", time.monotonic() + SECONDS
    while pattern is None or not re.search(pattern, seen):
        assert time.monotonic() < deadline, seen
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            part = os.read(terminal, 4096).decode()
        except OSError:  # how Linux says that nobody holds the inner end any more
            part = ""
        if not part:
            assert pattern is None, seen
            break
        seen += part
    return seen


def interrupt(start_on_terminal, folder, output, *options):
    """Select until the bar shows a pass, then press Ctrl-C; gives the code, standard output and the terminal."""
    process, terminal = start_on_terminal(folder, "select", "probabilities.npz", *LONG.split(), "-o", output, *options)
    try:
        seen = read_until(terminal, r"[1-9]\d* passes")
        process.send_signal(signal.SIGINT)
        seen += read_until(terminal, None)
        out = process.communicate(timeout=SECONDS)[0]
    finally:
        process.kill()
        process.communicate()
        os.close(terminal)
    return process.returncode, out, seen


def test_nothing_is_written(start_on_terminal, large_folder):
    code, out, seen = interrupt(start_on_terminal, large_folder, "nothing.npz", "--group-size", 1, "--workers", 1)
    assert code == 130
    assert out == ""
    # On a machine so busy that the command did not end in time by itself, without what follows the comma.
    assert re.search(r"tailwise: interrupted(, nothing written \(--keep-partial keeps the best [a-z ]+\))?\r\n", seen)
    assert "Traceback" not in seen
    assert os.listdir(large_folder) == ["probabilities.npz"]


def test_the_best_so_far_is_kept_when_asked_for(start_on_terminal, large_folder):
    code, out, seen = interrupt(start_on_terminal, large_folder, "partial.npz", "--workers", 2, "--keep-partial")
    assert code == 130
    assert "not converged" in out
    assert "Traceback" not in seen
    chosen = load_selection(large_folder / "partial.npz")
    os.remove(large_folder / "partial.npz")
    assert chosen.labels.shape == (N_INSTANCES, 20)
    assert chosen.labels.min() >= 0
    assert (np.diff(np.sort(chosen.labels, axis=1), axis=1) > 0).all()
    assert os.listdir(large_folder) == ["probabilities.npz"]


@pytest.mark.parametrize("keep", [(), ("--keep-partial",)], ids=str)
def test_before_there_is_anything_to_keep(folder, monkeypatch, capsys, keep):
    def stop(path, **options):
        raise KeyboardInterrupt

    monkeypatch.chdir(folder)
    monkeypatch.setattr("tailwise.inputs.paths.load_all_labels", stop)
    assert main(["select", "probabilities.npz", "-u", "macro-f1", "-k", "3", "-o", "chosen.npz", *keep]) == 130
    assert capsys.readouterr() == ("", "tailwise: interrupted\n")
    assert not (folder / "chosen.npz").exists()


def test_an_experiment_keeps_its_runs(start_on_terminal, data_folder):
    place = data_folder.parent
    words = ("experiment", "extended", "--data", "data", "--out", "out", "-k", "2", "--seeds", "100000")
    process, terminal = start_on_terminal(place, *words)
    try:
        seen = read_until(terminal, r"extended: .*\| [1-9]\d*/")
        process.send_signal(signal.SIGINT)
        seen += read_until(terminal, None)
        assert process.communicate(timeout=SECONDS)[0] == ""
    finally:
        process.kill()
        process.communicate()
        os.close(terminal)
    assert process.returncode == 130
    kept = len(list((place / "out" / "runs").iterdir()))
    assert kept > 0
    assert f"tailwise: {kept} runs are kept in out; the same command resumes" in seen
    assert "Traceback" not in seen
    assert not (place / "out" / "experiment.json").exists()
