"""A trade-off curve on the page, with the dial below it."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from tailwise.report.framing import frame
from tailwise.report.markup import chart_box, paragraph
from tailwise.report.words import metric_title, percent

if TYPE_CHECKING:
    from tailwise.report.curve import ReportCurve

__all__ = ["curve_block"]

FIRST_DROP = 5  # percent: where the dial stands at first


def curve_block(curve: ReportCurve) -> str:
    """The place of the chart and the dial; page.js fills both."""
    first, second = html.escape(metric_title(curve.first)), html.escape(curve.second_title)
    highest = html.escape(percent(curve.highest))
    name = html.escape(curve.name)
    chart = chart_box(curve.name, f"Trade-off curve of {curve.first} and {curve.second}, {curve.measured} values")
    _, outside = frame([(point.first, point.second) for point in curve.points], curve.others)
    if outside:
        chart += paragraph(
            "What is marked outside lies too far away to be drawn; a double click shows it.", kind="note"
        )
    return f"""{chart}
<div class="dial" data-dial="{name}">
<label for="dial-{name}">
<span>Largest drop of {first} you accept, from {highest}</span> <output data-show="drop"></output>
</label>
<input type="range" id="dial-{name}" min="0" max="100" step="1" value="{FIRST_DROP}">
<p class="picked" aria-live="polite">Take alpha <strong data-show="alpha"></strong>: {first}
<strong data-show="first"></strong>, {second} <strong data-show="second"></strong>.</p>
<pre><code data-show="command"></code></pre>
<pre><code data-show="python"></code></pre>
</div>"""
