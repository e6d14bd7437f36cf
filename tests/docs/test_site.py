"""The site builds without a warning, and shows what it should."""

import subprocess
import sys

import pytest
from docs.blocks import DOCS


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    for package in ("sphinx", "myst_parser", "numpydoc", "furo"):
        pytest.importorskip(package, reason="the site needs the extra [docs]")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", str(DOCS), str(folder)]
    done = subprocess.run([*command, "-d", str(folder / ".doctrees")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_docstrings_are_in_the_reference(site):
    page = (site / "reference" / "selecting.html").read_text(encoding="utf-8")
    assert 'id="tailwise.select"' in page
    assert "Choose k labels for each instance" in page


def test_every_command_is_in_the_reference(site):
    page = (site / "reference" / "command-line.html").read_text(encoding="utf-8")
    for command in ("select", "evaluate", "train", "predict", "run", "data-get", "demo"):
        assert f'id="tailwise-{command}"' in page


def test_links_to_code_lead_to_pages_with_it(site):
    page = (site / "mathematics" / "ascent.html").read_text(encoding="utf-8")
    assert 'href="../source/src/tailwise/kernels/row_ascent.py.html"' in page
    code = (site / "source" / "src" / "tailwise" / "kernels" / "row_ascent.py.html").read_text(encoding="utf-8")
    assert "find_best_labels" in code


@pytest.mark.parametrize("name", ["mathematics/theory", "reference/theory", "reference/utilities"])
def test_the_index_of_a_letter_with_a_hat_stands_beside_it(site, name):
    page = (site / f"{name}.html").read_text(encoding="utf-8")
    assert "\u02c6</mo>" in page
    assert "<munderover>" not in page
