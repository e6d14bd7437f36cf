"""``tailwise evaluate`` prints what ``tailwise.evaluate`` returns, for people and for programs."""

import csv
import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import tailwise as tw
from tailwise.datasets import load_selection, save, save_selection
from tailwise.inputs.chosen import Chosen


@pytest.fixture
def chosen(folder, data):
    """A selection of three labels, best first, in the folder."""
    selection = tw.select(data.probabilities, "macro-f1", 3)
    save_selection(folder / "chosen.npz", selection)
    return selection


def refuse_constant(name):
    msg = f"{name} is no JSON"
    raise ValueError(msg)


def test_select_then_evaluate_is_what_python_gives(run_apart, folder, data):
    assert run_apart(folder, "select", "probabilities.npz", "-u", "coverage", "-k", 4, "-o", "chosen.npz").code == 0
    done = run_apart(folder, "evaluate", "truth.npz", "chosen.npz", "--format", "json", "--priors", "training.npz")
    assert (done.code, done.err) == (0, "")
    expected = tw.evaluate(data.truth, tw.select(data.probabilities, "coverage", 4), priors=data.training)
    assert json.loads(done.out) == expected.to_dict()


def test_json_is_json_even_without_a_number(run, folder):
    save_selection(folder / "chosen.npz", Chosen.of(np.full((200, 1), -1), 60))
    options = "--zero-division", "nan", "--format", "json", "-m", "macro-precision"
    done = run(folder, "evaluate", "truth.npz", "chosen.npz", *options)
    assert (done.code, done.err) == (0, "")
    assert list(json.loads(done.out, parse_constant=refuse_constant)) == ["macro-precision"]


def test_csv(run, folder, data, chosen):
    done = run(folder, "evaluate", "truth.npz", "chosen.npz", "--format", "csv", "-k", 2)
    assert (done.code, done.err) == (0, "")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert {row["metric"]: float(row["value"]) for row in rows} == tw.evaluate(data.truth, chosen, k=2).to_dict()


def test_metrics_and_labels_that_are_asked_for(run, folder, data, chosen):
    metrics, options = ("-m", "macro-f1", "--metric", "macro-fbeta(2)"), ("--labels", "present", "--zero-division", "1")
    done = run(folder, "evaluate", "truth.npz", "chosen.npz", *metrics, *options, "--format", "json")
    expected = tw.evaluate(data.truth, chosen, ["macro-f1", "macro-fbeta(2)"], labels="present", zero_division=1.0)
    assert json.loads(done.out) == expected.to_dict()


def test_text(run, folder, data, chosen):
    done = run(folder, "evaluate", "truth.npz", "chosen.npz")
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{tw.evaluate(data.truth, chosen)}\n"
    assert "\033" not in done.out


def test_text_with_priors_shows_head_and_tail(run, folder, data, chosen):
    done = run(folder, "evaluate", "truth.npz", "chosen.npz", "--priors", "training.npz")
    evaluation = tw.evaluate(data.truth, chosen, priors=data.training)
    values, bins = done.out.split("\n\nby training frequency, percent\n")
    assert values == str(evaluation)
    assert bins.split("\n")[0].split() == ["mP", "mR", "mF1", "coverage"]
    for line, each in zip(bins.split("\n")[1:], evaluation.by_frequency(), strict=False):
        assert line.startswith(f"{each.name}, {each.n_labels} labels  ")
        assert float(line.split()[-2]) == pytest.approx(100 * each.macro_f1, abs=0.005)


def test_the_propensity_model_may_be_another(run, folder, data, chosen):
    options = "--priors", "training.npz", "--propensity", "0.6", "2.6", "--format", "json"
    values = json.loads(run(folder, "evaluate", "truth.npz", "chosen.npz", *options).out)
    assert values == tw.evaluate(data.truth, chosen, priors=data.training, propensity=(0.6, 2.6)).to_dict()
    assert values["ps-precision"] != tw.evaluate(data.truth, chosen, priors=data.training)["ps-precision"]


def test_what_was_expected_beside_what_came_true(run, folder, data, chosen):
    arguments = "evaluate", "truth.npz", "chosen.npz", "--probabilities", "probabilities.npz"
    evaluation = tw.evaluate(data.truth, chosen, probabilities=data.probabilities)
    assert run(folder, *arguments).out == f"{evaluation}\n"
    values = json.loads(run(folder, *arguments, "--format", "json").out)
    assert values == {**evaluation, "expected": evaluation.expected}
    rows = list(csv.DictReader(io.StringIO(run(folder, *arguments, "--format", "csv").out)))
    assert {row["metric"]: float(row["value"]) for row in rows} == evaluation.to_dict()
    assert {row["metric"]: float(row["expected"]) for row in rows if row["expected"]} == evaluation.expected


def test_a_plain_matrix_is_a_selection_too(run, folder, data, chosen):
    save(folder / "matrix.npz", chosen.to_csr())
    done = run(folder, "evaluate", "truth.npz", "matrix.npz", "--format", "json")
    assert json.loads(done.out) == tw.evaluate(data.truth, chosen.to_csr()).to_dict()
    assert not load_selection(folder / "matrix.npz").is_ranked


def pipe(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_standard_input_is_either_file(run, folder, chosen, monkeypatch):
    wanted = run(folder, "evaluate", "truth.npz", "chosen.npz").out
    for name, arguments in (("truth.npz", ("-", "chosen.npz")), ("chosen.npz", ("truth.npz", "-"))):
        pipe(monkeypatch, (folder / name).read_bytes())
        assert run(folder, "evaluate", *arguments).out == wanted
    assert "- must be given once" in run(folder, "evaluate", "-", "-").err
    pipe(monkeypatch, b"")
    assert "standard input must hold the file that - stands for. It is empty" in run(folder, "evaluate", "-", "x").err
    pipe(monkeypatch, b"nothing\n")
    assert "error: standard input" in run(folder, "evaluate", "-", "chosen.npz").err


def test_swapped_files_are_noticed(run, folder, chosen):
    done = run(folder, "evaluate", "chosen.npz", "truth.npz")
    assert done.code == 2
    assert "Got chosen.npz, which holds a selection" in done.err
    assert "tailwise evaluate TRUTH SELECTION" in done.err


@pytest.mark.parametrize("words", ["", "--format json", "--format csv", "--help"])
def test_whoever_reads_the_output_may_stop(folder, chosen, words):
    process = subprocess.Popen(
        [sys.executable, "-m", "tailwise.cli.program", "evaluate", "truth.npz", "chosen.npz", *words.split()],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=60) in ((0, 141) if "--help" in words else (141,))
    process.stderr.close()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a disk that is always full")
def test_a_full_disk_behind_the_output(folder, chosen):
    command = [sys.executable, "-m", "tailwise.cli.program", "evaluate", "truth.npz", "chosen.npz"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command, cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert done.returncode == 3
    assert done.stderr.startswith("tailwise: error: ")
    assert "Traceback" not in done.stderr
