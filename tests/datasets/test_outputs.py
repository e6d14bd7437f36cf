"""What commands write never takes the place of what others wrote, and what killed processes leave is removed."""

import multiprocessing
import os
import time

import numpy as np
import pytest

from tailwise.datasets import save
from tailwise.datasets.formats.disk import written_beside
from tailwise.datasets.formats.drafts import LOCK_FILE
from tailwise.datasets.formats.output_files import keep_beside, reserved_file, reserved_files
from tailwise.datasets.formats.output_folders import UNFINISHED, FolderKind, claimed_folder
from tailwise.errors import FileError, InputError

KIND = FolderKind("record", "be of these tests", lambda folder: ["record", "old", "sub/old", "both"])


def files(folder):
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def write(path, content="new"):
    path.parent.mkdir(exist_ok=True)
    with written_beside(path) as file:
        file.write(content.encode())


def write_file(path, *names, meanwhile=lambda draft: None, overwrite=False):
    """Reserve a file, write it and others beside it, and do something else before they move to their places."""
    with reserved_file(path, overwrite=overwrite) as draft:
        for name in (draft.name, *names):
            write(draft.with_name(name))
        meanwhile(draft)


def fill(folder, names=("record", "sub/new", "both"), meanwhile=lambda draft: None, content="new", overwrite=False):
    """The same for a folder."""
    with claimed_folder(folder, KIND, overwrite=overwrite) as draft:
        for name in names:
            write(draft / name, content)
        meanwhile(draft)


def fail(error):
    def raise_error(draft):
        raise error

    return raise_error


# Files


def test_a_file_goes_to_its_place(tmp_path):
    write_file(tmp_path / "a.txt")
    assert files(tmp_path) == {"a.txt": "new"}


