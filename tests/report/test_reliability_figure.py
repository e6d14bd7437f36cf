"""Reliability diagrams as a picture in a file."""

import sys

import numpy as np
import pytest

from tailwise.errors import MissingExtraError
from tailwise.models.reliability import reliability
from tailwise.report.figures import save_reliability

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture
def models():
    rng = np.random.default_rng(0)
    honest = rng.beta(0.4, 2, size=(500, 6))
    truth = rng.random((500, 6)) < honest
    return {"uncalibrated": reliability(honest**2, truth), "calibrated": reliability(honest, truth)}


def test_a_png(tmp_path, models):
    save_reliability(tmp_path / "reliability.png", models, title="What comes true")
    content = (tmp_path / "reliability.png").read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(content) > 10_000


def test_everything_is_named(tmp_path, models):
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        save_reliability(tmp_path / "reliability.svg", models, title="What comes true")
    content = (tmp_path / "reliability.svg").read_text()
    texts = [f"{name} (error {100 * found.error:.2f} %)" for name, found in models.items()]
    for text in (*texts, "What comes true", "share that is true", "perfectly calibrated"):
        assert f">{text}<" in content


def test_no_window_is_opened(tmp_path, models):
    from matplotlib import pyplot

    before = pyplot.get_fignums()
    save_reliability(tmp_path / "reliability.png", models, title="What comes true")
    assert pyplot.get_fignums() == before


def test_without_matplotlib(tmp_path, models, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tailwise\[plot\]'"):
        save_reliability(tmp_path / "reliability.png", models, title="What comes true")
    assert not list(tmp_path.iterdir())
