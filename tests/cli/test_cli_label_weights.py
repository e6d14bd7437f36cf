"""Weights per label on the command line, in select and evaluate, by number, name or one a line."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import tailwise as tw
from tailwise.cli.main import main
from tailwise.datasets import load_selection
from tailwise.utilities import MacroF1

WEIGHTS = np.array([1.0, 0.5, 2.0, 0.0])


@pytest.fixture
def place(tmp_path, monkeypatch):
    rng = np.random.default_rng(4)
    tw.save(tmp_path / "p.npz", sp.csr_array(rng.random((20, 4))))
    tw.save(tmp_path / "y.npz", sp.csr_array((rng.random((20, 4)) < 0.4).astype(int)))
    (tmp_path / "labels.txt").write_text("a\nb\nc\nd\n")
    (tmp_path / "all.txt").write_text("1\n0.5\n2\n0\n")
    (tmp_path / "names.tsv").write_text("b\t0.5\nc\t2\n\nd\t0\n")
    (tmp_path / "numbers.tsv").write_text("1\t0.5\n2\t2\n3\t0\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("file", ["all.txt", "names.tsv", "numbers.tsv"])
def test_select_and_evaluate_take_weights(place, capsys, file):
    assert main(["select", "p.npz", "-u", "macro-f1", "-k", "1", "-o", "s.npz", "--label-weights", file]) == 0
    found = tw.select(tw.load("p.npz"), MacroF1(weights=WEIGHTS), 1)
    np.testing.assert_array_equal(load_selection("s.npz").labels, found.labels)
    assert "expected macro-f1 by label at 1" in capsys.readouterr().out
    options = ["-m", "macro-f1", "-m", "precision", "--format", "json", "--label-weights", file]
    assert main(["evaluate", "y.npz", "s.npz", "--probabilities", "p.npz", *options]) == 0
    values = json.loads(capsys.readouterr().out)
    per_label = tw.evaluate(tw.load("y.npz"), found, ["macro-f1"]).per_label()
    t, q, p = (per_label[f"{name}_positives"] for name in ("true", "predicted", "condition"))
    f1 = np.divide(2 * t, q + p, out=np.zeros(4), where=q + p > 0)
    assert values["macro-f1"] == pytest.approx((WEIGHTS * f1).mean())
    assert values["expected"]["macro-f1"] == pytest.approx(found.expected, rel=1e-9)
    plain = tw.evaluate(tw.load("y.npz"), found, ["precision"])
    assert values["precision"] == pytest.approx(plain["precision"])


def test_evaluate_takes_weights_in_python(place):
    truth, chosen = tw.load("y.npz"), np.tile([0, 1, 2], (20, 1))
    weighted = tw.evaluate(truth, chosen, ["macro-recall", "coverage", "micro-f1"], label_weights=WEIGHTS)
    plain = tw.evaluate(truth, chosen, ["macro-recall", "coverage", "micro-f1"])
    assert weighted["coverage"] == pytest.approx(WEIGHTS[:3].sum() / 4)
    assert weighted["micro-f1"] == plain["micro-f1"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("aa\t2\n", "names the label 'aa', which the probabilities do not name. Did you mean 'a'?"),
        ("", "It is empty"),
        ("1\nx\n", "line 2: the weight must be a number"),
        ("a\t1\na\t2\n", "line 2: must be a label that was not listed before"),
        ("a\t1\nb\n", "line 2: must be a label"),
        ("z\t1\n", "names the label 'z'"),
        ("1\n2\n", "one number per label, 4 in all"),
        ("-1\n1\n1\n1\n", "weights must be numbers from 0 to"),
    ],
)
def test_bad_weights(place, capsys, text, words):
    (place / "bad.txt").write_text(text)
    arguments = ["select", "p.npz", "-u", "macro-f1", "-k", "1", "-o", "s.npz", "--label-weights", "bad.txt"]
    assert main(arguments) == 2
    assert words in capsys.readouterr().err
    assert not (place / "s.npz").exists()


def test_weights_need_a_macro_utility(place, capsys):
    arguments = ["select", "p.npz", "-u", "precision", "-k", "1", "-o", "s.npz", "--label-weights", "all.txt"]
    assert main(arguments) == 2
    assert "--label-weights needs a macro utility or coverage" in capsys.readouterr().err
