"""An unfinished run goes on with the steps that it has finished, and with nothing else."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import tailwise as tw
from tailwise.errors import FileError

QUICK = {"max_epochs": 3, "arity": 4, "leaf_size": 8}
CALIBRATED = {"calibration": "platt", "folds": 2}


@pytest.fixture
def stopped(monkeypatch):
    """Stop when a method of ours is called, within a block."""

    def stop(*arguments, **options):
        raise KeyboardInterrupt

    def run_until(method, call):
        with monkeypatch.context() as patch:
            patch.setattr(method, stop)
            with pytest.raises(KeyboardInterrupt):
                call()

    return run_until


@pytest.fixture
def start(data, tmp_path):
    def start_run(k=2, data=data, **options):
        return tw.run(data, "macro-f1", k, output=tmp_path / "out", model=tw.LabelTree(**QUICK), **options)

    return start_run


@pytest.fixture
def refuse(monkeypatch):
    """Let a method fail the test when it is called."""
    return lambda kind, name: monkeypatch.setattr(kind, name, lambda *arguments, **options: pytest.fail(name))


def list_names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_trained_model_is_not_trained_again(start, stopped, refuse, tmp_path, data):
    whole = tw.run(data, "macro-f1", 2, model=tw.LabelTree(**QUICK))
    stopped("tailwise.LabelTree.predict_proba", start)
    refuse(tw.LabelTree, "fit")
    run = start(workers=1)
    np.testing.assert_array_equal(run.probabilities.toarray(), whole.probabilities.toarray())
    np.testing.assert_array_equal(run.selection.labels, whole.selection.labels)
    assert list(run.seconds) == ["load", "train", "predict", "select", "evaluate"]
    assert run.model.n_jobs == 1
    whole.save(tmp_path / "whole")
    assert list_names(tmp_path / "out") == list_names(tmp_path / "whole")
    assert (tmp_path / "out" / "model.tailwise").stat().st_size == (
        tmp_path / "whole" / "model.tailwise"
    ).stat().st_size


def test_the_calibrator_is_used_again(start, stopped, refuse):
    stopped("tailwise.Calibrator.transform", lambda: start(**CALIBRATED))
    refuse(tw.LabelTree, "fit")
    refuse(tw.Calibrator, "fit_cross_validated")
    assert list(start(**CALIBRATED).seconds) == ["load", "train", "calibrate", "predict", "select", "evaluate"]


def test_probabilities_are_used_again(start, stopped, refuse):
    stopped("tailwise.Evaluation.to_dict", start)  # when all is chosen and evaluated
    refuse(tw.LabelTree, "fit")
    refuse(tw.LabelTree, "predict_proba")
    assert list(start().seconds) == ["load", "train", "predict", "select", "evaluate"]


def test_nothing_is_left_where_no_step_was_finished(start, stopped, tmp_path):
    stopped("tailwise.LabelTree.fit", start)
    assert list_names(tmp_path) == []


def test_an_error_keeps_finished_steps_too(start, monkeypatch, refuse):
    def fail(*arguments, **options):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(tw.LabelTree, "predict_proba", fail)
        with pytest.raises(MemoryError):
            start()
    refuse(tw.LabelTree, "fit")
    assert start().selection.n_instances == 60


CHANGES = {
    "k": {"k": 3},
    "seed": {"seed": 1},
    "top": {"top": 7},
    "tolerance": {"tolerance": 1e-3},
    "calibration": CALIBRATED,
}


@pytest.mark.parametrize(("name", "change"), CHANGES.items(), ids=CHANGES)
def test_a_folder_of_another_configuration_is_refused(start, stopped, refuse, name, change):
    stopped("tailwise.LabelTree.predict_proba", start)
    with pytest.raises(
        FileError,
        match=rf"unfinished folder of the same run\. Got .*out, which has other values of: {name}\.",
    ):
        start(**change)
    refuse(tw.LabelTree, "fit")
    start()  # which the refusal left as it was


def test_a_folder_of_other_data_is_refused_unless_overwritten(start, stopped, data):
    stopped("tailwise.LabelTree.predict_proba", start)
    other = {**data, "X": data["X"] * 2 + 1}
    with pytest.raises(FileError, match=r"other values of: X\. Choose another one, or use overwrite=True"):
        start(data=other)
    run = start(data=other, overwrite=True)
    again = tw.run(other, "macro-f1", 2, model=tw.LabelTree(**QUICK))
    np.testing.assert_array_equal(run.probabilities.toarray(), again.probabilities.toarray())


def test_an_interrupted_replacement_leaves_the_earlier_run_and_goes_on(start, stopped, refuse, tmp_path):
    start()
    before = (tmp_path / "out" / "run.json").read_bytes()
    stopped("tailwise.LabelTree.predict_proba", lambda: start(k=3, overwrite=True))
    assert (tmp_path / "out" / "run.json").read_bytes() == before
    assert tw.Run.load(tmp_path / "out").selection.labels.shape == (60, 2)
    refuse(tw.LabelTree, "fit")
    assert start(k=3, overwrite=True).selection.labels.shape == (60, 3)
    assert tw.Run.load(tmp_path / "out").selection.labels.shape == (60, 3)


def test_a_kill_while_files_are_moved_into_place_loses_no_step(start, refuse, tmp_path, monkeypatch):
    whole, replace = start(), os.replace
    shutil.rmtree(tmp_path / "out")

    def stop(source, target):
        if Path(target) == tmp_path / "out" / "run.json":
            raise KeyboardInterrupt
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", stop)
        with pytest.raises(KeyboardInterrupt):
            start()
    refuse(tw.LabelTree, "fit")
    refuse(tw.LabelTree, "predict_proba")
    with pytest.raises(FileError, match="which has other values of: k"):
        start(k=3)
    np.testing.assert_array_equal(start().selection.labels, whole.selection.labels)
    assert ".tailwise-steps" not in list_names(tmp_path / "out")


@pytest.mark.parametrize("name", ["model.tailwise", "begun.json"])
def test_a_damaged_step_is_repeated(start, stopped, tmp_path, name):
    stopped("tailwise.LabelTree.predict_proba", start)
    (kept,) = (tmp_path / "out").rglob(name)
    kept.write_bytes(kept.read_bytes()[:40])
    assert start().evaluation is not None
    assert not list((tmp_path / "out").rglob("begun.json"))


def test_files_of_others_stay(start, stopped, tmp_path):
    stopped("tailwise.LabelTree.predict_proba", start)
    (tmp_path / "out" / "notes.txt").write_text("mine")
    start()
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"


def test_an_unfinished_run_cannot_be_loaded(start, stopped, tmp_path):
    stopped("tailwise.LabelTree.predict_proba", start)
    with pytest.raises(FileError, match=r"It is not finished\. Start the same run again to resume it\."):
        tw.Run.load(tmp_path / "out")
