"""A folder with the files that the pages speak of, made by the page that tells readers how; all pages share it."""

import os

import pytest
from docs.blocks import FILES_PAGE, run_page


@pytest.fixture(scope="session")
def example_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("example-files")
    here = os.getcwd()
    os.chdir(folder)
    try:
        run_page(FILES_PAGE)
    finally:
        os.chdir(here)
    return folder


@pytest.fixture
def folder(example_files, monkeypatch):
    """The folder of all pages, as the present one; pictures are drawn without a screen."""
    monkeypatch.chdir(example_files)
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    yield example_files
    pyplot.close("all")
