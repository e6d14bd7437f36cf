"""``tailwise run``: everything in one go, and the record of it."""

import csv
import dataclasses
import hashlib
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import tailwise as tw
from tailwise.cli.main import main
from tailwise.datasets import find_data_set, load, load_labels, load_priors, load_selection, save
from tailwise.datasets.catalogue.data_folder import write_lock
from tailwise.models.calibrator import Calibrator
from tailwise.models.label_tree import LabelTree
from tailwise.reports.comparison import judge
from tailwise.runs.run_folder import read_run_folder

QUICK = ("--model", "tree", "--max-epochs", "3", "--arity", "4", "--leaf-size", "8")
RUN = ("run", "data", "-u", "macro-f1", "-k", "2", "-o", "out", *QUICK)
PARAMETERS = {"max_epochs": 3, "arity": 4, "leaf_size": 8}


@pytest.fixture
def place(data_folder, monkeypatch):
    """Be beside the folder of data."""
    monkeypatch.chdir(data_folder.parent)
    return data_folder.parent


def read_record(place):
    return json.loads((place / "out" / "run.json").read_text())


def read_data(place):
    names = ("X.trn.npz", "Y.trn.npz", "X.tst.npz", "Y.tst.npz")
    return [(load_labels if name.startswith("Y") else load)(place / "data" / name) for name in names]


def test_the_folder_holds_what_python_gives(place, capsys):
    assert main([*RUN]) == 0
    X, Y, X_test, truth = read_data(place)
    model = LabelTree(**PARAMETERS).fit(X, Y)
    probabilities = model.predict_proba(X_test)
    selection = tw.select(probabilities, "macro-f1", 2)
    assert sorted(path.name for path in (place / "out").iterdir()) == [
        "labels.txt",
        "model.tailwise",
        "priors.npz",
        "probabilities.npz",
        "run.json",
        "run.toml",
        "selection.npz",
        "selection.tsv",
        "truth.npz",
    ]
    np.testing.assert_array_equal(load("out/probabilities.npz").toarray(), probabilities.toarray())
    np.testing.assert_array_equal(load_selection("out/selection.npz").labels, selection.labels)
    np.testing.assert_array_equal(load_labels("out/truth.npz").toarray(), truth.toarray())
    assert load_priors("out/priors.npz") == tw.LabelPriors.from_labels(Y)
    assert (place / "out" / "labels.txt").read_bytes() == (place / "data" / "labels.txt").read_bytes()
    record = read_record(place)
    evaluation = tw.evaluate(truth, selection, k=2, priors=Y, probabilities=probabilities)
    assert record["metrics"] == evaluation.to_dict()
    assert record["expected_metrics"] == evaluation.expected
    top = tw.evaluate(truth, tw.select(probabilities, "precision", 2), k=2, priors=Y)
    assert record["top_k_metrics"] == top.to_dict()
    out = capsys.readouterr().out
    notes = "".join(f"{each}\n" for each in selection.messages)
    assert out.startswith(f"expected macro-f1: {selection.expected:.6f}\n{evaluation}\n{notes}load ")
    assert out.endswith("everything is in out\n")


def test_labels_that_only_make_up_the_number_k_are_counted(place, capsys):
    assert main(["run", "data", "-u", "macro-f1", "-k", "10", "-o", "out", *QUICK]) == 0
    out = capsys.readouterr().out
    probabilities = load("out/probabilities.npz")
    (expected,) = tw.select(probabilities, "macro-f1", 10).messages
    assert re.match(r"In [\d,]+ of [\d,]+ slots \([\d.]+%\), the label only makes up the number k", expected)
    assert f"\n{expected}\n" in out
    assert read_record(place)["selection"]["messages"] == [expected]
    again = tw.Run.load("out")
    assert again.selection.messages == (expected,)
    assert expected in again.summary()


