"""``tailwise explain``, ``trade-off`` and ``calibrate``."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import tailwise as tw
from tailwise.cli.main import main
from tailwise.inputs import paths

FILES = ["--selection", "chosen.npz", "-u", "macro-f1"]
EXPLAIN = ["explain", "probabilities.npz"]


@pytest.fixture
def place(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert main(["select", "probabilities.npz", "-u", "macro-f1", "-k", "3", "-o", "chosen.npz", "--quiet"]) == 0
    return folder


def test_an_instance_as_text_and_as_json(place, capsys):
    selection = tw.select("probabilities.npz", "macro-f1", 3)
    assert main([*EXPLAIN, "5", *FILES, "--priors", "training.npz"]) == 0
    assert capsys.readouterr().out == f"{selection.explain(5, priors=tw.load('training.npz'))}\n"
    assert main([*EXPLAIN, "5", *FILES, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["labels"][0]["gain"] == pytest.approx(selection.explain(5).labels[0].gain)
    assert found["versions"]["tailwise"] == tw.__version__


def test_a_label(place, capsys):
    assert main([*EXPLAIN, "--label", "4", *FILES]) == 0
    assert capsys.readouterr().out.startswith("label 4 is chosen for ")


@pytest.mark.parametrize(
    "command", [[*EXPLAIN, "5", *FILES], ["report", "--probabilities", "probabilities.npz", *FILES, "-o", "page.html"]]
)
def test_probabilities_are_read_once(place, monkeypatch, command):
    read, load_contents = [], paths.load_contents

    def spy(path, **options):
        read.append(path)
        return load_contents(path, **options)

    monkeypatch.setattr(paths, "load_contents", spy)
    assert main(command) == 0
    assert read.count("probabilities.npz") == 1


def test_a_hostile_label_name_is_shown_harmlessly(place, capsys):
    Path("labels.txt").write_text("".join(f"\x1b[2Jname {j}\n" for j in range(60)))
    assert main([*EXPLAIN, "5", *FILES]) == 0
    out = capsys.readouterr().out
    assert "\\x1b[2Jname" in out
    assert "\x1b" not in out


def test_a_run(data_folder, monkeypatch, capsys):
    monkeypatch.chdir(data_folder.parent)
    quick = ("--max-epochs", "3", "--arity", "4", "--leaf-size", "8", "--quiet")
    assert main(["run", "data", "-u", "macro-f1", "-k", "2", "-o", "out", *quick]) == 0
    assert main(["explain", "out", "3"]) == 0
    assert "Wörter" in capsys.readouterr().out
    assert main(["run", "data", "-u", "macro-f1", "-k", "2", "-o", "tree", "--method", "tree", *quick]) == 0
    assert main(["explain", "tree", "3"]) == 2
    assert "tree must hold probabilities to be explained." in capsys.readouterr().err


FAULTS = {
    "both": ([*EXPLAIN, "5", *FILES, "--label", "4"], "needs either an INSTANCE or --label"),
    "neither": ([*EXPLAIN, *FILES], "needs either an INSTANCE or --label"),
    "no selection": ([*EXPLAIN, "5"], "Probabilities need --selection FILE and -u UTILITY"),
    "no such instance": (
        [*EXPLAIN, "200", *FILES],
        "instance must be one of the batch. Got '200'. Use a number from 0 to 199.",
    ),
    "calibrate what": (["calibrate", "-o", "c.npz"], "needs PROBS and TRUTH to fit a calibrator, or --use FILE"),
    "apply to": (["calibrate", "--use", "c.npz", "--apply", "probabilities.npz"], "--apply and --to must be given"),
    "no output": (["calibrate", "probabilities.npz", "truth.npz"], "needs an output: -o FILE for the calibrator"),
}


@pytest.mark.parametrize(("words", "message"), FAULTS.values(), ids=FAULTS)
def test_what_is_refused(place, capsys, words, message):
    assert main(words) == 2
    assert message in capsys.readouterr().err


def test_a_label_says_how_many_instances_could_have_it(place, capsys):
    assert main([*EXPLAIN, "--label", "3", *FILES]) == 0
    assert re.search(r"is chosen for \d+ of \d+ instances that could have it; ", capsys.readouterr().out)


def test_a_trade_off(place, capsys):
    words = ["trade-off", "probabilities.npz", "-k", "3", "--alphas", "0,0.5,1"]
    curve = tw.trade_off("probabilities.npz", "precision", "macro-f1", 3, alphas=[0, 0.5, 1])
    assert main([*words, "--csv", "curve.csv", "--max-drop", "0.2"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(str(curve))
    assert f'-u "{curve.best(0.2).selection.utility}" -k 3 -o chosen.npz' in out
    table = np.loadtxt("curve.csv", delimiter=",", skiprows=1)
    np.testing.assert_array_equal(table, curve.to_frame().to_numpy())
    matrix = tw.load("probabilities.npz")
    tw.save("ids.csv", matrix, instance_names=[f"r{i}" for i in range(matrix.shape[0])])
    assert main(["trade-off", "ids.csv", *words[2:], "--max-drop", "0.2"]) == 0
    assert "-o chosen.csv" in capsys.readouterr().out  # which keeps the ids
    assert main([*words, "--json", "--max-drop", "0.2"]) == 0
    assert json.loads(capsys.readouterr().out)["best"]["alpha"] == curve.best(0.2).alpha


def test_calibration(place, capsys):
    words = ["calibrate", "probabilities.npz", "truth.npz", "-o", "calibrator.npz"]
    assert main([*words, "--apply", "probabilities.npz", "--to", "first.npz"]) == 0
    assert (
        "calibrator written to calibrator.npz\ncalibrated probabilities written to first.npz" in capsys.readouterr().out
    )
    fitted = tw.Calibrator().fit("probabilities.npz", "truth.npz").transform("probabilities.npz")
    np.testing.assert_allclose(tw.load("first.npz").toarray(), fitted.toarray())
    assert main(["calibrate", "--use", "calibrator.npz", "--apply", "probabilities.npz", "--to", "again.npz"]) == 0
    assert (tw.load("first.npz") != tw.load("again.npz")).nnz == 0


def test_exclusions_are_called_so_and_are_no_alternatives_in_a_report(place, capsys):
    pairs = tw.select("probabilities.npz", "macro-f1", 3).to_csr()
    tw.save("seen.npz", pairs)
    exclude = ["--exclude", "seen.npz"]
    assert main(["select", "probabilities.npz", "-u", "macro-f1", "-k", "2", "-o", "new.npz", "--quiet", *exclude]) == 0
    files = ["--selection", "new.npz", "-u", "macro-f1"]
    assert main([*EXPLAIN, "5", *files, *exclude, "--others", "100", "--json"]) == 0
    others = json.loads(capsys.readouterr().out)["others"]
    held_back = {each["label"] for each in others if each["held_back"] == "exclusion"}
    assert held_back == set(pairs[[5]].indices.tolist())
    selection = tw.select("probabilities.npz", "macro-f1", 2, exclude="seen.npz")
    same = selection.explain(5, others=100).to_dict()["others"]
    gains, expected = ({each["label"]: each["gain"] for each in reasons} for reasons in (others, same))
    assert gains == pytest.approx(expected, rel=1e-9)
    assert main(["report", "--probabilities", "probabilities.npz", *files, *exclude, "-o", "page.html"]) == 0
    data = json.loads(
        re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', Path("page.html").read_text(), re.S)[1]
    )
    for own, rest, top, row in zip(data["own"], data["others"], data["top"], pairs, strict=True):
        assert not {*own[::4], *rest[::4], *top} & set(row.indices.tolist())


def test_a_selection_with_excluded_pairs_is_not_explained(place, capsys):
    tw.save("seen.npz", tw.select("probabilities.npz", "macro-f1", 3).to_csr())
    assert main([*EXPLAIN, "5", *FILES, "--exclude", "seen.npz"]) == 2
    assert "selection must not hold excluded pairs" in capsys.readouterr().err
