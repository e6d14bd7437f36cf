"""The charts of the page as Plotly figures, in plain dictionaries. Colours by Okabe and Ito: safe for all eyes."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tailwise.report.framing import frame
from tailwise.report.words import is_share, metric_title

if TYPE_CHECKING:
    from tailwise.models.reliability import Reliability
    from tailwise.report.comparison import BinGain
    from tailwise.report.curve import ReportCurve

__all__ = ["draw_bins", "draw_curve", "draw_expected", "draw_reliability"]

Figure = dict[str, Any]

BLUE, ORANGE, GREEN, RED, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#8a8f98"
OTHERS = (RED, GREEN, "#CC79A7", "#56B4E9", ORANGE, "#555555")
SYMBOLS = ("square", "diamond", "triangle-up", "triangle-down", "cross", "star", "pentagon")
INK, LINES = "#1d2330", "#e6e8ec"
FONT = {"family": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif", "size": 13, "color": INK}
PERCENT = ".2~%"


def draw_curve(curve: ReportCurve) -> Figure:
    """Both utilities along alpha; other selections as points; a ring for what the dial picks, which is trace 1."""
    first, second = metric_title(curve.first), curve.second_title
    digits = ".2%" if is_share(curve.second) else ".4f"
    values = f"{_safe(first)} %{{x:.2%}}<br>{_safe(second)} %{{y:{digits}}}"
    hover = f"alpha %{{customdata}}<br>{values}"
    points = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": "mixtures",
        "x": [point.first for point in curve.points],
        "y": [point.second for point in curve.points],
        "customdata": [point.alpha for point in curve.points],
        "hovertemplate": f"{hover}<extra></extra>",
        "line": {"color": BLUE, "width": 2},
        "marker": {"color": BLUE, "size": 8},
    }
    for axis, name in (("error_x", "first_deviation"), ("error_y", "second_deviation")):
        spread = [getattr(point, name) for point in curve.points]
        if any(spread):
            points[axis] = {"type": "data", "array": [each or 0 for each in spread], "thickness": 1, "color": GREY}
    picked = {
        "type": "scatter",
        "mode": "markers",
        "name": "picked",
        "x": [],
        "y": [],
        "hoverinfo": "skip",
        "marker": {"color": "rgba(0,0,0,0)", "size": 18, "line": {"color": RED, "width": 3}},
    }
    window, outside = frame([(point.first, point.second) for point in curve.points], curve.others)
    others = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": f"{_safe(name)} (outside)" if name in outside else _safe(name),
            "x": [values[0]],
            "y": [values[1]],
            "hovertemplate": f"{_safe(name)}<br>{values}<extra></extra>",
            "marker": {"color": OTHERS[turn % len(OTHERS)], "symbol": SYMBOLS[turn % len(SYMBOLS)], "size": 10},
        }
        for turn, (name, values) in enumerate(curve.others.items())
    ]
    unit = ", percent" if is_share(curve.second) else ""
    layout = _layout(f"{first}, {curve.measured}, percent", f"{second}, {curve.measured}{unit}")
    if not is_share(curve.second):
        layout["yaxis"]["tickformat"] = ""
    for axis, ends in zip(("xaxis", "yaxis"), window or (), strict=False):
        layout[axis]["range"] = list(ends)
    return {"data": [points, picked, *others], "layout": layout}


def draw_bins(bins: Sequence[BinGain], values: Sequence[tuple[float, float]], title: str) -> Figure:
    """Two bars for each bin of labels: the most probable ones, and the selection."""
    traces = [
        {
            "type": "bar",
            "name": name,
            "x": [f"{each.name}<br>{each.training}" for each in bins],
            "y": [pair[number] for pair in values],
            "marker": {"color": colour},
            "hovertemplate": f"%{{x}}<br>{name}: {_safe(title)} %{{y:.2%}}<extra></extra>",
        }
        for number, (name, colour) in enumerate((("most probable", ORANGE), ("this selection", BLUE)))
    ]
    layout = _layout("labels by training instances", f"{title}, percent")
    layout["xaxis"]["tickformat"] = ""
    layout["yaxis"]["rangemode"] = "tozero"
    return {"data": traces, "layout": layout | {"barmode": "group"}}


def draw_expected(pairs: dict[str, tuple[float, float]]) -> Figure:
    """For each metric what was expected and what came true, on one line."""
    names = [metric_title(name) for name in pairs][::-1]
    traces = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "x": [pair[number] for pair in pairs.values()][::-1],
            "y": names,
            "marker": {"color": colour, "symbol": symbol, "size": 11},
            "hovertemplate": f"%{{y}}, {name} %{{x:.2%}}<extra></extra>",
        }
        for number, (name, colour, symbol) in enumerate((("expected", ORANGE, "diamond"), ("realised", BLUE, "circle")))
    ]
    layout = _layout("percent", "")
    layout["yaxis"] |= {"tickformat": "", "type": "category"}
    layout["xaxis"]["rangemode"] = "tozero"
    return {"data": traces, "layout": layout}


def draw_reliability(found: Reliability) -> Figure:
    """What share of the candidates is true, against what their probabilities promise."""
    top = max(max(each.mean_probability, each.share_true) for each in found.bins)
    diagonal = {
        "type": "scatter",
        "mode": "lines",
        "name": "what is promised comes true",
        "x": [0, top],
        "y": [0, top],
        "hoverinfo": "skip",
        "line": {"color": GREY, "width": 1, "dash": "dash"},
    }
    points = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": "this model",
        "x": [each.mean_probability for each in found.bins],
        "y": [each.share_true for each in found.bins],
        "customdata": [each.n_candidates for each in found.bins],
        "hovertemplate": "promised %{x:.2%}<br>true %{y:.2%}<br>%{customdata:,} candidates<extra></extra>",
        "line": {"color": BLUE, "width": 2},
        "marker": {"color": BLUE, "size": 8},
    }
    return {"data": [diagonal, points], "layout": _layout("promised, percent", "true, percent")}


def _layout(x_title: str, y_title: str) -> dict[str, Any]:
    axis = {"gridcolor": LINES, "zeroline": False, "automargin": True, "tickformat": PERCENT, "linecolor": LINES}
    return {
        "xaxis": {**axis, "title": {"text": _safe(x_title), "standoff": 12}},
        "yaxis": {**axis, "title": {"text": _safe(y_title), "standoff": 12}},
        "font": FONT,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 56, "r": 12, "t": 12, "b": 48},
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"},
        "hoverlabel": {"font": {"size": 13}},
        "autosize": True,
    }


def _safe(text: str) -> str:
    """Plotly reads some HTML in its texts; and %{...} in its templates."""
    return html.escape(text, quote=False).replace("%{", "% {")
