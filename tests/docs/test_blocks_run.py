"""Every Python block and every command of README and docs runs, all in one folder, in the order of the site."""

import pytest
from docs.blocks import (
    FILES_PAGE,
    PAGES,
    ROOT,
    Block,
    check_language,
    find_blocks,
    is_run,
    pages_in_order,
    run_commands,
    run_page,
    without_times,
)

BLOCKS = {path: find_blocks(path.read_text(encoding="utf-8")) for path in PAGES}
IN_ORDER = [ROOT / "README.md", *pages_in_order()]
WITH_BLOCKS = [path for path in IN_ORDER if path != FILES_PAGE and any(map(is_run, BLOCKS[path]))]


@pytest.mark.parametrize("path", WITH_BLOCKS, ids=lambda path: str(path.relative_to(ROOT)))
def test_blocks_run(path, folder):
    """A page neither stumbles over the files of those before it, nor changes them under the reader's hands."""
    before = take_stock(folder)
    assert run_page(path) >= 1
    after = take_stock(folder)
    assert [name for name in before if after.get(name) != before[name]] == []


def take_stock(folder):
    """Every file with what changes when it is written."""
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_ino, path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_blocks_say_what_they_are(path):
    for block in BLOCKS[path]:
        check_language(block)


def test_every_page_has_its_place():
    assert sorted(IN_ORDER) == sorted(PAGES)


def test_pages_with_commands_are_found():
    names = {path.relative_to(ROOT).as_posix() for path in WITH_BLOCKS}
    assert {"README.md", "docs/quick-start.md", "docs/how-to/choose-labels.md", "docs/how-to/calibrate.md"} <= names


# The runner itself


def write(folder, text):
    path = folder / "page.md"
    path.write_text(text, encoding="utf-8")
    return path


def test_blocks_share_their_names(tmp_path):
    page = write(tmp_path, "```python\nx = 2\n```\n\n```python\n>>> x + 1\n3\n```\n\n```python\nassert x == 2\n```\n")
    assert run_page(page) == 3


def test_an_error_names_the_line_of_the_page(tmp_path):
    page = write(tmp_path, "words\n\n```python\nx = 1\n\n1 / 0\n```\n")
    with pytest.raises(ZeroDivisionError) as caught:
        run_page(page)
    assert caught.traceback[-1].lineno + 1 == 6


def test_other_output_than_shown_is_found(tmp_path):
    with pytest.raises(AssertionError, match="Expected:\n    3"):
        run_page(write(tmp_path, "```python\n>>> 1 + 1\n3\n```\n"))


def test_other_output_of_a_command_is_found(tmp_path):
    with pytest.raises(AssertionError, match="line 6: other output"):
        run_page(write(tmp_path, "```sh\ntailwise --version\n```\n\n```output\ntailwise 0.0.0\n```\n"))


def test_times_may_differ():
    assert without_times("in 0.14 s (6 passes)") == without_times("in 12.1 s (6 passes)")


def test_a_command_that_fails_is_found(tmp_path, capsys):
    with pytest.raises(AssertionError, match=r"tailwise evaluate nowhere\.npz"):
        run_page(write(tmp_path, "```sh\ntailwise evaluate nowhere.npz nothing.npz\n```\n"))


def test_other_commands_are_refused():
    with pytest.raises(ValueError, match="'rm' is none of tailwise, pip, make, git"):
        run_commands(Block("sh", "pip install .\nrm -r data\n", 1, False))


@pytest.mark.parametrize("language", ["", "bash", "py", "console"])
def test_blocks_without_a_known_language_are_refused(language):
    with pytest.raises(ValueError, match="a block must say python, sh, output or text"):
        check_language(Block(language, "", 1, False))


def test_only_a_reason_keeps_a_block_from_running():
    text = "<!-- not run: needs the network -->\n```sh\nx\n```\n\n<!-- not run: -->\n```sh\nx\n```\n\n```sh\nx\n```\n"
    assert [is_run(block) for block in find_blocks(text)] == [False, True, True]
