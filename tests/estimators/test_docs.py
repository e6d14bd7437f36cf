"""The examples of the pages on label trees and calibration run, one after the other, as a reader would run them."""

import re
import shlex
from pathlib import Path

import pytest

from tailwise.cli.main import main

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(python)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["label-tree.md", "calibration.md"])
def test_examples_run(page, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib").use("agg")
    monkeypatch.chdir(tmp_path)
    names = {}
    blocks = BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))
    assert len(blocks) >= 4
    for language, text in blocks:
        if language == "python":
            exec(compile(text, page, "exec"), names)
        elif (tmp_path / "data").is_dir():  # the page has made the folder that its commands speak of
            for line in text.strip().split("\n"):
                assert main(shlex.split(line)[1:]) == 0, f"{line}: {capsys.readouterr().err}"
