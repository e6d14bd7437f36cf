"""A page for every source file that a page links to.

Pages link to code by its path in the repository, ``[ascent](../../src/tailwise/kernels/row_ascent.py)``, which works in
an editor and on any code host. On the site, the link leads to a page with the file in colours.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from sphinx.addnodes import download_reference
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform

FOLDER = "source"


def page_of(path: Path, root: Path) -> str:
    """The name of the page of a source file."""
    return f"{FOLDER}/{path.relative_to(root).as_posix()}"


class LinksToSource(SphinxTransform):
    """Turn links to Python files, which would be downloads, into links to their pages."""

    default_priority = 500

    def apply(self, **options: Any) -> None:
        root = Path(self.env.srcdir).parent
        linked = source_files(self.env).setdefault(self.env.docname, set())
        for link in list(self.document.findall(download_reference)):
            path = Path(self.env.relfn2path(link["reftarget"], self.env.docname)[1]).resolve()
            if path.suffix != ".py":
                continue
            linked.add(path)
            here = os.path.dirname(self.env.docname) or "."
            target = os.path.relpath(f"{page_of(path, root.resolve())}.html", here)
            link.replace_self(nodes.reference("", "", *link.children, refuri=target, internal=True))


def source_files(env: BuildEnvironment) -> dict[str, set[Path]]:
    """For each page, the source files that it links to; kept with the environment."""
    if not hasattr(env, "linked_source_files"):
        env.linked_source_files = {}
    return env.linked_source_files


def forget_page(app: Sphinx, env: BuildEnvironment, page: str) -> None:
    """A page that is read anew lists its links anew."""
    source_files(env).pop(page, None)


def draw_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Every source file that is linked to, as a page."""
    root = Path(app.srcdir).parent.resolve()
    formatter = HtmlFormatter(linenos=False, cssclass="highlight")
    for path in sorted(set().union(*source_files(app.env).values())):
        name = path.relative_to(root).as_posix()
        code = highlight(path.read_text(encoding="utf-8"), PythonLexer(), formatter)
        body = f'<h1 class="source-file"><code>{escape(name)}</code></h1>\n{code}'
        yield page_of(path, root), {"title": name, "body": body}, "page.html"


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_transform(LinksToSource)
    app.connect("env-purge-doc", forget_page)
    app.connect("html-collect-pages", draw_pages)
    return {"version": "1", "env_version": 1, "parallel_read_safe": False}
