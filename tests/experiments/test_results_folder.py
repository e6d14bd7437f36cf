"""The folder of an experiment: begun, gone on with, replaced, held by one process, and never anything else's."""

import json
import os
from pathlib import Path

import pytest

from tailwise.errors import FileError
from tailwise.experiments.experiment import Measured
from tailwise.experiments.results_folder import ResultsFolder

IDENTITY = {"specification": {"experiment": "main"}, "model": None, "inputs": {"labels": "abc"}, "tailwise": "1"}
RUN = {"strategy": "Top-K", "k": 3}


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def begun(tmp_path):
    """A store with the record of one run."""
    store = ResultsFolder(tmp_path / "out")
    with store.opened(IDENTITY):
        store.keep(Measured(RUN, {"precision": 0.5, "gap": None}, 1.5))
    return store


def test_records_are_found_again(begun):
    again = ResultsFolder(begun.path)
    with again.opened(IDENTITY):
        assert again.find(RUN) == Measured(RUN, {"precision": 0.5, "gap": None}, 1.5)
        assert again.find({**RUN, "k": 5}) is None
        assert again.count() == 1


def test_one_process_at_a_time(begun):
    with (
        begun.opened(IDENTITY),
        pytest.raises(FileError, match=r"must not be in use\. Got .*out, which another process is writing"),
        ResultsFolder(begun.path).opened(IDENTITY),
    ):
        pass
    with ResultsFolder(begun.path).opened(IDENTITY):  # free again
        assert begun.count() == 1


def test_replacing_removes_what_experiments_write_and_nothing_else(begun):
    mine = ["notes.txt", "runs/a.md", "tables/a.md", "thesis/chapter.txt"]
    for name in ("tables/main.txt", "figures/a.png", "probabilities-top100.npz", *mine):
        (begun.path / name).parent.mkdir(exist_ok=True)
        (begun.path / name).write_text("x")
    begun.finish({})
    with pytest.raises(FileError, match="It holds a finished experiment"), begun.opened(IDENTITY):
        pass
    with begun.opened({**IDENTITY, "tailwise": "2"}, overwrite=True):
        assert files(begun.path) == sorted([".tailwise.lock", *mine, "specification.json"])
    assert json.loads((begun.path / "specification.json").read_text())["tailwise"] == "2"


def test_a_folder_half_replaced_is_not_gone_on_with(begun, monkeypatch):
    begun.finish({})
    (begun.path / "tables").mkdir()
    (begun.path / "tables" / "main.txt").touch()
    unlink = Path.unlink

    def interrupt(path, **options):
        if path.name == "main.txt":
            raise KeyboardInterrupt
        unlink(path, **options)

    monkeypatch.setattr(Path, "unlink", interrupt)
    with pytest.raises(KeyboardInterrupt):
        begun.opened(IDENTITY, overwrite=True).__enter__()
    assert begun.count() == 0
    with pytest.raises(FileError, match="It holds a finished experiment"):
        begun.opened(IDENTITY).__enter__()


def test_what_others_do_before_the_lock_is_seen(tmp_path, monkeypatch):
    other, store = ResultsFolder(tmp_path / "out"), ResultsFolder(tmp_path / "out")
    lock = store._locked

    def lock_late():
        with other.opened({**IDENTITY, "tailwise": "2"}):
            other.keep(Measured(RUN, {"precision": 0.5}, 1.0))
        return lock()

    monkeypatch.setattr(store, "_locked", lock_late)
    with pytest.raises(FileError, match="has other values of: tailwise"):
        store.opened(IDENTITY).__enter__()


@pytest.mark.skipif(os.name == "nt", reason="links need a right that users of Windows seldom have")
def test_a_link_to_a_folder_is_followed(begun, tmp_path):
    (tmp_path / "link").symlink_to(begun.path)
    with ResultsFolder(tmp_path / "link").opened(IDENTITY, overwrite=True):
        pass
    assert (tmp_path / "link").is_symlink()
    assert names(begun.path) == ["runs", "specification.json"]


def test_what_a_failed_start_leaves_behind_is_no_obstacle(tmp_path):
    (tmp_path / "out" / "runs").mkdir(parents=True)
    with ResultsFolder(tmp_path / "out").opened(IDENTITY):
        pass
    assert names(tmp_path / "out") == ["runs", "specification.json"]


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("name", ["notes.txt", "runs/notes.txt", "runs"])
def test_other_folders_are_left_alone(tmp_path, name, overwrite):
    (tmp_path / "out" / name).parent.mkdir(parents=True)
    (tmp_path / "out" / name).write_text("mine")
    before = names(tmp_path)
    with pytest.raises(FileError, match="must be new or hold an experiment"):
        ResultsFolder(tmp_path / "out").opened(IDENTITY, overwrite=overwrite).__enter__()
    assert names(tmp_path) == before


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(
    ("content", "message"), [('{"openapi": 3}', "It is another file"), ("{", "in JSON.*Choose another folder")]
)
def test_a_specification_of_something_else_is_left_alone(tmp_path, content, message, overwrite):
    (tmp_path / "specification.json").write_text(content)
    with pytest.raises(FileError, match=message):
        ResultsFolder(tmp_path).opened(IDENTITY, overwrite=overwrite).__enter__()
    assert names(tmp_path) == ["specification.json"]


@pytest.mark.parametrize(
    "record",
    [
        [],
        {"run": {**RUN, "k": 5}, "values": {"precision": 0.5}, "seconds": 1.0},
        {"run": RUN, "values": {"precision": "half"}, "seconds": 1.0},
        {"run": RUN, "values": {}, "seconds": 1.0},
        {"run": RUN, "values": {"precision": 0.5}},
    ],
)
def test_a_broken_record_is_named(begun, record):
    (path,) = (begun.path / "runs").iterdir()
    path.write_text(json.dumps(record))
    with pytest.raises(FileError, match=rf"{path.name} must be the record of .*Remove it to repeat the run"):
        begun.find(RUN)


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match=r"could not be written: Not a directory\. Choose another folder"):
        ResultsFolder(tmp_path / "file" / "out").opened(IDENTITY).__enter__()
