"""Links and images of README and docs lead somewhere, and every public name has its place in the reference."""

import re

import pytest
from docs.blocks import DOCS, PAGES, ROOT

import tailwise
from tailwise import datasets, errors, utilities

PAGES_WITH_LINKS = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
AUTO = re.compile(r"auto(?:function|class|module):: (\S+)")
DATA = re.compile(r"py:data:: (\S+)\n +:module: (\S+)")


def find_links(text):
    return [link for link in LINK.findall(CODE.sub("", text)) if "://" not in link]


def anchors_of(path):
    """The anchors of a page's headings, as GitHub and MyST make them."""
    headings = HEADING.findall(CODE.sub("", path.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def find_broken(path):
    for link in find_links(path.read_text(encoding="utf-8")):
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            yield link


@pytest.mark.parametrize("path", PAGES_WITH_LINKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path):
    assert list(find_broken(path)) == []


def test_broken_links_are_found(tmp_path):
    (tmp_path / "other.md").write_text("# A `title`, here\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](no.md) ![b](no.png) [c](other.md#nothing) [`d`](other.md#a-title-here) [e](https://example.org)\n"
    )
    assert list(find_broken(page)) == ["no.md", "no.png", "other.md#nothing"]


def public_names():
    yield from (f"tailwise.{name}" for name in tailwise.__all__)
    yield from (f"tailwise.errors.{name}" for name in errors.__all__)
    for module in (utilities, datasets):
        yield from (f"{module.__name__}.{name}" for name in module.__all__ if name not in tailwise.__all__)


def test_public_names_are_in_the_reference():
    text = "".join(page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.md"))
    documented = {*AUTO.findall(text), *(f"{module}.{name}" for name, module in DATA.findall(text))}
    assert sorted(set(public_names()) - documented) == []


@pytest.mark.parametrize("folder", ["concepts", "how-to", "mathematics", "reference"])
def test_every_page_is_linked_from_its_index(folder):
    """Where the pages are read as plain Markdown, a list of contents of the site is no list."""
    links = find_links((DOCS / folder / "index.md").read_text(encoding="utf-8"))
    pages = {path.name for path in (DOCS / folder).glob("*.md")} - {"index.md"}
    assert sorted(pages - set(links)) == []


def test_pages_hold_no_roles_of_sphinx():
    texts = {path: CODE.sub("", path.read_text(encoding="utf-8")) for path in PAGES}
    assert [path.name for path, text in texts.items() if re.search(r"\{\w+\}`", text)] == []


def test_images_are_used():
    texts = "".join(path.read_text(encoding="utf-8") for path in PAGES)
    assert [path.name for path in (DOCS / "figures").glob("*.png") if path.name not in texts] == []
