"""The trade-off as a picture in a file."""

import struct
import sys

import numpy as np
import pytest

import tailwise as tw
from tailwise.errors import MissingExtraError
from tailwise.reports.charts import frame
from tailwise.reports.figures import save_trade_off

matplotlib = pytest.importorskip("matplotlib")

TITLE = "What it costs"
OTHERS = {"Top-K": (0.6, 0.1), "Cov": (0.3, 0.2), "Macro-F1": (0.3, 0.3), "Greedy": (0.35, 0.3), "Log-K": (0.5, 0.2)}


@pytest.fixture(scope="module")
def curve():
    probabilities = np.random.default_rng(0).beta(0.3, 2, size=(60, 20))
    return tw.trade_off(probabilities, "precision", "macro-f1", 2, alphas=[0, 0.5, 0.9, 1])


def test_a_png_large_enough_to_read(tmp_path, curve):
    path = tmp_path / "curve.png"
    save_trade_off(path, curve, OTHERS, title=TITLE)
    content = path.read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert content[-8:-4] == b"IEND"
    width, height = struct.unpack(">II", content[16:24])
    assert width > height > 500
    assert len(content) > 10_000


def test_everything_is_named(tmp_path, curve):
    path = tmp_path / "curve.svg"
    with matplotlib.rc_context({"svg.fonttype": "none"}):  # letters as letters, so that they can be read
        save_trade_off(path, curve, OTHERS, title=TITLE)
    content = path.read_text()
    for text in (TITLE, "precision (expected)", "macro-f1 (expected)", "precision + macro-f1, mixed"):
        assert f">{text}<" in content
    for name, (first, second) in OTHERS.items():
        assert f">{name} (outside: {first:.3g}, {second:.3g})<" in content


def test_points_far_away_stand_in_the_legend_only(tmp_path, curve):
    path = tmp_path / "curve.svg"
    first, second = curve.points[0].first, curve.points[0].second
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        save_trade_off(path, curve, {"near": (first, second - 0.02), "far": (first + 9, second)}, title=TITLE)
    assert ">near<" in path.read_text()
    assert f">far (outside: {first + 9:.3g}, {second:.3g})<" in path.read_text()


def test_the_window_holds_the_curve_and_what_is_near():
    curve = [(0.2, 0.1), (0.4, 0.5)]
    (x, y), outside = frame(curve, {"near": (0.05, 0.3), "above": (0.3, 1.0), "left": (-0.01, 0.3)})
    assert x == pytest.approx((0.05 - 0.06 * 0.35, 0.4 + 0.06 * 0.35))
    assert y == pytest.approx((0.1 - 0.06 * 0.4, 0.5 + 0.06 * 0.4))
    assert outside == {"above", "left"}


@pytest.mark.parametrize("curve", [[(0.2, 0.1)], [(0.2, 0.1), (0.2, 0.5)]])
def test_a_curve_without_length_leaves_nothing_out(curve):
    assert frame(curve, {"far": (9.0, 9.0)}) == (None, set())


def test_a_curve_alone(tmp_path, curve):
    save_trade_off(str(tmp_path / "curve.png"), curve, {}, title=TITLE)
    assert (tmp_path / "curve.png").stat().st_size > 10_000


def test_no_window_is_opened(tmp_path, curve):
    from matplotlib import pyplot

    before = pyplot.get_fignums()
    save_trade_off(tmp_path / "curve.png", curve, OTHERS, title=TITLE)
    assert pyplot.get_fignums() == before


def test_without_matplotlib(tmp_path, curve, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(
        MissingExtraError, match=r"matplotlib, which is not installed\. Install it with: pip install 'tailwise\[plot\]'"
    ):
        save_trade_off(tmp_path / "curve.png", curve, OTHERS, title=TITLE)
    assert not list(tmp_path.iterdir())