def test_the_record_says_how_it_was_done(place):
    assert main([*RUN, "--seed", "4", "--top", "12", "--max-passes", "5", "--quiet"]) == 0
    record = read_record(place)
    configuration = record["configuration"]
    assert (configuration["utility"], configuration["k"], configuration["top"]) == ("macro-f1", 2, 12)
    model = configuration["model"]
    assert model["name"] == "tree"
    assert {name: model["parameters"][name] for name in PARAMETERS} == PARAMETERS
    assert model["parameters"]["loss"] == "logistic"
    assert record["model"] == {"name": "tree", "why": "asked for"}
    assert configuration["selection"]["max_passes"] == 5
    assert configuration["calibration"] is None
    assert record["seed"] == 4
    assert record["versions"]["tailwise"] == tw.__version__
    assert record["versions"]["numpy"] == np.__version__
    assert {name: each["sha256"] for name, each in record["inputs"].items()} == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (place / "data").iterdir()
    }
    assert list(record["seconds"]) == ["load", "train", "predict", "select", "evaluate"]
    assert all(seconds >= 0 for seconds in record["seconds"].values())
    assert record["selection"]["certificate"] is None
    assert record["selection"]["expected"] == pytest.approx(record["expected_metrics"]["macro-f1"], rel=1e-9)


def as_benchmark(monkeypatch):
    """Let the small data set pass for Amazon-670K, whose propensity model is (0.6, 2.6)."""
    small = dataclasses.replace(find_data_set("Amazon-670K"), n_train=240, n_test=60, n_labels=30)
    monkeypatch.setattr("tailwise.datasets.catalogue.benchmarks.CATALOGUE", (small,))


@pytest.mark.parametrize("source", ["benchmark", "option"])
def test_the_propensity_model(place, monkeypatch, source):
    options = ("--propensity", "0.6", "2.6") if source == "option" else ()
    if source == "benchmark":
        as_benchmark(monkeypatch)
    assert main([*RUN, *options, "-u", "ps-precision", "--quiet"]) == 0
    _, Y, _, truth = read_data(place)
    record, probabilities = read_record(place), load("out/probabilities.npz")
    selection = tw.select(probabilities, "ps-precision(0.6, 2.6)", 2, priors=Y)
    np.testing.assert_array_equal(load_selection("out/selection.npz").labels, selection.labels)
    evaluation = tw.evaluate(truth, selection, priors=Y, propensity=(0.6, 2.6), probabilities=probabilities)
    assert record["metrics"] == evaluation.to_dict()
    assert record["expected_metrics"] == evaluation.expected
    assert record["configuration"]["propensity"] == [0.6, 2.6]
    assert record["configuration"]["utility"] == "ps-precision(0.6, 2.6)"
    judged = judge(read_run_folder("out"), selection)
    assert judged.realised == evaluation


def test_the_option_goes_before_the_benchmark(place, monkeypatch):
    as_benchmark(monkeypatch)
    assert main([*RUN, "--propensity", "0.5", "0.4", "-u", "ps-precision(0.7, 3)", "--quiet"]) == 0
    configuration = read_record(place)["configuration"]
    assert (configuration["propensity"], configuration["utility"]) == ([0.5, 0.4], "ps-precision(0.7, 3)")


def test_drawn_data_are_not_taken_for_the_benchmark(place, monkeypatch):
    as_benchmark(monkeypatch)
    write_lock(place / "data", [], name="Amazon-670K", source="synthetic")
    assert main([*RUN, "--quiet"]) == 0
    assert read_record(place)["configuration"]["propensity"] == [0.55, 1.5]


def test_the_record_names_no_machine_and_no_path(place):
    main([*RUN, "--quiet"])
    assert str(place) not in (place / "out" / "run.json").read_text()


