"""Formulas as MathML, which browsers draw by themselves: the site needs neither a network nor scripts for them."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml, pick_math_environment
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

# docutils puts the index of a letter with an accent under it, like the limits of a sum. An empty group beside the
# letter keeps the index where it belongs.
ACCENTED = re.compile(r"(\\(?:hat|bar|tilde)\s*(?:\{[^{}]*\}|\\[A-Za-z]+|[A-Za-z]))(?=\s*[_^])")


def translate(node: nodes.math | nodes.math_block, *, as_block: bool) -> str:
    """The formula as MathML; a warning and its source where docutils does not know a command."""
    source = ACCENTED.sub(r"{{}\1}", node.astext().strip())
    if as_block and pick_math_environment(source) == "align*":  # several lines
        source = rf"\begin{{align*}}{source}\end{{align*}}"
    try:
        return latex2mathml.tex2mathml(source, as_block=as_block)
    except MathError as error:
        logger.warning("formula %r: %s", node.astext(), error, location=node)
        return f"<code>{node.astext()}</code>"


def visit_inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(translate(node, as_block=False))
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="formula">{translate(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"version": "1", "parallel_read_safe": True}
