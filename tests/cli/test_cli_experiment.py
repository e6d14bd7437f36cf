"""`tailwise experiment`: from a folder to tables and figures; stopped, gone on with, and refused."""

import csv
import json
import sys

import pytest
import scipy.sparse as sp

import tailwise as tw
from tailwise.cli.main import main
from tailwise.datasets import save
from tailwise.experiments.main_table import MainTable

TABLES = ("main-k2.csv", "main-k2.html", "main-k2.tex", "main-k2.txt")


@pytest.fixture
def place(data_folder, monkeypatch):
    """The folder of the data folder, as working folder, with probabilities of a tree."""
    monkeypatch.chdir(data_folder.parent)
    X, Y, X_test = (tw.load(data_folder / name) for name in ("X.trn.npz", "Y.trn.npz", "X.tst.npz"))
    save("probabilities.npz", tw.LabelTree().fit(X, Y).predict_proba(X_test, top=20))
    return data_folder.parent


MAIN = ("experiment", "main", "--data", "data", "--probabilities", "probabilities.npz", "--out", "out", "-k", "2")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_main_table_in_every_form(place, capsys):
    assert main(MAIN) == 0
    out = capsys.readouterr().out
    assert "Macro-F1 exact" in out
    assert "everything is in out" in out
    assert names(place / "out") == ["experiment.json", "priors.npz", "runs", "specification.json", "tables"]
    assert names(place / "out" / "tables") == list(TABLES)
    record = json.loads((place / "out" / "experiment.json").read_text())
    assert record["data"]["instances"] == 60
    assert set(record["data"]["inputs"]) == {
        "train labels", "train features", "test labels", "test features", "label names", "probabilities",
    }  # fmt: skip
    rows = record["tables"][0]["rows"]
    lines = list(csv.DictReader((place / "out" / "tables" / "main-k2.csv").read_text().splitlines()))
    assert [line["name"] for line in lines] == [row["name"] for row in rows]
    assert [float(line["macro-f1"]) for line in lines] == [row["values"]["macro-f1"] for row in rows]
    one = json.loads(next((place / "out" / "runs").glob("macro-f1-exact-2-0-*.json")).read_text())
    assert one["run"] == {"strategy": "Macro-F1 exact", "k": 2, "seed": 0}
    assert (
        one["values"]["macro-f1"] == next(row for row in rows if row["name"] == "Macro-F1 exact")["values"]["macro-f1"]
    )
    assert set(one["versions"]) >= {"tailwise", "numpy"}
    assert str(place) not in (place / "out" / "experiment.json").read_text()
    plain, page = ((place / "out" / "tables" / f"main-k2{suffix}").read_text() for suffix in (".txt", ".html"))
    assert "* best in its column, ' second best" in plain
    for text in (plain, page):
        assert "gap: an upper bound on the distance to the optimum" in text


