"""Colours for commands: those of a shell would take ``tailwise select`` for a keyword of its own."""

from __future__ import annotations

from typing import Any, ClassVar

from pygments.lexer import RegexLexer
from pygments.token import Comment, Name, Punctuation, String, Text, Whitespace
from sphinx.application import Sphinx


class CommandLexer(RegexLexer):
    """One command a line: its options, what is quoted, and comments."""

    name = "Commands"
    tokens: ClassVar = {
        "root": [
            (r"#.*", Comment),
            (r"'[^']*'|\"[^\"]*\"", String),
            (r"(?<=\s)--?[\w-]+", Name.Attribute),
            (r"\\\n", Punctuation),
            (r"\s+", Whitespace),
            (r"[^\s]+", Text),
        ]
    }


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_lexer("sh", CommandLexer)
    return {"version": "1", "parallel_read_safe": True}
