"""Trade-off curves as image files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailwise.datasets.formats.disk import written_beside
from tailwise.errors import extra_needed
from tailwise.reports.charts import frame

if TYPE_CHECKING:
    from tailwise.experiments import Curve
    from tailwise.experiments.results import MeanCurve

_MARKERS = "osD^vP"
_COLOURS = [f"C{number}" for number in (1, 3, 4, 5, 6, 7, 8, 9, 0)]  # C2, the green, is for curves


def save_trade_off(
    path: str | os.PathLike, curve: Curve, others: Mapping[str, tuple[float, float]], *, title: str
) -> None:
    """Draw a trade-off curve with other selections as points; the suffix determines the format (.png, .svg)."""
    figure = _new_figure(8.5, 5)
    axes = figure.add_subplot()
    curve.plot(axes)
    _add_others(axes, [(point.first, point.second) for point in curve.points], others)
    _dress(axes, title)
    _save(figure, path)


def save_mean_curve(paths: Sequence[str | os.PathLike], curve: MeanCurve) -> None:
    """Draw an averaged trade-off curve with error bars, and other strategies as points, to one or more files."""
    figure = _new_figure(8.5, 5)
    axes = figure.add_subplot()
    columns = ("first", "second", "first_deviation", "second_deviation")
    first, second, across, along = ([100 * (getattr(point, name) or 0.0) for point in curve.points] for name in columns)
    axes.errorbar(
        first, second, xerr=across, yerr=along, marker="o", markersize=4, color="C2", capsize=2, label="mixed"
    )
    others = {name: (100 * one, 100 * two) for name, (one, two) in curve.others.items()}
    _add_others(axes, list(zip(first, second, strict=True)), others)
    axes.set_xlabel(f"{curve.first} @{curve.k}, percent")
    axes.set_ylabel(f"{curve.second} @{curve.k}, percent")
    _dress(axes, curve.title)
    for path in paths:
        _save(figure, path)


def check_drawing() -> None:
    """Refuse to draw without matplotlib; call it before long computations."""
    _new_figure(1, 1)


def _new_figure(width: float, height: float) -> Any:
    with extra_needed("Figures need matplotlib", "'tailwise[plot]'"):
        from matplotlib.figure import Figure
    return Figure(figsize=(width, height), layout="constrained")


def _save(figure: Any, path: str | os.PathLike) -> None:
    with written_beside(path) as file:
        figure.savefig(file, dpi=144, format=Path(path).suffix.removeprefix("."))


def _add_others(axes: Any, curve: Sequence[tuple[float, float]], others: Mapping[str, tuple[float, float]]) -> None:
    """Draw other selections as points; those far from the curve appear only in the legend, with their values."""
    window, outside = frame(curve, others)
    for turn, (name, (first, second)) in enumerate(others.items()):
        color = _COLOURS[turn % len(_COLOURS)]
        label = f"{name} (outside: {first:.3g}, {second:.3g})" if name in outside else name
        axes.plot(first, second, _MARKERS[turn % len(_MARKERS)], color=color, label=label)
    if window is not None:
        axes.set(xlim=window[0], ylim=window[1])
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _dress(axes: Any, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=11, parse_math=False)  # folder names may contain a dollar sign
    axes.grid(color="0.92")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
