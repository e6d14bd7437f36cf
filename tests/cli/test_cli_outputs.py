"""What others write while a command is at work is never lost, and neither is the command's own result."""

import shutil
from pathlib import Path

import pytest

from tailwise.cli.main import main
from tailwise.datasets import load_selection

SELECT = ["select", "probabilities.npz", "-u", "macro-f1", "-k", "3", "--quiet", "-o"]
RUN = ["run", "data", "-u", "precision", "-k", "2", "--quiet", "-o", "out"]


def during(monkeypatch, name, action):
    """Do something when a function of the command is called, before it goes on."""
    module, _, function = name.rpartition(".")
    real = getattr(__import__(module, fromlist=[function]), function)

    def call(*arguments, **options):
        action()
        return real(*arguments, **options)

    monkeypatch.setattr(name, call)


@pytest.mark.parametrize("output", ["chosen.npz", "chosen.jsonl.gz", "chosen-labels.npy"])
def test_a_file_that_appears_while_selecting(folder, monkeypatch, capsys, output):
    monkeypatch.chdir(folder)
    during(monkeypatch, "tailwise.datasets.save_selection", lambda: Path(output).write_text("thesis"))
    assert main([*SELECT, output]) == 2
    err = capsys.readouterr().err
    assert f"{output} was created or put to use in the meantime. It was not changed." in err
    assert f"The result is in kept-{output}" in err
    assert Path(output).read_text() == "thesis"
    assert load_selection(f"kept-{output}").shape[0] == 200


def test_two_commands_with_one_output(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    codes = []
    during(monkeypatch, "tailwise.datasets.save_selection", lambda: codes.append(main([*SELECT, "chosen.npz"])))
    assert main([*SELECT, "chosen.npz"]) == 0
    assert codes == [2]
    assert "must not be in use. Got chosen.npz, which another process is writing" in capsys.readouterr().err
    assert load_selection("chosen.npz").shape[0] == 200


def test_a_file_put_into_the_folder_of_a_run(data_folder, monkeypatch):
    monkeypatch.chdir(data_folder.parent)
    during(monkeypatch, "tailwise.datasets.open_folder", lambda: Path("out", "thesis.txt").write_text("x"))
    assert main(RUN) == 0
    assert main([*RUN, "--overwrite"]) == 0
    assert Path("out", "thesis.txt").read_text() == "x"
    assert Path("out", "run.json").exists()


def test_two_runs_with_one_folder(data_folder, monkeypatch, capsys):
    monkeypatch.chdir(data_folder.parent)
    codes = []

    def run_once_more():
        if not codes:
            codes.append(None)
            codes[0] = main(RUN)

    during(monkeypatch, "tailwise.datasets.open_folder", run_once_more)
    assert main(RUN) == 0
    assert codes == [2]
    assert "must not be in use. Got out, which another process is writing" in capsys.readouterr().err


def test_a_folder_in_place_of_that_of_a_run(data_folder, monkeypatch, capsys):
    monkeypatch.chdir(data_folder.parent)

    def replace_folder():
        shutil.rmtree("out")
        Path("out").mkdir()
        Path("out", "run.json").write_text("thesis")

    during(monkeypatch, "tailwise.datasets.open_folder", replace_folder)
    assert main(RUN) == 2
    assert "was created in the meantime. It was not changed. The result is in" in capsys.readouterr().err
    assert Path("out", "run.json").read_text() == "thesis"
    assert load_selection(Path("kept-out", "selection.npz")).shape[0] == 60


@pytest.mark.parametrize("command", ["train", "predict", "report"])
def test_other_commands_leave_such_files_alone(data_folder, monkeypatch, capsys, command):
    monkeypatch.chdir(data_folder.parent)
    words, place = {
        "train": ("train data", "tailwise.datasets.open_folder"),
        "predict": ("predict model.tree data/X.tst.npz", "tailwise.datasets.load_features"),
        "report": ("report run --alphas 0,1", "tailwise.reports.page.build_page"),
    }[command]
    main(["train", "data", "-o", "model.tree", "--quiet"])
    main([*RUN[:-1], "run"])
    during(monkeypatch, place, lambda: Path("a.npz").write_text("thesis"))
    assert main([*words.split(), "-o", "a.npz", "--quiet"]) == 2
    assert "The result is in kept-a.npz." in capsys.readouterr().err
    assert Path("a.npz").read_text() == "thesis"
    assert Path("kept-a.npz").stat().st_size > 100
