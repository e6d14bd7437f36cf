"""The charts of a report as Plotly figures in plain dictionaries, with colour-blind safe colours by Okabe and Ito."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tailwise.reports.words import is_share, metric_title, short_title

if TYPE_CHECKING:
    from tailwise.experiments.results import MeanCurve
    from tailwise.models.reliability import Reliability
    from tailwise.reports.comparison import BinGain

Figure = dict[str, Any]
Point = tuple[float, float]
Window = tuple[tuple[float, float], tuple[float, float]]  # the ranges of both axes

BLUE, ORANGE, GREEN, RED, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#8a8f98"
OTHERS = (RED, GREEN, "#CC79A7", "#56B4E9", ORANGE, "#7a7f87")
SYMBOLS = ("square", "diamond", "triangle-up", "triangle-down", "cross", "star", "pentagon")
FONT = {"family": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif", "size": 13}
PERCENT = ".2~%"
REACH = 1.0  # largest distance from the curve at which other points are drawn, in lengths of the curve ...
LEAST_REACH = 0.1  # ... but at least this fraction of its largest value
MARGIN = 0.06


def draw_curve(curve: MeanCurve) -> Figure:
    """Draw both utilities along alpha, other selections as points, and a ring (trace 1) for the choice of the dial."""
    first, second = _safe(metric_title(curve.first)), _safe(short_title(curve.second))
    digits = ".2%" if is_share(curve.second) else ".4f"
    values = f"{first} %{{x:.2%}}<br>{second} %{{y:{digits}}}<extra></extra>"
    window, outside = frame([(point.first, point.second) for point in curve.points], curve.others)
    ring = _points("best choice", [], [], color="rgba(0,0,0,0)", size=18, line={"color": RED, "width": 3})
    others = [
        _points(
            f"{_safe(name)} (outside)" if name in outside else _safe(name),
            *([value] for value in pair),
            color=OTHERS[turn % len(OTHERS)],
            symbol=SYMBOLS[turn % len(SYMBOLS)],
            size=10,
        )
        | {"hovertemplate": f"{_safe(name)}<br>{values}"}
        for turn, (name, pair) in enumerate(curve.others.items())
    ]
    layout = _layout(f"{first} ({curve.measured})", f"{second} ({curve.measured})")
    if not is_share(curve.second):
        layout["yaxis"]["tickformat"] = ""
    for axis, ends in zip(("xaxis", "yaxis"), window or (), strict=False):
        layout[axis]["range"] = list(ends)
    return {"data": [_line(curve, values), ring | {"hoverinfo": "skip"}, *others], "layout": layout}


def _line(curve: MeanCurve, values: str) -> Figure:
    """Draw the points of the mixtures, with error bars if they have deviations."""
    x, y = [point.first for point in curve.points], [point.second for point in curve.points]
    alphas = [point.alpha for point in curve.points]
    trace = _points("mixtures", x, y, color=BLUE, size=8)
    trace |= {"customdata": alphas, "hovertemplate": f"alpha %{{customdata}}<br>{values}"}
    for axis, name in (("error_x", "first_deviation"), ("error_y", "second_deviation")):
        spread = [getattr(point, name) for point in curve.points]
        if any(spread):
            trace[axis] = {"type": "data", "array": [each or 0 for each in spread], "thickness": 1, "color": GREY}
    return trace | {"mode": "lines+markers", "line": {"color": BLUE, "width": 2}}


def draw_bins(bins: Sequence[BinGain], values: Sequence[Point], title: str) -> Figure:
    """Draw two bars for each bin of labels: the most probable labels and the selection."""
    traces = [
        {
            "type": "bar",
            "name": name,
            "x": [f"{each.name}<br>{each.training}" for each in bins],
            "y": [pair[number] for pair in values],
            "marker": {"color": colour},
            "hovertemplate": f"%{{x}}<br>{name}: {title} %{{y:.2%}}<extra></extra>",
        }
        for number, (name, colour) in enumerate((("most probable", ORANGE), ("this selection", BLUE)))
    ]
    layout = _layout("training instances per label", title)
    layout["xaxis"]["tickformat"] = ""
    layout["yaxis"]["rangemode"] = "tozero"
    return {"data": traces, "layout": layout | {"barmode": "group"}}


def draw_expected(pairs: Mapping[str, Point]) -> Figure:
    """Draw the expected and the realised value of each metric on one line."""
    names = [metric_title(name) for name in pairs][::-1]
    traces = [
        _points(name, [pair[number] for pair in pairs.values()][::-1], names, color=colour, symbol=symbol, size=11)
        | {"hovertemplate": f"%{{y}}, {name} %{{x:.2%}}<extra></extra>"}
        for number, (name, colour, symbol) in enumerate((("expected", ORANGE, "diamond"), ("realised", BLUE, "circle")))
    ]
    layout = _layout("value", "")
    layout["yaxis"] |= {"tickformat": "", "type": "category"}
    layout["xaxis"]["rangemode"] = "tozero"
    return {"data": traces, "layout": layout}


def draw_reliability(found: Reliability) -> Figure:
    """Draw the fraction of true candidates against their mean probability."""
    x, y = [each.mean_probability for each in found.bins], [each.share_true for each in found.bins]
    diagonal = _points("perfectly calibrated", [0, max(*x, *y)], [0, max(*x, *y)]) | {"mode": "lines"}
    diagonal |= {"hoverinfo": "skip", "line": {"color": GREY, "width": 1, "dash": "dash"}}
    points = _points("this model", x, y, color=BLUE, size=8) | {
        "mode": "lines+markers",
        "customdata": [each.n_candidates for each in found.bins],
        "hovertemplate": "probability %{x:.2%}<br>true %{y:.2%}<br>%{customdata:,} candidates<extra></extra>",
        "line": {"color": BLUE, "width": 2},
    }
    return {"data": [diagonal, points], "layout": _layout("mean probability", "fraction that is true")}


def frame(curve: Iterable[Point], others: Mapping[str, Point]) -> tuple[Window | None, set[str]]:
    """Return the axis ranges for a trade-off curve, and the names of other points outside of them.

    A distant point would squeeze the curve into a corner. If the curve has no length, there are no ranges, and no point
    is outside.
    """
    ends = [(min(axis), max(axis)) for axis in zip(*curve, strict=True)]
    if any(low == high for low, high in ends):
        return None, set()
    near = {name: point for name, point in others.items() if _is_near(point, ends)}
    drawn = [(*pair, *(point[axis] for point in near.values())) for axis, pair in enumerate(ends)]
    x, y = (_widen(min(values), max(values)) for values in drawn)
    return (x, y), set(others) - set(near)


def _is_near(point: Point, ends: list[Point]) -> bool:
    reaches = [max(REACH * (high - low), LEAST_REACH * abs(high)) for low, high in ends]
    return all(
        low - reach <= value <= high + reach for value, (low, high), reach in zip(point, ends, reaches, strict=True)
    )


def _widen(low: float, high: float) -> Point:
    return low - MARGIN * (high - low), high + MARGIN * (high - low)


def _points(name: str, x: Sequence[Any], y: Sequence[Any], **marker: Any) -> Figure:
    return {"type": "scatter", "mode": "markers", "name": name, "x": x, "y": y, "marker": marker}


def _layout(x_title: str, y_title: str) -> dict[str, Any]:
    """Return the common layout; page.js adds the colours of text and grid, which depend on the reader's theme."""
    axis = {"zeroline": False, "automargin": True, "tickformat": PERCENT}
    return {
        "xaxis": {**axis, "title": {"text": x_title, "standoff": 12}},
        "yaxis": {**axis, "title": {"text": y_title, "standoff": 12}},
        "font": FONT,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 56, "r": 12, "t": 12, "b": 48},
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"},
        "hoverlabel": {"font": {"size": 13}},
        "autosize": True,
    }


def _safe(text: str) -> str:
    """Escape text for Plotly, which interprets HTML in texts and %{...} in templates."""
    return html.escape(text, quote=False).replace("%{", "% {")
