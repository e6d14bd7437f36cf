"""The few building blocks of the page: sections, tables, and places for charts. All text is escaped here."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Page", "Section", "chart_box", "code_block", "details", "paragraph", "text_table"]


@dataclass(frozen=True)
class Section:
    """A part of the page.

    Attributes
    ----------
    anchor, title : str
        Its place in the table of contents.
    body : str
        HTML.
    charts : dict of str to dict
        Plotly figures by the names of their boxes in the body.
    curves : dict of str to dict
        What the dials choose from, by the names of their charts.
    """

    anchor: str
    title: str
    body: str
    charts: dict[str, dict[str, Any]] = field(default_factory=dict)
    curves: dict[str, dict[str, Any]] = field(default_factory=dict)

    def to_html(self) -> str:
        """The section with its heading."""
        anchor, title = html.escape(self.anchor), html.escape(self.title)
        return f'<section id="{anchor}">\n<h2>{title}</h2>\n{self.body}\n</section>'


@dataclass(frozen=True)
class Page:
    """Everything that the skeleton is filled with: a title, a line below it, and the sections."""

    title: str
    subtitle: str
    sections: Sequence[Section]


def paragraph(text: str, *, kind: str = "") -> str:
    """Text as a paragraph, of a class where one is given."""
    attribute = f' class="{html.escape(kind)}"' if kind else ""
    return f"<p{attribute}>{html.escape(text)}</p>"


def text_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, caption: str = "", words: Sequence[int] = (0,)
) -> str:
    """A table that scrolls in its box; the columns listed in `words` hold words, the others numbers."""
    head = "".join(f'<th scope="col"{_kind(c, words)}>{html.escape(text)}</th>' for c, text in enumerate(headings))
    lines = []
    for row in rows:
        first = f'<th scope="row">{html.escape(row[0])}</th>'
        rest = (f"<td{_kind(c, words)}>{html.escape(text)}</td>" for c, text in enumerate(row[1:], start=1))
        lines.append(f"<tr>{first}{''.join(rest)}</tr>")
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    body = "\n".join(lines)
    return f'<div class="scroll"><table>{title}<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>'


def _kind(column: int, words: Sequence[int]) -> str:
    return ' class="words"' if column in words else ""


def chart_box(name: str, description: str, *, kind: str = "chart") -> str:
    """The place where a chart is drawn; the description is what a screen reader says."""
    name, description = html.escape(name), html.escape(description)
    return f'<div class="{kind}" id="chart-{name}" data-chart="{name}" role="img" aria-label="{description}"></div>'


def code_block(text: str) -> str:
    """Text as it is, for commands and records."""
    return f"<pre><code>{html.escape(text)}</code></pre>"


def details(title: str, body: str) -> str:
    """Something that is folded away until it is asked for."""
    return f"<details><summary>{html.escape(title)}</summary>\n{body}\n</details>"