def test_figures_and_a_tree_of_ones_own(place, capsys):
    arguments = ("--second", "coverage", "--seeds", "1", "--quiet")
    assert main(("experiment", "mixed", "--data", "data", "--out", "out", "-k", "2", *arguments)) == 0
    assert capsys.readouterr().out == ""
    assert names(place / "out" / "figures") == ["mixed-coverage-k2.png", "mixed-coverage-k2.svg"]
    assert (place / "out" / "figures" / "mixed-coverage-k2.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (place / "out" / "figures" / "mixed-coverage-k2.svg").read_bytes()
    assert {"model.tailwise", "probabilities-top100.npz"} <= set(names(place / "out"))


def test_the_repository_layout(place, capsys):
    (place / "text").mkdir()
    for part, short in (("train", "trn"), ("test", "tst")):
        features = tw.load(place / "data" / f"X.{short}.npz")
        tw.save(place / "text" / f"{part}.txt", tw.load(place / "data" / f"Y.{short}.npz"), features=features)
    for data in ("data", "text"):
        assert main(("experiment", "head-labels", "--data", data, "--out", f"out-{data}", "-k", "1", "2")) == 0
    tables = [(place / f"out-{data}" / "tables" / "head-labels.csv").read_text() for data in ("data", "text")]
    assert tables[0] == tables[1]


def test_text_without_a_header_is_as_wide_as_all_of_it(place, capsys):
    (place / "text").mkdir()
    for part, short in (("train", "trn"), ("test", "tst")):
        X, Y = (tw.load(place / "data" / f"{letter}.{short}.npz") for letter in "XY")
        Y = Y[:, :25] if part == "test" else Y  # the last labels are not seen in the test set
        tw.save(place / "text" / f"{part}.svm", Y, features=X)
    assert main(("experiment", "head-labels", "--data", "text", "--out", "out", "-k", "1")) == 0
    assert json.loads((place / "out" / "experiment.json").read_text())["data"]["labels"] == 30


def test_an_interrupted_experiment_goes_on(place, monkeypatch, capsys):
    measure, made = MainTable.measure, []

    def measure_some(self, run, data):
        if len(made) == 5:
            raise KeyboardInterrupt
        made.append(run)
        return measure(self, run, data)

    monkeypatch.setattr(MainTable, "measure", measure_some)
    assert main(MAIN) == 130
    assert len(names(place / "out" / "runs")) == 5
    assert "experiment.json" not in names(place / "out")
    made[:] = []
    monkeypatch.setattr(MainTable, "measure", lambda self, run, data: made.append(run) or measure(self, run, data))
    assert main(MAIN) == 0
    assert len(made) == 12 - 5
    assert main((*MAIN[:7], "whole", *MAIN[8:])) == 0
    for name in TABLES:
        assert (place / "out" / "tables" / name).read_text() == (place / "whole" / "tables" / name).read_text()


def test_true_labels_need_nothing_but_labels(place, capsys):
    (place / "labels only").mkdir()
    (place / "labels only" / "Y.tst.npz").write_bytes((place / "data" / "Y.tst.npz").read_bytes())
    words = ("experiment", "true-labels", "--data", "labels only", "--out", "out", "-k", "2", "2", "--seeds", "1")
    assert main(words) == 0
    assert names(place / "out" / "tables") == [
        f"true-labels-k2{suffix}" for suffix in (".csv", ".html", ".tex", ".txt")
    ]


def test_names_of_folders_are_no_mathematics(place, capsys):
    (place / "data").rename(place / "a $ and b_2$")
    words = ("experiment", "mixed", "--data", "a $ and b_2$", "--probabilities", "probabilities.npz", "--out", "out")
    assert main((*words, "-k", "2", "--second", " Coverage", "coverage", "--seeds", "1")) == 0
    assert b"a $ and b_2$" in (place / "out" / "figures" / "mixed-coverage-k2.svg").read_bytes()


def refused(arguments, capsys):
    assert main(arguments) == 2
    return capsys.readouterr().err


def test_a_finished_experiment_is_only_replaced_with_overwrite(place, capsys):
    assert main(MAIN) == 0
    assert "It holds a finished experiment. Use --overwrite" in refused(MAIN, capsys)
    assert main((*MAIN, "--overwrite")) == 0


def test_other_folders_are_left_alone(place, capsys):
    (place / "out").mkdir()
    (place / "out" / "thesis.txt").write_text("mine")
    for arguments in (MAIN, (*MAIN, "--overwrite")):
        assert "must be new or hold an experiment" in refused(arguments, capsys)
    assert names(place / "out") == ["thesis.txt"]


def test_a_folder_begun_with_something_else_is_refused(place, monkeypatch, capsys):
    def interrupt(self, run, data):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(MainTable, "measure", interrupt)
        assert main(MAIN) == 130
    assert "has other values of: budgets." in refused((*MAIN[:-1], "3"), capsys)
    save("probabilities.npz", tw.load("probabilities.npz") * 0.5)
    assert "has other values of: probabilities." in refused(MAIN, capsys)
    monkeypatch.setattr("tailwise.experiments.run_experiment.__version__", "0.0.9")
    assert "has other values of: probabilities, tailwise." in refused(MAIN, capsys)


def test_a_broken_record_is_named(place, capsys):
    assert main(MAIN) == 0
    (place / "out" / "experiment.json").unlink()
    record = next((place / "out" / "runs").iterdir())
    record.write_text("{")
    message = refused(MAIN, capsys)
    assert record.name in message
    assert "Remove it" in message
    record.unlink()
    assert main(MAIN) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("main", "--data", "nowhere", "--out", "out"), "nowhere, which does not exist"),
        (("main", "--data", "data", "--probabilities", "nowhere.npz", "--out", "out"), "nowhere.npz"),
        (("main", "--data", "data", "--probabilities", "data/Y.trn.npz", "--out", "out"), "shape (60, 30)"),
        (("main", "--data", "data", "--out", "out", "-k", "31"), "k must be an integer between 1 and 30"),
        (("main", "--data", "data", "--out", "out", "--seeds", "0"), "--seeds must be at least 1. Got 0"),
        (("main", "--data", "data", "--out", "out", "--second", "coverage"), "the experiment mixed"),
        (("label-tree", "--data", "data", "--probabilities", "probabilities.npz", "--out", "out"), "Omit it"),
        (("true-labels", "--data", "data", "--probabilities", "probabilities.npz", "--out", "out"), "Omit it"),
        (("label-tree", "--data", "data", "--out", "out", "--seeds", "2"), "does not depend on seeds"),
        (("mixed", "--data", "data", "--out", "out", "--second", "macro-f2"), "must be one of macro-precision,"),
        (("mixed", "--data", "data", "--out", "out", "--second", "precision"), "must be one of macro-precision,"),
        (("main", "--data", "data", "--out", "."), "must not hold input files"),
        (("main", "--data", "data", "--probabilities", "empty.npz", "--out", "out"), "at least one candidate"),
        (("main", "--data", "no-train", "--out", "out"), "features or texts, and labels, of the train set"),
        (("head-labels", "--data", "no-train", "--probabilities", "probabilities.npz", "--out", "out"), "training"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_before_anything_is_written(place, capsys, arguments, message):
    (place / "no-train").mkdir()
    for name in ("X.tst.npz", "Y.tst.npz"):
        (place / "no-train" / name).write_bytes((place / "data" / name).read_bytes())
    save("empty.npz", sp.csr_array((60, 30)))
    assert message in refused(("experiment", *arguments), capsys)
    assert not (place / "out").exists()


def test_an_unknown_experiment(run, place):
    done = run(place, "experiment", "mian", "--data", "data", "--out", "out")
    assert done.code == 2
    assert "choose from" in done.err
    assert "head-labels" in done.err


def test_pictures_that_cannot_be_drawn_are_refused_before_the_work(place, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    words = ("experiment", "mixed", "--data", "data", "--probabilities", "probabilities.npz", "--out", "out")
    assert "Install it with: pip install 'tailwise[plot]'" in refused(words, capsys)
    assert not (place / "out").exists()
