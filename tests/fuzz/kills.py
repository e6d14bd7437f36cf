"""Kills commands at random moments: what they leave is whole or nothing, and the next command removes the rest.

Run it for longer with ``python -m fuzz.kills KILLS [SEED]`` in the folder of the tests.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import tailwise as tw
from tailwise.datasets import load_priors, load_selection, save
from tailwise.datasets.formats.drafts import is_draft
from tailwise.datasets.formats.output_folders import UNFINISHED

__all__ = ["SIGNALS", "kill_commands"]

SIGNALS = [getattr(signal, name) for name in ("SIGKILL", "SIGTERM", "SIGINT") if hasattr(signal, name)]
COMMAND = [sys.executable, "-m", "tailwise.cli.program"]
WORDS = {
    "select": "select p.npz -u macro-f1 -k 3 --overwrite --quiet -o chosen.npz",
    "new select": "select p.npz -u macro-f1 -k 3 --quiet -o chosen.npz",
    "train": "train data --quiet --overwrite -o model.tree --calibrator calibrator.npz --folds 2",
    "run": "run data -u macro-f1 -k 2 --quiet --overwrite -o run",
    "new run": "run data -u macro-f1 -k 2 --quiet -o run",
    "experiment": "experiment parameters --data data --probabilities p.npz --out experiment -k 2 --quiet",
}
MINE = ("thesis.txt", "run/thesis.txt", "experiment/thesis.txt")


def kill_commands(n_kills: int, seed: int) -> dict[str, int]:
    """Kill so many commands; gives how many were hit in the middle, by name. Raises AssertionError for any damage."""
    rng, hits = random.Random(seed), dict.fromkeys(WORDS, 0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _make_data(folder)
        seconds: dict[str, float] = {}  # that a command takes, known once it was drawn
        for number in range(n_kills):
            command, number_of_signal = rng.choice(list(WORDS)), rng.choice(SIGNALS)
            if command not in seconds:
                seconds[command] = _finish(folder, command)
            wait = rng.uniform(0.3, 1.05) * seconds[command]
            what = f"seed {seed}, kill {number}: {number_of_signal.name} to {command} after {wait:.2f} s"
            if rng.random() < 0.5:  # an earlier result, or none
                _remove_results(folder)
            mine = _find_mine(folder)
            hits[command] += _kill(folder, command, wait, number_of_signal)
            _check_results(folder, mine, what)
            if rng.random() < 0.3:
                _finish(folder, command)
                _check_results(folder, _find_mine(folder), what)
                _check_no_leftovers(folder, command, what)
    return hits


def _make_data(folder: Path) -> None:
    rng = np.random.default_rng(0)
    (folder / "data").mkdir()
    for part, n in (("trn", 600), ("tst", 200)):
        save(folder / "data" / f"X.{part}.npz", rng.random((n, 30)) * (rng.random((n, 30)) < 0.3))
        save(folder / "data" / f"Y.{part}.npz", (rng.random((n, 20)) < 0.2).astype(np.int8))
    save(folder / "p.npz", rng.random((200, 20)))
    (folder / "thesis.txt").write_text("mine")


def _start(folder: Path, command: str) -> subprocess.Popen:
    return subprocess.Popen(
        [*COMMAND, *WORDS[command].split()],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that runs this in the background has it ignore Ctrl-C, and so would the command.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def _find_mine(folder: Path) -> list[Path]:
    """The files of others that are there."""
    return [folder / name for name in MINE if (folder / name).exists()]


def _finish(folder: Path, command: str) -> float:
    """Run a command to its end, whatever is there; gives the seconds."""
    _remove_results(folder, command)
    mine, start = _find_mine(folder), time.monotonic()
    process = _start(folder, command)
    err = process.communicate()[1]
    assert process.returncode == 0, f"{command}: {err}"
    assert _find_mine(folder)[: len(mine)] == mine, f"{command} removed a file of others"
    for name in MINE:
        place = (folder / name).parent
        # Not where a killed command has only begun: such a folder would no longer be its own.
        if place == folder or any(place.glob("*.json")):
            (folder / name).write_text("mine")
    return time.monotonic() - start


def _kill(folder: Path, command: str, wait: float, number: signal.Signals) -> bool:
    """Whether the command was still at work when the signal came."""
    process = _start(folder, command)
    try:
        process.wait(wait)
        process.communicate()
        return False
    except subprocess.TimeoutExpired:
        process.send_signal(number)
        process.communicate()
        return True


def _remove_results(folder: Path, command: str = "") -> None:
    """Remove what a user would remove to begin anew; nothing that a killed command left in hiding."""
    if command in ("", "new select"):
        (folder / "chosen.npz").unlink(missing_ok=True)
    if command in ("", "new run"):
        _remove_folder(folder / "run", "run.json")
    if command in ("", "experiment"):
        _remove_folder(folder / "experiment", "experiment.json")
    if not command:
        for name in ("model.tailwise", "calibrator.npz"):
            (folder / name).unlink(missing_ok=True)


def _remove_folder(folder: Path, record: str) -> None:
    if (folder / record).exists():
        shutil.rmtree(folder)


def _check_results(folder: Path, mine: list[Path], what: str) -> None:
    """Every file under its final name is whole, every finished folder complete, and nothing of others was touched."""
    try:
        if (folder / "chosen.npz").exists():
            assert load_selection(folder / "chosen.npz").shape == (200, 20)
        if (folder / "model.tailwise").exists():
            assert tw.load_model(folder / "model.tailwise").n_labels_ == 20
        if (folder / "calibrator.npz").exists():
            tw.Calibrator.load(folder / "calibrator.npz")
        if (folder / "run" / "run.json").exists():
            assert not (folder / "run" / UNFINISHED).exists()
            assert json.loads((folder / "run" / "run.json").read_text())["seed"] == 0
            assert load_selection(folder / "run" / "selection.npz").shape == (200, 20)
            tw.load_model(folder / "run" / "model.tailwise")
            load_priors(folder / "run" / "priors.npz")
        for path in (folder / "experiment").rglob("*.json"):
            json.loads(path.read_text())
    except Exception as error:
        msg = f"{type(error).__name__} ({error}) after {what}"
        raise AssertionError(msg) from error
    for path in mine:
        assert path.exists(), f"{path} was removed: {what}"
        assert path.read_text() == "mine", f"{path} was touched: {what}"


def _check_no_leftovers(folder: Path, command: str, what: str) -> None:
    """Where a command has written to its end, nothing is left of those that were killed."""
    if command == "experiment":
        inside = list((folder / "experiment").rglob("*"))
    else:
        inside = [*folder.iterdir(), *((folder / "run").rglob("*") if "run" in command else ())]
    drafts = [each for each in inside if is_draft(each) or each.name == UNFINISHED or each.name.startswith("kept-")]
    assert not drafts, f"{drafts} after {what}"


if __name__ == "__main__":
    print(kill_commands(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0), "hit in the middle")
