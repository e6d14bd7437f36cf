"""``tailwise train`` and ``tailwise predict`` write what LabelTree and Calibrator give."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

import tailwise as tw
from tailwise.cli.main import main
from tailwise.datasets import load, load_label_names, load_labels, save
from tailwise.models.calibrator import Calibrator
from tailwise.models.label_tree import LabelTree

QUICK = ("--model", "tree", "--max-epochs", "3", "--arity", "4", "--leaf-size", "8")
PARAMETERS = {"max_epochs": 3, "arity": 4, "leaf_size": 8}


@pytest.fixture
def place(data_folder, monkeypatch):
    """Be beside the folder of data."""
    monkeypatch.chdir(data_folder.parent)
    return data_folder.parent


def fit(place, **parameters):
    return LabelTree(**(PARAMETERS | parameters)).fit(
        load(place / "data" / "X.trn.npz"), load_labels(place / "data" / "Y.trn.npz")
    )


def test_a_folder_becomes_the_model_of_python(place, capsys):
    assert main(["train", "data", "-o", "model.tree", *QUICK]) == 0
    out, err = capsys.readouterr()
    pattern = (
        r"model 'tree' of 30 labels trained on 240 instances in \d+\.\d s \(asked for\)\n"
        r"\d+ KB written to model\.tree\n"
    )
    assert re.fullmatch(pattern, out)
    assert err == ""
    model = fit(place)
    model.priors_ = model.priors_.with_names(load_label_names(place / "data" / "labels.txt"))
    model.save("python.tree")
    assert (place / "model.tree").read_bytes() == (place / "python.tree").read_bytes()


def test_a_folder_of_the_repository(place):
    X, Y = load(place / "data" / "X.trn.npz").astype(np.float32), load_labels(place / "data" / "Y.trn.npz")
    (place / "texts").mkdir()
    save(place / "texts" / "train.txt", Y, features=X)
    assert main(["train", "texts", "-o", "model.tree", *QUICK, "--quiet"]) == 0
    LabelTree(**PARAMETERS).fit(X, Y).save("python.tree")
    assert (place / "model.tree").read_bytes() == (place / "python.tree").read_bytes()


def test_two_files_and_every_option(place):
    files = "data/X.trn.npz", "data/Y.trn.npz"
    words = "--tree random --n-trees 2 --loss squared-hinge -C 2 --positive-weight 1.5 --threshold 0.2"
    more = "--tree-tolerance 0.2 --seed 3 --workers 1 --quiet"
    assert main(["train", *files, "-o", "model.tree", *QUICK, *words.split(), *more.split()]) == 0
    expected = {
        **PARAMETERS,
        "tree": "random",
        "n_trees": 2,
        "loss": "squared-hinge",
        "C": 2.0,
        "positive_weight": 1.5,
        "threshold": 0.2,
        "tolerance": 0.2,
        "random_state": 3,
        "n_jobs": 1,
    }
    loaded = LabelTree.load("model.tree")
    assert {name: loaded.get_params()[name] for name in expected} == expected


def test_quiet_says_nothing(place, capsys):
    assert main(["train", "data", "-o", "model.tree", *QUICK, "--quiet"]) == 0
    assert main(["predict", "model.tree", "data/X.tst.npz", "-o", "p.npz", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_predict_gives_the_probabilities_of_python(place, capsys):
    main(["train", "data", "-o", "model.tree", *QUICK, "--quiet"])
    assert main(["predict", "model.tree", "data/X.tst.npz", "-o", "p.npz", "--top", "7", "--workers", "2"]) == 0
    assert re.fullmatch(
        r"420 probabilities of 60 instances in \d+\.\d\d s\nwritten to p\.npz\n", capsys.readouterr().out
    )
    expected = fit(place).predict_proba(load(place / "data" / "X.tst.npz"), top=7)
    np.testing.assert_array_equal(load("p.npz").toarray(), expected.toarray())
    assert main(["predict", "model.tree", "data/X.tst.npz", "-o", "p.npz", "--beam", "1", "--overwrite"]) == 0
    assert load("p.npz").nnz < 60 * 30


def test_predict_reads_the_features_of_a_file_that_holds_labels_too(place):
    main(["train", "data", "-o", "model.tree", *QUICK, "--quiet"])
    X = load("data/X.tst.npz")
    save("test.txt", load_labels("data/Y.tst.npz"), features=X)
    assert main(["predict", "model.tree", "test.txt", "-o", "p.jsonl", "--quiet"]) == 0
    expected = fit(place).predict_proba(X).toarray()
    np.testing.assert_allclose(load("p.jsonl", label_names="data/labels.txt").toarray(), expected, rtol=1e-5)


def test_a_calibrator_by_cross_validation(place, capsys):
    words = "--calibrator calibrator.npz --calibration platt --by frequency --folds 3 --top 20"
    assert main(["train", "data", "-o", "model.tree", *QUICK, *words.split()]) == 0
    assert capsys.readouterr().out.endswith("calibrator (platt, 3 folds) written to calibrator.npz\n")
    X, Y = load(place / "data" / "X.trn.npz"), load_labels(place / "data" / "Y.trn.npz")
    expected = Calibrator("platt", by="frequency").fit_cross_validated(LabelTree(**PARAMETERS), X, Y, folds=3, top=20)
    expected.save("python.npz")
    assert (place / "calibrator.npz").read_bytes() == (place / "python.npz").read_bytes()
    arguments = "predict", "model.tree", "data/X.tst.npz", "--calibrator", "calibrator.npz", "-o", "p.npz", "--top", "9"
    assert main([*arguments]) == 0
    raw = fit(place).predict_proba(load(place / "data" / "X.tst.npz"), top=9)
    np.testing.assert_array_equal(load("p.npz").toarray(), expected.transform(raw).toarray())


def test_from_training_to_evaluation_in_processes_of_their_own(run_apart, data_folder):
    place = data_folder.parent
    assert run_apart(place, "train", "data", "-o", "model.tree", *QUICK).code == 0
    assert run_apart(place, "predict", "model.tree", "data/X.tst.npz", "-o", "p.npz").code == 0
    assert run_apart(place, "select", "p.npz", "-u", "precision", "-k", 2, "-o", "chosen.npz").code == 0
    done = run_apart(place, "evaluate", "data/Y.tst.npz", "chosen.npz", "-m", "macro-f1", "--format", "csv")
    truth = load_labels(place / "data" / "Y.tst.npz")
    expected = tw.evaluate(truth, tw.select(load(place / "p.npz"), "precision", 2), ["macro-f1"])["macro-f1"]
    assert done.out == f"metric,value\nmacro-f1,{expected!r}\n"


@pytest.mark.parametrize("name", ["model.tree", "calibrator.npz"])
def test_outputs_that_exist_are_replaced_only_when_asked_for(place, capsys, name):
    (place / name).write_bytes(b"precious")
    arguments = "train", "data", "-o", "model.tree", "--calibrator", "calibrator.npz", "--folds", "2", *QUICK
    assert main([*arguments]) == 2
    assert f"Got {name}, which exists. Use --overwrite" in capsys.readouterr().err
    assert (place / name).read_bytes() == b"precious"
    assert main([*arguments, "--overwrite"]) == 0
    assert LabelTree.load("model.tree").n_labels_ == Calibrator.load("calibrator.npz").n_labels_ == 30


@pytest.fixture
def bad_place(place):
    """With files that have something wrong in each."""
    main(["train", "data", "-o", "model.tree", *QUICK, "--quiet"])
    whole = (place / "model.tree").read_bytes()
    (place / "cut.tree").write_bytes(whole[: len(whole) // 2])
    (place / "text.tree").write_text("no tree")
    save(place / "fewer.npz", sp.random(5, 9, 0.5, random_state=0))
    save(place / "counts.npz", np.full((240, 30), 2))
    save(place / "short.npz", np.ones((7, 30)))
    (place / "empty").mkdir()
    (place / "unfinished").mkdir()
    save(place / "unfinished" / "Y.trn.npz", np.eye(3))
    Calibrator().fit([[0.5, 0.2]], [[1, 0]]).save(place / "other.npz")
    return place


TRAIN, PREDICT = "train data -o new.tree", "predict model.tree data/X.tst.npz -o p.npz"
ERRORS = {
    "no folder": ("train none -o new.tree", r"must name the folder of a data set\. Got none, which does not exist"),
    "empty folder": ("train empty -o new.tree", r"must name the folder of a data set\. Got empty, which has neither"),
    "no features": ("train unfinished -o new.tree", r"unfinished must hold features and labels of training instances"),
    "three names": ("train a b c -o new.tree", r"DATA must be a folder, or two files.*Got 3 paths\."),
    "no file": ("train none.npz data/Y.trn.npz -o new.tree", r"none\.npz does not exist"),
    "labels are counts": ("train data/X.trn.npz counts.npz -o new.tree", r"counts\.npz must hold only 0 and 1"),
    "other instances": ("train data/X.trn.npz short.npz -o new.tree", r"same number of rows\. Got 240 and 7\."),
    "no place": ("train data -o none/new.tree", r"folder that exists\. Got none/new\.tree"),
    "place is a folder": ("train data -o empty", r"Got empty, which is a directory"),
    "tree": (f"{TRAIN} --tree oak", r"tree must be one of k-means, random, huffman\. Got 'oak'\."),
    "loss": (f"{TRAIN} --loss hinge", r"loss must be one of logistic, squared-hinge\. Got 'hinge'\."),
    "C": (f"{TRAIN} -C 0", r"C must be a finite number above 0\. Got 0\.0\."),
    "arity": (f"{TRAIN} --arity 1", r"arity must be an integer of at least 2\. Got 1\."),
    "seed": (f"{TRAIN} --seed=-1", r"seed must be an integer of at least 0\. Got -1\."),
    "seed huge": (f"{TRAIN} --seed 99999999999999999999999", r"seed must be .* from 0 to 4294967295\. Got 9{23}\."),
    "workers": (f"{TRAIN} --workers 100000", r"--workers must be at most \d+ .* Got 100000\. Omit it"),
    "workers none": (f"{TRAIN} --workers 0", r"--workers must be an integer of at least 1, or omitted.* Got 0\."),
    "calibration": (f"{TRAIN} --calibrator c.npz --calibration best", r"method must be one of isotonic.*Got 'best'\."),
    "by": (f"{TRAIN} --calibrator c.npz --by label", r"by must be one of all, frequency\. Got 'label'\."),
    "folds": (f"{TRAIN} --calibrator c.npz --folds 1", r"folds must be an integer between 2 and 240.*Got 1\."),
    "calibration alone": (
        f"{TRAIN} --calibration platt",
        r"--calibration needs --calibrator\. Got it alone\. Add",
    ),
    "folds alone": (f"{TRAIN} --folds 5", r"--folds needs --calibrator\. Got it alone\."),
    "by alone": (f"{TRAIN} --by all", r"--by needs --calibrator\. Got it alone\."),
    "top alone": (f"{TRAIN} --top 100", r"--top needs --calibrator\. Got it alone\."),
    "no model": (PREDICT.replace("model.tree", "none.tree"), r"none\.tree"),
    "cut model": (
        PREDICT.replace("model.tree", "cut.tree"),
        r"cut\.tree must be a complete file that save of a model wrote",
    ),
    "no tree": (
        PREDICT.replace("model.tree", "text.tree"),
        r"text\.tree must be a complete file that save of a model wrote",
    ),
    "other features": (PREDICT.replace("data/X.tst.npz", "fewer.npz"), r"9 features.*40 features"),
    "no test features": (PREDICT.replace("data/X.tst.npz", "none.npz"), r"none\.npz does not exist"),
    "top": (f"{PREDICT} --top 0", r"top must be an integer of at least 1\. Got 0\."),
    "beam": (f"{PREDICT} --beam 0", r"beam must be an integer of at least 1\. Got 0\."),
    "top huge": (f"{PREDICT} --top 99999999999999999999", r"top must be .* at most 9223372036854775807\. Got 9{20}\."),
    "beam huge": (f"{PREDICT} --beam 99999999999999999999", r"beam must be .* at most 9223372036854775807\. Got 9{20}"),
    "workers of predict": (f"{PREDICT} --workers 100000", r"--workers must be at most \d+ .* Got 100000\. Omit"),
    "other calibrator": (f"{PREDICT} --calibrator other.npz", r"probabilities must have 2 labels\. Got 30\."),
    "no calibrator": (
        f"{PREDICT} --calibrator model.tree",
        r"model\.tree must be a complete file that Calibrator\.save",
    ),
    "suffix": (PREDICT.replace("p.npz", "p.docx"), r"must end in a known suffix"),
    "exists": (
        PREDICT.replace("p.npz", "fewer.npz"),
        r"Got fewer\.npz, which exists\. Use --overwrite",
    ),
}


@pytest.mark.parametrize(("words", "message"), ERRORS.values(), ids=ERRORS)
def test_errors(bad_place, capsys, words, message):
    before = {path: path.read_bytes() for path in bad_place.rglob("*") if path.is_file()}
    assert main([*words.split(), *(QUICK if words.startswith(TRAIN) and "arity" not in words else ())]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"tailwise: error: [^\n]*\n", err)
    assert re.search(message, err)
    assert {path: path.read_bytes() for path in bad_place.rglob("*") if path.is_file()} == before


def test_interrupted_training_writes_nothing(place, capsys, monkeypatch):
    def stop(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(LabelTree, "fit", stop)
    assert main(["train", "data", "-o", "model.tree"]) == 130
    assert capsys.readouterr() == ("", "tailwise: interrupted\n")
    assert [path.name for path in place.iterdir()] == ["data"]
