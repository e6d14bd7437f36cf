"""Figures as files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tailwise.errors import MissingExtraError

if TYPE_CHECKING:
    from tailwise.experiments import Curve

__all__ = ["save_trade_off"]

_MARKERS = "osD^vP"


def save_trade_off(
    path: str | os.PathLike, curve: Curve, others: Mapping[str, tuple[float, float]], *, title: str
) -> None:
    """Draw a trade-off curve with other selections as points.

    Parameters
    ----------
    path : path
        Where to write; the suffix decides the format (.png, .svg).
    curve : Curve
        The trade-off.
    others : mapping
        Name to (first, second) values of other selections.
    title : str
        What is shown, above the axes.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        msg = "A picture needs matplotlib, which is not installed. Run: pip install 'tailwise[plot]'"
        raise MissingExtraError(msg) from error
    figure = Figure(figsize=(8.5, 5), layout="constrained")
    axes = figure.add_subplot()
    curve.plot(axes)
    for turn, (name, (first, second)) in enumerate(others.items()):
        axes.plot(first, second, _MARKERS[turn % len(_MARKERS)], color=f"C{turn + 1}", label=name)
    axes.set_title(title, loc="left", fontsize=11)
    axes.grid(color="0.92")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path, dpi=144)
