"""``tailwise certify``."""

import json

import numpy as np
import pytest

import tailwise as tw
from tailwise.cli.main import main
from tailwise.selection.observer import Observer

WORDS = ["certify", "probabilities.npz", "top.npz", "-u", "macro-f1", "-k", "3"]


@pytest.fixture
def place(folder, monkeypatch):
    """A folder with probabilities and the three most probable labels of each instance."""
    monkeypatch.chdir(folder)
    tw.save("top.npz", tw.select("probabilities.npz", "precision", 3))
    return folder


def test_a_selection_is_judged_as_in_python(place, capsys):
    certificate = tw.certify("probabilities.npz", "macro-f1", 3, "top.npz")
    assert certificate.relative_gap > 0.01
    assert main(WORDS) == 0
    assert capsys.readouterr().out == f"{certificate}\n"


def test_json(place, capsys):
    certificate = tw.certify("probabilities.npz", "macro-f1", 3, "top.npz", target_gap=0.5)
    assert main([*WORDS, "--target-gap", "0.5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["command"], found["utility"], found["k"]) == ("certify", "macro-f1", 3)
    assert (found["value"], found["upper"]) == (certificate.value, certificate.upper)
    assert found["versions"]["tailwise"] == tw.__version__


@pytest.fixture
def time_for_one_round(monkeypatch):
    """The time limit is reached when the first round of the proof has ended."""
    told, tell = [], Observer.told
    monkeypatch.setattr(Observer, "told", lambda *arguments: (told.append(1), tell(*arguments)))
    monkeypatch.setattr(Observer, "has_time", lambda _: not told)


def test_a_time_limit_gives_a_valid_bound_and_exit_code_4(place, capsys, request):
    attained = tw.select("probabilities.npz", "macro-f1", 3, certify=True).expected
    request.getfixturevalue("time_for_one_round")
    assert main([*WORDS, "--target-gap", "0", "--max-seconds", "1e-9", "--json"]) == 4
    captured = capsys.readouterr()
    assert json.loads(captured.out)["upper"] >= attained
    assert "stopped after --max-seconds 1e-09" in captured.err


@pytest.mark.parametrize("words", [["-u", "precision"], ["-k", "none"], ["--rounds", "1"], ["--target-gap", "9"]])
@pytest.mark.usefixtures("time_for_one_round")
def test_a_proof_that_ended_by_itself_is_not_late(place, words):
    assert main([*WORDS, *words, "--max-seconds", "1e-9"]) == 0


def test_without_time_for_a_round_there_is_no_bound(place, capsys):
    assert main([*WORDS, "--max-seconds", "1e-9"]) == 2
    assert "--max-seconds must leave time for one round of the proof. Got 1e-09." in capsys.readouterr().err


def test_instances_are_matched_by_name(place, capsys):
    rows = ["instance,label,probability", "a,x,0.9", "a,y,0.2", "b,x,0.8", "b,y,0.7"]
    (place / "named.csv").write_text("\n".join(rows) + "\n")
    (place / "chosen.csv").write_text("instance,label\nb,y\na,x\n")
    assert main(["certify", "named.csv", "chosen.csv", "-u", "macro-precision", "-k", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert np.isclose(found["value"], (0.9 + 0.7) / 2)
    assert np.isclose(found["upper"], found["value"])


def test_what_cannot_be_certified_is_refused(place, capsys):
    assert main(["certify", "probabilities.npz", "top.npz", "-u", "macro-auc", "-k", "3"]) == 2
    assert "There is no upper bound for it yet." in capsys.readouterr().err
    assert main(["certify", "probabilities.npz", "top.npz", "-u", "macro-f1", "-k", "2"]) == 2
    assert "selection must hold at most k=2 labels for an instance" in capsys.readouterr().err