@pytest.mark.parametrize("name", ["a.txt", "b.txt"])
def test_a_file_that_came_meanwhile_stays_and_ours_is_kept(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    message = rf"{name} was created or put to use .* in .*kept-a\.txt, .*kept-b\.txt\."
    with pytest.raises(FileError, match=message):
        write_file("a.txt", "b.txt", meanwhile=lambda draft: (tmp_path / name).write_text("thesis"))
    assert files(tmp_path) == {name: "thesis", "kept-a.txt": "new", "kept-b.txt": "new"}


def test_files_written_together_are_kept_together(tmp_path):
    def write_both():
        with reserved_files(tmp_path / "model", tmp_path / "calibrator", overwrite=False) as drafts:
            for draft in drafts:
                write(draft)
            (tmp_path / "calibrator").write_text("thesis")

    with pytest.raises(FileError, match=r"calibrator was created or .* in .*kept-model, .*kept-calibrator\."):
        write_both()
    assert files(tmp_path) == {"calibrator": "thesis", "kept-model": "new", "kept-calibrator": "new"}


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_with_the_name_of_a_draft_leads_nowhere(tmp_path):
    content = tmp_path / "victim" / "content"
    content.mkdir(parents=True)
    (content / "thesis").write_text("thesis")
    os.utime(content.parent, (0, 0))
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / ".tailwise-abc.part").symlink_to(content.parent)
    write_file(folder / "a.txt")
    assert (content / "thesis").read_text() == "thesis"


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_leads_to_the_place(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link.txt").symlink_to(tmp_path / "real" / "a.bin")
    write_file(tmp_path / "link.txt")
    assert (tmp_path / "real" / "a.bin").read_text() == "new"
    assert (tmp_path / "link.txt").is_symlink()


def test_kept_files_have_names_of_their_own(tmp_path):
    for _ in range(3):
        write(tmp_path / "draft")
        kept = keep_beside(tmp_path / "draft", tmp_path / "a.txt")
    assert kept.name == "kept-3-a.txt"
    assert len(files(tmp_path)) == 3


def test_a_folder_that_came_meanwhile_is_not_replaced(tmp_path):
    with pytest.raises(FileError, match=r"The result is in .*kept-a"):
        write_file(tmp_path / "a", meanwhile=lambda draft: (tmp_path / "a").mkdir(), overwrite=True)
    assert files(tmp_path) == {"kept-a": "new"}


@pytest.mark.parametrize("overwrite", [False, True])
def test_only_one_at_a_time_writes_a_file(tmp_path, overwrite):
    path = tmp_path / "a.txt"
    with pytest.raises(FileError, match=r"must not be in use\. Got .*a\.txt, which another process is writing"):
        write_file(path, meanwhile=lambda draft: write_file(path, overwrite=overwrite), overwrite=overwrite)
    assert not files(tmp_path)


def test_without_hard_links_the_name_is_still_taken_alone(tmp_path, monkeypatch):
    def refuse(*arguments):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    write_file(tmp_path / "a")
    with pytest.raises(FileError, match=r"The result is in .*kept-b"):
        write_file(tmp_path / "b", meanwhile=lambda draft: (tmp_path / "b").write_text("theirs"))
    assert files(tmp_path) == {"a": "new", "b": "theirs", "kept-b": "new"}


def test_errors_about_the_draft_speak_of_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def fail_with_path(draft):
        msg = f"{draft} must be"
        raise InputError(msg)

    with pytest.raises(InputError, match=r"^a\.npz must be"):
        write_file("a.npz", meanwhile=fail_with_path)
    assert not list(tmp_path.iterdir())


# Folders


def test_a_folder_is_taken_at_once_and_filled_at_the_end(tmp_path):
    with claimed_folder(tmp_path / "out", KIND) as draft:
        assert sorted(os.listdir(tmp_path / "out")) == [UNFINISHED, LOCK_FILE]
        with pytest.raises(FileExistsError):
            (tmp_path / "out").mkdir()
        (tmp_path / "out" / "thesis").write_text("mine")
        write(draft / "record")
    assert files(tmp_path) == {"out/record": "new", "out/thesis": "mine"}


@pytest.mark.parametrize("overwrite", [False, True])
def test_only_one_at_a_time_writes_a_folder(tmp_path, overwrite):
    path = tmp_path / "out"
    with pytest.raises(FileError, match=r"must not be in use\. Got .*out, which another process is writing"):
        fill(path, meanwhile=lambda draft: fill(path, overwrite=overwrite), overwrite=overwrite)
    assert not list(tmp_path.iterdir())


ERRORS = [KeyboardInterrupt(), ValueError("no"), OSError(28, "No space left on device")]


@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_a_failure_leaves_nothing(tmp_path, error):
    with pytest.raises(type(error)):
        fill(tmp_path / "out", meanwhile=fail(error))
    assert not list(tmp_path.iterdir())


def test_after_a_failure_next_to_other_files_the_next_try_continues(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        fill(
            tmp_path / "out",
            meanwhile=lambda draft: (
                (tmp_path / "out" / "thesis").write_text("mine") and fail(KeyboardInterrupt())(draft)
            ),
        )
    assert files(tmp_path / "out").keys() == {"thesis", UNFINISHED}
    fill(tmp_path / "out", ("record",))
    assert files(tmp_path / "out") == {"thesis": "mine", "record": "new"}


@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_a_failure_leaves_the_earlier_folder(tmp_path, error):
    fill(tmp_path / "out")
    with pytest.raises(type(error)):
        fill(tmp_path / "out", content="newer", meanwhile=fail(error), overwrite=True)
    assert files(tmp_path) == {"out/record": "new", "out/sub/new": "new", "out/both": "new"}


def test_replacing_removes_what_was_written_and_nothing_else(tmp_path):
    fill(tmp_path / "out", ("record", "old", "sub/old", "both"))
    (tmp_path / "out" / "thesis").write_text("mine")
    fill(tmp_path / "out", ("both", "record", "fresh"), content="newer", overwrite=True)
    assert files(tmp_path / "out") == {**dict.fromkeys(("both", "record", "fresh"), "newer"), "thesis": "mine"}
    assert not (tmp_path / "out" / "sub").exists()


def test_a_file_of_others_in_the_way_stays_and_the_result_is_kept(tmp_path):
    with pytest.raises(
        FileError, match=r"place: .*out.both was created in the meantime.* The result is in .*kept-out\."
    ):
        fill(
            tmp_path / "out",
            ("both", "record"),
            meanwhile=lambda draft: (tmp_path / "out" / "both").write_text("mine"),
        )
    assert files(tmp_path) == {"out/both": "mine", "kept-out/both": "new", "kept-out/record": "new"}


def test_another_folder_that_came_in_place_of_ours_stays(tmp_path):
    def replace_folder(draft):
        (tmp_path / "out").rename(tmp_path / "moved")
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "thesis").write_text("mine")

    with pytest.raises(FileError, match=r"place: .*out was created in the meantime.* The result is in .*kept-out\."):
        fill(tmp_path / "out", ("record",), meanwhile=replace_folder)
    assert files(tmp_path / "out") == {"thesis": "mine"}
    assert files(tmp_path / "kept-out") == {"record": "new"}


@pytest.mark.parametrize("overwrite", [False, True])
def test_folders_of_others_are_not_touched(tmp_path, overwrite):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis").write_text("mine")
    with pytest.raises(FileError, match=r"or be of these tests, with record\. Got .*out, which holds other files"):
        fill(tmp_path / "out", overwrite=overwrite)
    assert files(tmp_path) == {"out/thesis": "mine"}


def test_a_finished_folder_is_replaced_only_when_asked_for(tmp_path):
    fill(tmp_path / "out")
    with pytest.raises(
        FileError, match=r"must not exist\. Got .*out, which exists\. Use overwrite=True \(--overwrite\) to replace it"
    ):
        fill(tmp_path / "out")


# Killed processes


def hold_on(action, path, ready):
    with action(path) as draft:
        write(draft if action is reserve else draft / "both", "half")
        ready.set()
        time.sleep(600)


def reserve(path):
    return reserved_file(path, overwrite=False)


def claim(path):
    return claimed_folder(path, KIND)


@pytest.fixture
def kill_while():
    """Start a process that writes, kill it in the middle, and give what it leaves to the test."""

    def kill(action, path):
        context = multiprocessing.get_context("fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn")
        ready = context.Event()
        process = context.Process(target=hold_on, args=(action, path, ready))
        process.start()
        ready.wait()
        process.kill()
        process.join()

    return kill


def test_what_a_killed_process_left_is_removed_by_the_next_write(tmp_path, kill_while):
    kill_while(reserve, tmp_path / "a.txt")
    assert [path.suffix for path in tmp_path.iterdir()] == [".part"]
    save(tmp_path / "other.npz", np.eye(2))
    assert os.listdir(tmp_path) == ["other.npz"]


def test_the_draft_of_a_living_process_stays(tmp_path):
    with reserved_file(tmp_path / "a.txt", overwrite=False) as draft:
        write(draft)
        save(tmp_path / "other.npz", np.eye(2))
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "other.npz"]