def test_names_of_labels(place):
    main([*RUN, "--quiet"])
    with open("out/selection.tsv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    labels = load_selection("out/selection.npz").labels
    assert list(rows[0]) == ["instance", "label", "title", "probability", "rank"]  # as select writes it
    assert [row["label"] for row in rows] == [f"label {j}:" for j in labels.ravel()]
    assert [(row["instance"], row["rank"]) for row in rows[:3]] == [("0", "1"), ("0", "2"), ("1", "1")]
    assert {row["title"] for row in rows} == {"Wörter"}


def test_calibration_and_certificate(place, capsys):
    assert main([*RUN, "--calibration", "context", "--folds", "2", "--certify"]) == 0
    assert re.search(r"; the optimum is at most [\d.]+ % above this selection", capsys.readouterr().out)
    X, Y, X_test, _ = read_data(place)
    tree = LabelTree(**PARAMETERS)
    calibrator = Calibrator("context").fit_cross_validated(tree, X, Y, folds=2, top=100)
    calibrator.save("python.npz")
    assert (place / "out" / "calibrator.npz").read_bytes() == (place / "python.npz").read_bytes()
    expected = calibrator.transform(tree.fit(X, Y).predict_proba(X_test))
    np.testing.assert_array_equal(load("out/probabilities.npz").toarray(), expected.toarray())
    record = read_record(place)
    assert record["configuration"]["calibration"]["method"] == "context"
    assert record["configuration"]["calibration"]["folds"] == 2
    certificate = record["selection"]["certificate"]
    assert certificate["value"] <= certificate["upper"]
    assert "calibrate" in record["seconds"]


def test_on_the_tree_itself(place):
    words = ["run", "data", "-u", "coverage", "-k", "2", "-o", "out", *QUICK, "--method", "tree", "--quiet"]
    assert main(words) == 0
    X, Y, X_test, _ = read_data(place)
    expected = LabelTree(**PARAMETERS).fit(X, Y).select(X_test, "coverage", 2, method="tree")
    np.testing.assert_array_equal(load_selection("out/selection.npz").labels, expected.labels)
    assert not (place / "out" / "probabilities.npz").exists()
    record = read_record(place)
    assert record["selection"]["method"] == "greedy"
    assert record["metrics"]["coverage"] > 0
    assert (record["expected_metrics"], record["top_k_metrics"]) == ({}, None)


def test_without_test_labels_and_names(place, capsys):
    (place / "data" / "Y.tst.npz").unlink()
    (place / "data" / "labels.txt").unlink()
    assert main([*RUN]) == 0
    assert read_record(place)["metrics"] is None
    assert not {"selection.tsv", "labels.txt", "truth.npz"} & {path.name for path in (place / "out").iterdir()}
    assert "Evaluation" not in capsys.readouterr().out


def write_as_one_text(folder, X, Y, part):
    save(folder / f"{part}.txt", Y, features=X)


def write_as_svmlight(folder, X, Y, part):
    """The test instances without the last label, so that the file does not show that it exists."""
    save(folder / f"{part}.svm", Y[:, :29] if part == "test" else Y, features=X)


def write_as_two_texts(folder, X, Y, part):
    short = {"train": "trn", "test": "tst"}[part]
    save(folder / f"{short}_X_Xf.txt", X, format="split")
    save(folder / f"{short}_X_Y.txt", Y, format="split")


@pytest.mark.parametrize("write", [write_as_one_text, write_as_two_texts, write_as_svmlight])
def test_the_layouts_of_the_repository(place, write):
    X, Y, X_test, truth = read_data(place)
    other = place / "other"
    other.mkdir()
    write(other, X.astype(np.float32), Y, "train")
    write(other, X_test.astype(np.float32), truth, "test")
    assert main([*RUN, "--quiet"]) == 0
    assert main(["run", "other", *RUN[2:-8], "-o", "out-other", *QUICK, "--quiet"]) == 0
    first, second = (json.loads((place / name / "run.json").read_text()) for name in ("out", "out-other"))
    assert second["shapes"] == first["shapes"]
    assert second["inputs"].keys() == {path.name for path in other.iterdir()}
    np.testing.assert_allclose(load("out-other/probabilities.npz").toarray(), load("out/probabilities.npz").toarray())
    np.testing.assert_array_equal(
        load_selection("out-other/selection.npz").labels, load_selection("out/selection.npz").labels
    )


def test_without_a_budget(place):
    assert main([*RUN[:4], "-k", "none", "-o", "out", *QUICK, "--quiet"]) == 0
    assert read_record(place)["configuration"]["k"] is None


def test_the_same_input_and_seed_give_the_same_bytes(place):
    main([*RUN, "--quiet", "--workers", "1"])
    shutil.move("out", "first")
    main([*RUN, "--quiet", "--workers", "2"])
    for name in ("probabilities.npz", "selection.npz", "selection.tsv"):
        assert (place / "out" / name).read_bytes() == (place / "first" / name).read_bytes()


def test_only_an_earlier_run_is_replaced_and_only_when_asked_for(place, capsys):
    assert main([*RUN, "--quiet"]) == 0
    (place / "out" / "probabilities.npz").unlink()
    assert main([*RUN]) == 2
    assert "Got out, which exists. Use --overwrite to replace it." in capsys.readouterr().err
    assert not (place / "out" / "probabilities.npz").exists()
    assert main([*RUN, "--overwrite", "--quiet"]) == 0
    assert (place / "out" / "probabilities.npz").exists()
    (place / "out" / "run.json").unlink()
    assert main([*RUN, "--overwrite"]) == 2
    assert "or hold an earlier run, with run.json. Got out, which holds" in capsys.readouterr().err
    assert sorted(path.name for path in place.iterdir()) == ["data", "out"]


def test_what_an_earlier_run_did_not_write_stays(place):
    assert main([*RUN, "--method", "tree", "--quiet"]) == 0  # without probabilities
    assert not (place / "out" / "probabilities.npz").exists()
    (place / "out" / "calibrator.npz").write_text("mine")
    (place / "out" / "notes.txt").write_text("mine")
    assert main([*RUN, "--overwrite", "--quiet"]) == 0
    assert (place / "out" / "probabilities.npz").exists()
    assert [(place / "out" / name).read_text() for name in ("calibrator.npz", "notes.txt")] == ["mine"] * 2


def test_names_say_how_many_labels_there_are_where_text_does_not(place):
    X, Y, X_test, truth = read_data(place)
    for part, features, labels in (("train", X, Y), ("test", X_test, truth)):
        save(place / "data" / f"{part}.svm", labels[:, :28], features=features.astype(np.float32))
    for path in (place / "data").glob("*.npz"):
        path.unlink()
    assert main([*RUN, "--quiet"]) == 0
    assert read_record(place)["shapes"]["Y.trn"] == [240, 30]


def test_a_text_of_labels_alone_has_no_features(place, capsys, monkeypatch):
    shutil.rmtree("data")
    (place / "data").mkdir()
    for part in ("train", "test"):
        (place / "data" / f"{part}.txt").write_text("0:1 2:1\n1:1\n")
    refuse(place, capsys, monkeypatch, RUN, r"data must hold features and labels of training instances")


def change(name, matrix):
    return lambda folder: save(folder / name, matrix)


DAMAGE = {
    "no test features": (
        lambda folder: (folder / "X.tst.npz").unlink(),
        r"data must hold features of test instances, as X\.tst\.npz .* Got none\. List its files with",
    ),
    "training rows": (
        change("X.trn.npz", np.ones((7, 40))),
        r"features and labels for the same train instances\. Got 7 and 240\.",
    ),
    "features": (change("X.tst.npz", np.ones((60, 9))), r"X\.tst\.npz must have the 40 features .* Got 9\."),
    "test labels": (change("Y.tst.npz", np.eye(60)), r"Y\.tst\.npz must have the 30 labels of Y\.trn\.npz\. Got 60\."),
    "test rows": (
        change("Y.tst.npz", np.eye(30)),
        r"features and labels for the same test instances\. Got 60 and 30\.",
    ),
    "no training labels": (
        lambda folder: (folder / "Y.trn.npz").unlink(),
        r"data must hold features and labels of training instances, as X\.trn\.npz with Y\.trn\.npz",
    ),
    "no labels": (change("Y.trn.npz", sp.random(240, 30, 0.1, random_state=0)), r"must hold only 0 and 1\. Got"),
    "names": (
        lambda folder: (folder / "labels.txt").write_text("one\ntwo\n"),
        r"one line for each of the 30 .* Got 2\.",
    ),
    "name bytes": (
        lambda folder: (folder / "labels.txt").write_bytes(b"\xff\xfe"),
        r"labels\.txt must be UTF-8 text\. Invalid UTF-8 at byte 0",
    ),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGE.values(), ids=DAMAGE)
def test_bad_data(place, capsys, monkeypatch, damage, message):
    damage(place / "data")
    refuse(place, capsys, monkeypatch, RUN, message)


OPTIONS = {
    "no folder": (("run", "none", *RUN[2:]), r"must name the folder of a data set\. Got none, which does not"),
    "utility": ((*RUN, "-u", "macro-f2"), r"Got 'macro-f2'\. Did you mean macro-fbeta\(2\)\?"),
    "k": ((*RUN, "-k", "31"), r"k must be an integer between 1 and 30, the number of labels\. Got 31\."),
    "method": ((*RUN, "--method", "best"), r"method must be one of auto, .*, greedy, tree\. Got 'best'\."),
    "folds alone": ((*RUN, "--folds", "3"), r"--folds needs --calibration\. Got it alone\. Add"),
    "by alone": ((*RUN, "--by", "frequency"), r"--by needs --calibration\. Got it alone\."),
    "fill": ((*RUN, "--fill", "all"), r"fill must be one of"),
    "no bound": ((*RUN, "-u", "macro-gmean", "--certify"), r"macro-gmean"),
    "seed": ((*RUN, "--seed=-1"), r"seed must be an integer of at least 0\. Got -1\."),
    "top": ((*RUN, "--top", "0"), r"--top must be an integer of at least 1\. Got 0\."),
    "beam": ((*RUN, "--beam", "0"), r"--beam must be an integer of at least 1\. Got 0\."),
    "calibration": ((*RUN, "--calibration", "best"), r"method must be one of isotonic, .* Got 'best'\."),
    "tree": ((*RUN, "--tree", "oak"), r"tree must be one of k-means, random, huffman\. Got 'oak'\."),
    "tree certified": ((*RUN, "--method", "tree", "--certify"), r"needs a budget k, and supports neither"),
    "no place": ((*RUN, "-o", "none/out"), r"folder that exists\. Got none/out"),
}


@pytest.mark.parametrize(("words", "message"), OPTIONS.values(), ids=OPTIONS)
def test_bad_options(place, capsys, monkeypatch, words, message):
    refuse(place, capsys, monkeypatch, words, message)


def refuse(place, capsys, monkeypatch, words, message):
    """Before anything is trained, with one line, and without a trace."""
    monkeypatch.setattr(LabelTree, "fit", lambda *arguments: pytest.fail("trained"))
    assert main([*words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"tailwise: error: [^\n]*\n", err)
    assert re.search(message, err)
    assert [path.name for path in place.iterdir()] == ["data"]


def interrupt(monkeypatch, what):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(what, stop)


def test_interrupted_in_training_nothing_is_written(place, capsys, monkeypatch):
    interrupt(monkeypatch, "tailwise.LabelTree.fit")
    assert main([*RUN]) == 130
    assert capsys.readouterr() == ("", "tailwise: interrupted\n")
    assert [path.name for path in place.iterdir()] == ["data"]


def test_interrupted_later_the_same_command_goes_on(place, capsys, monkeypatch):
    main([*RUN, "--quiet"])
    shutil.move("out", "whole")
    with monkeypatch.context() as patch:
        interrupt(patch, "tailwise.LabelTree.predict_proba")
        assert main([*RUN]) == 130
    told = "tailwise: finished steps are kept in out; the same command resumes the run\ntailwise: interrupted\n"
    assert capsys.readouterr() == ("", told)
    assert main([*RUN, "-k", "3"]) == 2
    assert "has other values of: k. Choose another one" in capsys.readouterr().err
    monkeypatch.setattr(LabelTree, "fit", lambda *arguments: pytest.fail("trained"))
    assert main([*RUN, "--quiet"]) == 0
    names = sorted(path.name for path in (place / "whole").iterdir())
    assert sorted(path.name for path in (place / "out").iterdir()) == names
    for name in names:
        if name != "run.json":  # which holds times
            assert (place / "out" / name).read_bytes() == (place / "whole" / name).read_bytes()
    assert {**read_record(place), "seconds": 0} == {**json.loads(Path("whole/run.json").read_text()), "seconds": 0}


def test_a_full_disk_leaves_the_earlier_run(place, capsys, monkeypatch):
    main([*RUN, "--quiet"])
    before = (place / "out" / "run.json").read_bytes()

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(LabelTree, "save", fail)
    assert main([*RUN, "--overwrite"]) == 3
    assert "out could not be written: No space left on device" in capsys.readouterr().err
    assert (place / "out" / "run.json").read_bytes() == before
    assert sorted(path.name for path in place.iterdir()) == ["data", "out"]
