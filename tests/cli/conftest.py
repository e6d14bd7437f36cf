"""The command line on files in a folder: within the process of the tests, or where it matters in one of its own."""

import os
import signal
import struct
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tailwise.cli.main import main
from tailwise.datasets import save, zipf_candidates

COMMAND = (sys.executable, "-m", "tailwise.cli.program")
SECONDS = 300


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command in a folder; gives code, out and err."""

    def run_command(folder, *arguments):
        monkeypatch.chdir(folder)
        capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as ended:  # by argparse
            code = ended.code
        return SimpleNamespace(code=code, **capsys.readouterr()._asdict())

    return run_command


@pytest.fixture(scope="session")
def run_apart():
    """Run the command in a process of its own, its output piped; gives code, out and err."""

    def run_command(folder, *arguments, command=COMMAND):
        done = subprocess.run(
            [*command, *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        return SimpleNamespace(code=done.returncode, out=done.stdout, err=done.stderr)

    return run_command


@pytest.fixture(scope="session")
def start_on_terminal():
    """Start the command with standard error on a pseudo-terminal; gives the process and the terminal's other end."""
    pty, fcntl, termios = (pytest.importorskip(name) for name in ("pty", "fcntl", "termios"))

    def start(folder, *arguments):
        terminal, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))  # 24 lines of 100 letters
        process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=inner,
            text=True,
            # A shell that runs the tests in the background has them ignore Ctrl-C, and so would the command.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        os.close(inner)
        return process, terminal

    return start


@pytest.fixture(scope="session")
def data():
    """Probabilities, true labels and training labels of a small batch."""
    rng = np.random.default_rng(0)
    probabilities = zipf_candidates(200, 60, 10)
    truth = (rng.random((200, 60)) < probabilities.toarray()).astype(np.int8)
    training = (rng.random((500, 60)) < 1 / np.arange(2, 62)).astype(np.int8)
    return SimpleNamespace(probabilities=probabilities, truth=truth, training=training)


@pytest.fixture
def folder(tmp_path, data):
    """A folder with the batch in files; what a test writes is its own."""
    save(tmp_path / "probabilities.npz", data.probabilities)
    save(tmp_path / "truth.npz", data.truth)
    save(tmp_path / "training.npz", data.training)
    return tmp_path


@pytest.fixture
def data_folder(tmp_path):
    """A folder with features and labels of a small problem, for training and for tests."""
    rng = np.random.default_rng(0)
    centres = rng.random((30, 40)) * (rng.random((30, 40)) < 0.2)
    Y = (rng.random((300, 30)) < 1 / np.arange(3, 33)).astype(np.int8)
    X = Y @ centres + 0.1 * rng.random((300, 40)) * (rng.random((300, 40)) < 0.2)
    folder = tmp_path / "data"
    folder.mkdir()
    for name, rows in (("trn", slice(240)), ("tst", slice(240, 300))):
        save(folder / f"X.{name}.npz", X[rows])
        save(folder / f"Y.{name}.npz", Y[rows])
    (folder / "labels.txt").write_text("".join(f"label {j}:\tWörter\n" for j in range(30)), encoding="utf-8")
    return folder
