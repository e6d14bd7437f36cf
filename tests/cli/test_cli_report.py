"""``tailwise report``: one page, written whole or not at all."""

import json
import os
import re
import shutil

import numpy as np
import pytest

from tailwise.cli.main import main
from tailwise.datasets import save
from tailwise.reports.page import build_page

RUN = ("-u", "macro-f1", "-k", "2", "--max-epochs", "3", "--arity", "4", "--leaf-size", "8", "--quiet")
ALPHAS = ("--alphas", "0,0.5,1")


@pytest.fixture
def place(data_folder, monkeypatch):
    """Be beside the folder of a run."""
    monkeypatch.chdir(data_folder.parent)
    assert main(["run", "data", "-o", "out", *RUN]) == 0
    shutil.rmtree("data")  # the report needs nothing of it
    return data_folder.parent


def test_the_page_is_written_into_the_folder(place, capsys):
    assert main(["report", "out", *ALPHAS]) == 0
    out, err = capsys.readouterr()
    assert re.fullmatch(r"\d\.\d MB written to out/report\.html\n", out)
    assert err == ""
    assert (place / "out" / "report.html").read_text(encoding="utf-8") == build_page("out", alphas=[0, 0.5, 1])


def test_elsewhere_and_quietly(place, capsys):
    assert main(["report", "out", "-o", "page.html", *ALPHAS, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert (place / "page.html").exists()
    assert not (place / "out" / "report.html").exists()


def test_a_page_is_replaced_only_when_asked_for(place, capsys):
    (place / "page.html").write_text("precious")
    assert main(["report", "out", "-o", "page.html", *ALPHAS]) == 2
    assert "Got page.html, which exists. Use --overwrite to replace it." in capsys.readouterr().err
    assert (place / "page.html").read_text() == "precious"
    assert main(["report", "out", "-o", "page.html", *ALPHAS, "--overwrite"]) == 0
    assert (place / "page.html").stat().st_size > 1_000_000


def test_a_bar_on_a_terminal(place, start_on_terminal):
    process, terminal = start_on_terminal(place, "report", "out", *ALPHAS)
    shown = b""
    with os.fdopen(terminal, "rb", buffering=0) as screen:
        while True:
            try:
                block = screen.read(1000)
            except OSError:  # what Linux says when the other end has closed
                break
            if not block:
                break
            shown += block
    assert process.wait() == 0
    process.stdout.close()
    assert b"trade-off" in shown
    assert b"0/3" in shown


def change_record(*way, value):
    """Put a value into the record, at the end of the way of keys."""

    def change(folder):
        record = json.loads((folder / "run.json").read_text())
        inner = record
        for key in way[:-1]:
            inner = inner[key]
        inner[way[-1]] = value
        (folder / "run.json").write_text(json.dumps(record))

    return change


def remove(name):
    return lambda folder: (folder / name).unlink()


def write(name, content):
    return lambda folder: (folder / name).write_bytes(content)


def write_matrix(name, matrix):
    return lambda folder: save(folder / name, matrix)


DAMAGE = {
    "no record": (remove("run.json"), r"out, which has neither run\.json nor experiment\.json\. .* -o out-run\n"),
    "broken record": (
        write("run.json", b'{"configuration": '),
        r"run\.json must be a record in JSON\. Reading it failed",
    ),
    "empty record": (write("run.json", b"{}"), r"run\.json must hold 'configuration', an object\. Got nothing\."),
    "no seconds": (change_record("seconds", "load", value="long"), r"seconds must hold 'load', a number\. Got 'long'"),
    "no seed": (change_record("seed", value=None), r"run\.json must hold 'seed', an integer\. Got None\."),
    "certificate": (
        change_record("selection", "certificate", value={"value": 1}),
        r"selection, certificate must hold 'upper', a number\. Got nothing",
    ),
    "propensity": (
        change_record("configuration", "propensity", value=[0.5]),
        r"configuration must hold 'propensity', two numbers above 0\. Got \[0\.5\]\.",
    ),
    "utility": (change_record("configuration", "utility", value="best"), r"utility must be a known name\. Got 'best'"),
    "budget": (
        change_record("configuration", "k", value=99),
        r"run\.json must hold k = 2 to match selection\.npz\. Got 99",
    ),
    "no selection": (remove("selection.npz"), r"out must hold selection\.npz, which run.json lists"),
    "no truth": (remove("truth.npz"), r"out must hold truth\.npz, which run.json lists"),
    "no priors": (remove("priors.npz"), r"out must hold priors\.npz"),
    "no probabilities": (remove("probabilities.npz"), r"out must hold probabilities\.npz"),
    "broken priors": (write("priors.npz", b"no zip"), r"priors\.npz must hold the label counts"),
    "other priors": (write_matrix("priors.npz", np.eye(3)), r"priors\.npz must hold the label counts .* Got indices"),
    "broken probabilities": (write("probabilities.npz", b"no zip"), r"probabilities\.npz must be an \.npz file"),
    "other truth": (write_matrix("truth.npz", np.eye(3)), r"truth\.npz must have shape \(60, 30\).* Got \(3, 3\)"),
    "other names": (write("labels.txt", b"one\ntwo\n"), r"labels\.txt must have shape \(30,\).* Got \(2,\)"),
}


@pytest.mark.parametrize(("damage", "message"), DAMAGE.values(), ids=DAMAGE)
def test_broken_folders(place, capsys, damage, message):
    damage(place / "out")
    refuse(place, capsys, ["report", "out", *ALPHAS], message)


OPTIONS = {
    "no folder": (
        ["report", "none"],
        r"The folder must be the output of tailwise run .*Got none, which does not exist\.",
    ),
    "a file": (["report", "out/run.json"], r"The folder must be the output .*Got out/run\.json, which is a file\."),
    "alphas": (["report", "out", "--alphas", "0,2"], r"alphas must hold at least one number, all between 0 and 1\."),
    "no place": (["report", "out", "-o", "none/page.html"], r"folder that exists\. Got none/page\.html"),
    "place is a folder": (["report", "out", "-o", "out"], r"Got out, which is a directory"),
}


@pytest.mark.parametrize(("words", "message"), OPTIONS.values(), ids=OPTIONS)
def test_bad_options(place, capsys, words, message):
    refuse(place, capsys, words, message)


def refuse(place, capsys, words, message):
    before = sorted(place.rglob("*"))
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"tailwise: error: [^\n]*\n", err)
    assert re.search(message, err)
    assert sorted(place.rglob("*")) == before


def test_alphas_that_are_no_numbers(place, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["report", "out", "--alphas", "a,b"])
    assert "alphas must be numbers from 0 to 1, separated by commas. Got 'a,b'." in capsys.readouterr().err


def test_interrupted_nothing_is_written(place, capsys, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("tailwise.reports.dial.trade_off", stop)
    assert main(["report", "out"]) == 130
    assert not (place / "out" / "report.html").exists()
    assert not list((place / "out").glob(".tailwise*"))


def test_in_a_process_of_its_own(place, run_apart):
    assert run_apart(place, "report", "out", *ALPHAS).code == 0
    assert (place / "out" / "report.html").exists()


@pytest.mark.parametrize("words", [("--texts", "titles.txt"), ("--title", "Ours"), ("-u", "coverage")])
def test_options_of_files_are_refused_for_a_run(tmp_path, words, capsys):
    assert main(["report", str(tmp_path), *words]) == 2
    err = capsys.readouterr().err
    assert f"{words[0].replace('-u', '--utility')} can only be given with --probabilities and --selection" in err


def test_an_unfinished_run(tmp_path, capsys):
    (tmp_path / ".tailwise-unfinished.json").write_text("[]")
    assert main(["report", str(tmp_path)]) == 2
    assert "It is not finished. Start the same run again to resume it." in capsys.readouterr().err
