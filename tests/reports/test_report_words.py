"""Numbers in plain words: a bound never says less than it is."""

import math

import pytest

from tailwise.reports.words import change_text, metric_title, percent, percent_rounded_up


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0 %"), (1.1e-12, "0 %"), (0.0009957, "0.1 %"), (0.01234, "1.3 %"), (0.5, "50 %"), (1.234, "130 %")],
)
def test_bounds_are_rounded_up(share, text):
    assert percent_rounded_up(share) == text.replace(" ", "\u00a0")


@pytest.mark.parametrize("share", [2e-9, 3.3e-5, 0.0123, 0.099999, 0.1, 0.77, 12.0])
def test_a_bound_is_never_below_the_share(share):
    assert float(percent_rounded_up(share).removesuffix("\u00a0%")) >= 100 * share * (1 - 1e-12)


def test_percent():
    assert percent(0.12345) == "12.35\u00a0%"
    assert percent(None) == percent(math.nan) == "\u2013"


@pytest.mark.parametrize(
    ("name", "change", "text"),
    [
        ("macro-f1", 0.0123, "+1.23"),
        ("macro-f1", -0.0123, "\u22121.23"),
        ("macro-f1", -1e-9, "0.00"),
        ("ps-precision(0.55, 1.5)", 0.0123, "+0.0123"),
    ],
)
def test_differences(name, change, text):
    assert change_text(change, name) == text


def test_metrics_as_people_write_them():
    assert metric_title("0.714285714286*macro-f1 + 0.3*coverage") == "0.714*macro-F1 + 0.3*coverage"
    assert metric_title("0.5*precision + 0.5*macro-f1") == "0.5*precision + 0.5*macro-F1"
