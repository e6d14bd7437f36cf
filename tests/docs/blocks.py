"""Reads the code blocks of a page, and runs them as a reader would: one after the other, in one folder."""

import contextlib
import doctest
import io
import re
import shlex
from pathlib import Path
from typing import NamedTuple

from tailwise.cli.main import main

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)]
FILES_PAGE = DOCS / "how-to" / "index.md"  # makes the files that all others use

FENCE = re.compile(r"^(?:```|:::).*", re.MULTILINE)
BLOCK = re.compile(
    r"(?P<mark>^<!-- not run: \S.* -->\n)?^(?P<fence>`{3,}|:{3,})(?P<language>.*)\n(?P<text>(?:.*\n)*?)(?P=fence)$",
    re.MULTILINE,
)
SHOWN = ("text",)  # read, not run
RUN = ("python", "sh", "output")  # output is what the commands before it print
SECONDS = re.compile(r"\d+\.\d+ s\b")
# What a reader types besides `tailwise`; to run these is the business of other tests, or of CI itself.
ALLOWED_COMMANDS = ("pip", "make", "git")


class Block(NamedTuple):
    """A block of a page: its language, its text, the line it begins at, and whether it is marked as not to be run."""

    language: str
    text: str
    line: int
    is_marked: bool


def find_blocks(text):
    """Every fenced block of a page, in order."""
    rest = BLOCK.sub("", text)
    assert not FENCE.search(rest), f"a block does not end: {FENCE.search(rest)[0]}"
    return [
        Block(
            match["language"].strip(), match["text"], text.count("\n", 0, match.start("text")) + 1, bool(match["mark"])
        )
        for match in BLOCK.finditer(text)
    ]


def pages_in_order(path=DOCS / "index.md"):
    """A page, then those of its lists of contents, one after the other, as the site has them."""
    yield path
    for block in find_blocks(path.read_text(encoding="utf-8")):
        if block.language == "{toctree}":
            for page in list_pages(block, path.parent):
                yield from pages_in_order(page)


def list_pages(toctree, folder):
    """The pages that a list of contents names; a star stands for all others of the folder."""
    names = [line for line in toctree.text.split("\n") if line and not line.startswith(":")]
    others = [page.stem for page in sorted(folder.glob("*.md")) if page.stem not in (*names, "index")]
    return [folder / f"{each}.md" for name in names for each in (others if name == "*" else [name])]


def check_language(block):
    """A block is run, shown, or a directive of Sphinx; nothing escapes by having no name."""
    if block.language not in (*RUN, *SHOWN) and not block.language.startswith("{"):
        msg = f"line {block.line}: a block must say python, sh, output or text. Got {block.language!r}."
        raise ValueError(msg)


def is_run(block):
    return block.language in RUN and not block.is_marked


def run_page(path):
    """Run the blocks of a page in the present folder; returns how many there were."""
    blocks = [block for block in find_blocks(path.read_text(encoding="utf-8")) if is_run(block)]
    names, printed = {"__name__": "__main__"}, ""
    for block in blocks:
        if block.language == "sh":
            printed = run_commands(block)
        elif block.language == "output":
            assert without_times(printed) == without_times(block.text), f"line {block.line}: other output"
        elif block.text.lstrip().startswith(">>>"):
            run_session(block, names, path)
        else:
            # Blank lines before, so that a traceback names the line of the page.
            exec(compile("\n" * (block.line - 1) + block.text, str(path), "exec"), names)
    return len(blocks)


def run_session(block, names, path):
    """An interactive session, whose output is compared."""
    session = doctest.DocTestParser().get_doctest(block.text, names, path.name, str(path), block.line - 1)
    report = io.StringIO()
    failed, _ = doctest.DocTestRunner(verbose=False).run(session, out=report.write, clear_globs=False)
    assert failed == 0, report.getvalue()
    names.update(session.globs)


def run_commands(block):
    """Commands of tailwise, in this process; all others must be known. Returns what they print."""
    printed = io.StringIO()
    for line in block.text.replace("\\\n", " ").split("\n"):
        words = shlex.split(line, comments=True)
        if not words or words[0] in ALLOWED_COMMANDS:
            continue
        if words[0] != "tailwise":
            msg = f"line {block.line}: {words[0]!r} is none of tailwise, {', '.join(ALLOWED_COMMANDS)}."
            raise ValueError(msg)
        with contextlib.redirect_stdout(printed):
            assert run_command(words[1:]) == 0, line
    return printed.getvalue()


def without_times(text):
    return SECONDS.sub("? s", text)


def run_command(arguments):
    try:
        return main(arguments)
    except SystemExit as error:  # --help, --version, and a command line that cannot be parsed
        return error.code