def test_a_folder_that_a_killed_process_left_is_taken_over(tmp_path, kill_while):
    kill_while(claim, tmp_path / "out")
    (tmp_path / "out" / "thesis").write_text("mine")
    fill(tmp_path / "out")
    assert files(tmp_path) == {"out/record": "new", "out/sub/new": "new", "out/both": "new", "out/thesis": "mine"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("stop", range(1, 6))
def test_a_process_killed_between_two_moves(tmp_path, monkeypatch, stop):
    """However far the moves had come, the folder is marked, and the next process replaces what was moved."""
    fill(tmp_path / "out", ("record", "old", "both"))
    (tmp_path / "out" / "thesis").write_text("mine")
    real, calls = os.replace, []

    class Killed(BaseException):
        pass

    def replace(source, target):
        calls.append(target)
        if len(calls) > stop + 3:  # the first writes the files, and the mark
            raise Killed
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(Killed):
        fill(tmp_path / "out", ("a", "b", "c", "record"), content="newer", overwrite=True)
    monkeypatch.setattr(os, "replace", real)
    if (tmp_path / "out" / "record").exists():  # killed before the first move
        assert (tmp_path / "out" / "record").read_text() == "new"
    else:
        assert (tmp_path / "out" / UNFINISHED).exists()
    fill(tmp_path / "out", overwrite=True)
    assert files(tmp_path / "out") == {"record": "new", "sub/new": "new", "both": "new", "thesis": "mine"}


@pytest.mark.parametrize("content", ["", "{}", "[1, null]", "[" * 100_000, '["../../evil", "/etc/evil", "thesis/.."]'])
def test_a_damaged_mark_leads_nowhere(tmp_path, content):
    (tmp_path / "evil").write_text("mine")
    (tmp_path / "in" / "out").mkdir(parents=True)
    (tmp_path / "in" / "out" / UNFINISHED).write_text(content)
    fill(tmp_path / "in" / "out")
    assert (tmp_path / "evil").read_text() == "mine"
    assert files(tmp_path / "in" / "out").keys() == {"record", "sub/new", "both"}


def test_a_folder_in_the_place_of_a_file_leaves_the_finished_one(tmp_path):
    out = tmp_path / "out"
    fill(out)
    (out / "both").unlink()
    (out / "both").mkdir()
    with pytest.raises(FileError, match=r"both was created in the meantime. .* The result is in .*kept-out"):
        fill(out, content="newer", overwrite=True)
    assert (out / "record").read_text() == "new"
    assert files(tmp_path / "kept-out") == {"record": "newer", "sub/new": "newer", "both": "newer"}


def test_a_mark_that_leads_outside_removes_nothing(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / UNFINISHED).write_text('["../empty/x"]')
    fill(tmp_path / "out")
    assert (tmp_path / "empty").is_dir()
