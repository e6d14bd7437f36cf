"""The directive ``command-help``: what every command says to ``--help``, asked of the parser when the site is built."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

WIDTH = "96"  # columns; what a page shows without scrolling


def walk(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parser, and those of its commands and of theirs."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in dict.fromkeys(action.choices.values()):
                yield from walk(command)


class CommandHelp(SphinxDirective):
    """One section for each command."""

    def run(self) -> list[nodes.Node]:
        from tailwise.cli.main import _build_parser

        os.environ["COLUMNS"] = WIDTH  # argparse asks the terminal, and a build has none
        return [self._describe(parser) for parser in walk(_build_parser())]

    def _describe(self, parser: argparse.ArgumentParser) -> nodes.section:
        section = nodes.section(ids=[nodes.make_id(parser.prog)])
        section += nodes.title("", "", nodes.literal("", parser.prog))
        section += nodes.literal_block("", parser.format_help(), language="text")
        self.state.document.note_explicit_target(section)
        return section


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("command-help", CommandHelp)
    return {"version": "1", "parallel_read_safe": True}
