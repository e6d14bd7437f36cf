"""A file is there whole or not at all, and a path that cannot be written is refused before the work."""

import os
import stat

import numpy as np
import pytest

from tailwise.datasets import check_writable_target, load, save
from tailwise.datasets.formats.disk import written_beside
from tailwise.errors import FileError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.npz"


@pytest.fixture(params=[check_writable_target, lambda path: save(path, np.eye(2))], ids=["check", "save"])
def use(request):
    return request.param


def fail_halfway(error):
    def write(file, **arrays):
        file.write(b"half of it")
        raise error

    return write


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1), ValueError("no"), MemoryError()], ids=repr)
def test_a_failure_leaves_the_old_file_and_nothing_else(path, monkeypatch, error):
    save(path, np.eye(2))
    monkeypatch.setattr(np, "savez", fail_halfway(error))
    with pytest.raises(type(error)):
        save(path, np.eye(3))
    assert os.listdir(path.parent) == ["a.npz"]
    assert load(path).shape == (2, 2)


def test_a_full_disk(path, monkeypatch):
    monkeypatch.setattr(np, "savez", fail_halfway(OSError(28, "No space left on device")))
    with pytest.raises(FileError, match=r"a\.npz could not be written: No space left on device\. The file system at /"):
        save(path, np.eye(3))
    assert not os.listdir(path.parent)


def test_a_failed_move(path, monkeypatch):
    def refuse(source, target):
        msg = "the move failed"
        raise OSError(msg)

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(FileError, match="could not be written: the move failed"):
        save(path, np.eye(3))
    assert not os.listdir(path.parent)


def test_the_draft_lies_beside_the_target(path):
    with written_beside(path) as file:
        file.write(b"content")
        assert not path.exists()
        assert len(os.listdir(path.parent)) == 1
    assert os.listdir(path.parent) == ["a.npz"]
    assert path.read_bytes() == b"content"


def test_a_new_file_has_the_usual_permissions(path):
    usual = path.with_name("usual")
    usual.touch()
    save(path, np.eye(2))
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)


@pytest.mark.skipif(os.name == "nt", reason="links need a right that users of Windows seldom have")
def test_a_link_stays_a_link(path):
    link = path.with_name("link.npz")
    link.symlink_to(path)
    save(link, np.eye(2))
    assert link.is_symlink()
    assert load(path).shape == (2, 2)


def test_a_relative_path_lies_in_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_writable_target("a.npz")
    save("a.npz", np.eye(2))
    assert os.listdir(tmp_path) == ["a.npz"]


def test_the_check_writes_nothing(path):
    check_writable_target(path)
    assert not os.listdir(path.parent)


def test_no_such_folder(path, use):
    with pytest.raises(
        FileError, match=r"must lie in a folder that exists\. Got .*b\.npz, but .* is not a folder\. Create"
    ):
        use(path.parent / "missing" / "b.npz")


def test_a_file_as_folder(path, use):
    path.touch()
    with pytest.raises(FileError, match=r"is not a folder\. Create it first"):
        use(path / "b.npz")


def test_a_directory_as_target(path, use):
    path.mkdir()
    with pytest.raises(
        FileError, match=r"path must name a file\. Got .*, which is a directory\. Give the name of a file"
    ):
        use(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_a_pipe_as_target(path, use):
    os.mkfifo(path)
    with pytest.raises(FileError, match="which is not a regular file"):
        use(path)


def test_a_closed_folder(path, use, monkeypatch):
    # The superuser may write everywhere, so the refusal is played.
    monkeypatch.setattr(os, "access", lambda folder, mode: False)
    with pytest.raises(FileError, match=r"in a writable folder\. Got .*: permission denied\. Choose another folder"):
        use(path)


def test_an_unknown_suffix(path, use):
    with pytest.raises(FileError, match="must end in a known suffix"):
        use(path.with_suffix(".bin"))
