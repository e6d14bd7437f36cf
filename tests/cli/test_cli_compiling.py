"""Whoever runs a command is told when it compiles, how far it is, and that it happens once; also in a log."""

import logging
import sys

import pytest

from tailwise.kernels import compile_time

# Refused after the first kernels, so that little is compiled; messages come at once, and not after seconds.
SELECT = ["select", "probabilities.npz", "-u", "macro-f1", "-k", "61", "-o", "chosen.npz"]
PROGRAM = """
import sys
from tailwise.kernels import compile_time
compile_time.PATIENCE = compile_time.PAUSE = 0.0
from tailwise.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
IMPATIENT = (sys.executable, "-c", PROGRAM)
WORDS = "tailwise: compiling for the first use, 0 s so far. This happens once."


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TAILWISE_QUIET", raising=False)


def test_only_where_something_is_compiled(run_apart, folder):
    assert run_apart(folder, *SELECT, command=IMPATIENT).err.splitlines()[0] == WORDS
    assert run_apart(folder, *SELECT, command=IMPATIENT).err.startswith("tailwise: error: -k must be")


def test_not_where_silence_is_asked_for(run_apart, folder, monkeypatch):
    assert run_apart(folder, *SELECT, "--quiet", command=IMPATIENT).err.startswith("tailwise: error: -k must be")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder / "another"))
    monkeypatch.setenv("TAILWISE_QUIET", "1")
    assert run_apart(folder, *SELECT, command=IMPATIENT).err.startswith("tailwise: error: -k must be")


def test_where_nothing_can_be_kept(run_apart, folder, monkeypatch):
    (folder / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder / "file"))
    first = run_apart(folder, *SELECT, command=IMPATIENT).err.splitlines()[0]
    assert first.endswith(
        "This happens in every process, because no folder for it can be written; see NUMBA_CACHE_DIR."
    )


def test_python_is_notified_by_logging_after_two_seconds(caplog, monkeypatch):
    now = 100.0
    monkeypatch.setattr(compile_time.time, "perf_counter", lambda: now)
    stopwatch = compile_time.Stopwatch()
    with caplog.at_level(logging.INFO, "tailwise"):
        for seconds in (1.5, 1.0, 2.0, 3.0, 0.1):
            stopwatch.on_start(None)
            now += seconds
            stopwatch.on_end(None)
    assert [record.getMessage().partition(" This")[0] for record in caplog.records] == [
        "Compiling for the first use, 2 s so far: 2 of usually 15 to 30 functions.",
        "Compiling for the first use, 8 s so far: 4 of usually 15 to 30 functions.",
    ]
    assert {(record.name, record.levelname) for record in caplog.records} == {("tailwise.compiling", "INFO")}
    assert stopwatch.seconds == pytest.approx(7.6)
