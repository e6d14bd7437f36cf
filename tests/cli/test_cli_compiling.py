"""Whoever sits at a terminal is told when a command compiles."""

import os

import pytest

WORDS = "tailwise: compiling for the first use, which takes up to a minute"
# Refused after the first kernels, so that little is compiled.
SELECT = "select probabilities.npz -u macro-f1 -k 61 -o chosen.npz"


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))


def read_terminal(start_on_terminal, folder, words):
    process, terminal = start_on_terminal(folder, *words.split())
    assert process.communicate(timeout=300)[0] == ""
    seen = os.read(terminal, 100_000).decode()
    os.close(terminal)
    return seen


def test_once_and_only_where_something_is_compiled(start_on_terminal, folder):
    assert read_terminal(start_on_terminal, folder, SELECT).split("\r\n")[0] == WORDS
    assert read_terminal(start_on_terminal, folder, SELECT).startswith("tailwise: error: k must be")


def test_not_where_silence_is_asked_for(start_on_terminal, folder):
    assert read_terminal(start_on_terminal, folder, f"{SELECT} --quiet").startswith("tailwise: error: k must be")


def test_not_where_nobody_looks(run, folder):
    assert run(folder, *SELECT.split()).err.startswith("tailwise: error: k must be")
