"""The programs in examples/ run, and say something."""

import runpy

import pytest
from docs.blocks import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(path)])
    monkeypatch.setenv("MPLBACKEND", "agg")
    runpy.run_path(str(path), run_name="__main__")
    assert len(capsys.readouterr().out.split("\n")) > 3


def test_examples_are_found():
    assert len(EXAMPLES) >= 4
