"""A folder with the files that the pages speak of, made by the page that tells readers how."""

import os
import shutil

import pytest
from docs.blocks import DOCS, run_page


@pytest.fixture(scope="session")
def example_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("example-files")
    here = os.getcwd()
    os.chdir(folder)
    try:
        run_page(DOCS / "how-to" / "index.md")
    finally:
        os.chdir(here)
    return folder


@pytest.fixture
def folder(tmp_path, example_files, monkeypatch):
    """A copy of the files, as the present folder; pictures are drawn without a screen."""
    shutil.copytree(example_files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    yield tmp_path
    pyplot.close("all")
