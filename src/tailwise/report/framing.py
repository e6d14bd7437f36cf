"""The part of the plane that a trade-off is drawn on: the curve, and what lies near it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

__all__ = ["frame"]

Point = tuple[float, float]
Window = tuple[tuple[float, float], tuple[float, float]]  # the ends of either axis

REACH = 1.0  # how far from the curve another point may lie to be drawn, in lengths of the curve ...
LEAST_REACH = 0.1  # ... and in any case, as a share of its largest value
MARGIN = 0.06


def frame(curve: Iterable[Point], others: Mapping[str, Point]) -> tuple[Window | None, set[str]]:
    """The window, and the names of the other points that it leaves out.

    One far point would squeeze the curve into a corner. Where the curve has no length, nothing is left out, and there
    is no window.
    """
    ends = [(min(axis), max(axis)) for axis in zip(*curve, strict=True)]
    if any(low == high for low, high in ends):
        return None, set()
    near = {name: point for name, point in others.items() if _is_near(point, ends)}
    drawn = [(*pair, *(point[axis] for point in near.values())) for axis, pair in enumerate(ends)]
    x, y = (_widen(min(values), max(values)) for values in drawn)
    return (x, y), set(others) - set(near)


def _is_near(point: Point, ends: list[tuple[float, float]]) -> bool:
    reaches = [max(REACH * (high - low), LEAST_REACH * abs(high)) for low, high in ends]
    return all(
        low - reach <= value <= high + reach for value, (low, high), reach in zip(point, ends, reaches, strict=True)
    )


def _widen(low: float, high: float) -> tuple[float, float]:
    return low - MARGIN * (high - low), high + MARGIN * (high - low)
