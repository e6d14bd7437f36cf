"""What the command line says of bad input: one line that helps, exit code 2, and no file anywhere."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

from tailwise.cli.main import main
from tailwise.datasets import save

SELECT = "select probabilities.npz -u macro-f1 -k 3 -o chosen.npz"


@pytest.fixture
def bad_folder(folder, data):
    """The batch, and files with something wrong in each."""
    dense = data.probabilities.toarray()
    dense[3, 5] = -2.5
    save(folder / "logits.npz", dense)
    dense[3, 5] = np.nan
    save(folder / "nan.npz", dense)
    twice = sp.csr_array((np.array([0.5, 0.25]), np.array([4, 4]), np.array([0, 0, 2])), shape=(2, 60))
    sp.save_npz(folder / "twice.npz", twice)
    whole = (folder / "probabilities.npz").read_bytes()
    (folder / "truncated.npz").write_bytes(whole[: len(whole) // 2])
    (folder / "text.npz").write_text("instance,label,probability\n0,1,0.5\n")
    np.savez(folder / "dense.npz", dense)
    save(folder / "fewer.npz", data.training[:, :50])
    return folder


def list_contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


FILES = {
    "missing file": (
        "select missing.npz -u macro-f1 -k 3 -o chosen.npz",
        r"missing\.npz does not exist\. Check",
    ),
    "misspelt file": (
        SELECT.replace("ties.npz", "tis.npz"),
        r"^tailwise: error: probabilitis\.npz does not exist\. Did you mean probabilities\.npz\?",
    ),
    "misspelt suffix": (
        SELECT.replace("ties.npz", "ties.csv"),
        r"probabilities\.csv does not exist\. Did you mean probabilities\.npz\?",
    ),
    "truncated file": ("select truncated.npz -u macro-f1 -k 3 -o chosen.npz", r"truncated\.npz .* cut short"),
    "text file": ("select text.npz -u macro-f1 -k 3 -o chosen.npz", r"text\.npz must be an \.npz file"),
    "dense file": ("select dense.npz -u macro-f1 -k 3 -o chosen.npz", r"dense\.npz must hold a sparse matrix"),
    "unknown suffix": ("select a.txt -u macro-f1 -k 3 -o chosen.npz", r"."),
    "logits": (
        "select logits.npz -u macro-f1 -k 3 -o chosen.npz",
        r"Got -2\.5 for instance 3, label 5\. If these are logits",
    ),
    "nan": ("select nan.npz -u macro-f1 -k 3 -o chosen.npz", r"Got nan for instance 3, label 5\."),
    "label twice": ("select twice.npz -u macro-f1 -k 3 -o chosen.npz", r"Instance 1 holds label 4 twice"),
    "no folder for the output": (SELECT.replace("chosen", "none/chosen"), r"folder that exists\. Got none/chosen\.npz"),
    "output exists": (
        SELECT.replace("chosen", "truth"),
        r"Got truth\.npz, which exists\. Use --overwrite",
    ),
    "output without suffix": (SELECT.replace("chosen.npz", "chosen"), r"must end in a known suffix"),
    "output that is only read": (SELECT.replace("chosen.npz", "chosen.annif"), r"suffix: .*Choose one of these\."),
    "unknown output": (SELECT.replace("chosen.npz", "a.xlsx"), r"Choose one of these\."),
    "output is a folder": (SELECT.replace("chosen.npz", "."), r"."),
}


@pytest.mark.parametrize("name", ["truncated file", "logits"])
def test_bad_files_in_a_process_of_its_own(run_apart, bad_folder, name):
    words, message = FILES[name]
    before = list_contents(bad_folder)
    done = run_apart(bad_folder, *words.split())
    assert done.code == 2
    assert done.out == ""
    assert re.fullmatch(r"tailwise: error: [^\n]*\n", done.err)
    assert re.search(message, done.err)
    assert list_contents(bad_folder) == before


OPTIONS = {
    "k zero": (SELECT.replace("3", "0"), r"k must be an integer between 1 and 60, the number of labels\. Got 0\."),
    "k too large": (
        SELECT.replace("3", "61"),
        r"between 1 and 60, the number of labels\. Got 61\. Use -k none for no budget",
    ),
    "unknown utility": (SELECT.replace("macro-f1", "macro-f2"), r"Got 'macro-f2'\. Did you mean macro-fbeta\(2\)\?"),
    "unknown part": (SELECT.replace("macro-f1", "0.5*precison+0.5*coverage"), r"Did you mean precision\?"),
    "utility without sense": (SELECT.replace("macro-f1", "3*/x"), r"utility must read like"),
    "priors are missing": (SELECT.replace("macro-f1", "ps-precision"), r"needs the label priors.*Give --priors FILE"),
    "priors of fewer labels": (
        SELECT.replace("macro-f1", "log") + " --priors fewer.npz",
        r"priors covers 50 labels, probabilities has 60",
    ),
    "unused priors of fewer labels": (
        SELECT + " --priors fewer.npz",
        r"priors covers 50 labels, probabilities has 60",
    ),
    "priors are probabilities": (SELECT + " --priors probabilities.npz", r"must hold only 0 and 1\. Got"),
    "no such priors": (SELECT + " --priors missing.npz", r"missing\.npz does not exist"),
    "no priors to scale": (SELECT + " --condition-positives priors", r"needs priors\..*Give --priors FILE"),
    "top": (SELECT + " --top 0", r"top must be an integer of at least 1\. Got 0\."),
    "top huge": (SELECT + " --top 99999999999999999999", r"top must be .* at most 9223372036854775807\. Got 9{20}\."),
    "workers huge": (SELECT + " --workers 100000", r"--workers must be at most \d+ .* Got 100000\. Omit it"),
    "utility that overflows": (SELECT.replace("macro-f1", "macro-fbeta(1e155)"), r"."),
    "method": (
        SELECT + " --method best",
        r"method must be one of auto, instance, ascent, global, greedy\. Got 'best'\.",
    ),
    "instance": (SELECT + " --method instance", r"--method instance needs a utility that is linear .*Got macro-f1"),
    "method without budget": (SELECT.replace("3", "none") + " --method ascent", r"method must be 'auto'.*Got 'ascent'"),
    "expectation": (SELECT + " --expectation sure", r"expectation must be one of auto, semi, exact\. Got 'sure'\."),
    "init": (SELECT + " --init bottom", r"init must be one of top, random, greedy, or a selection\. Got 'bottom'\."),
    "tolerance": (SELECT + " --tolerance nan", r"tolerance must be a finite number of at least 0\. Got nan\."),
    "passes": (SELECT + " --max-passes 0", r"--max-passes must be an integer of at least 1\. Got 0\."),
    "batch": (SELECT + " --group-size 0", r"--group-size must be an integer of at least 1, or 'auto'\. Got 0\."),
    "fill": (SELECT + " --fill all", r"fill must be one of auto, least-loss, none\. Got 'all'\."),
    "workers": (SELECT + " --workers 0", r"workers must be an integer of at least 1.*Got 0\."),
    "seed": (SELECT + " --seed=-1", r"seed must be an integer of at least 0\. Got -1\."),
    "no truth": ("evaluate missing.npz truth.npz", r"missing\.npz does not exist"),
    "truth is probabilities": ("evaluate probabilities.npz truth.npz", r"must hold only 0 and 1\. Got"),
    "selection is probabilities": (
        "evaluate truth.npz probabilities.npz",
        r"must hold only 0 and 1\. .*tailwise select",
    ),
    "other instances": (
        "evaluate truth.npz training.npz",
        r"selection must have the 200 instances of truth\. Got 500\.",
    ),
    "other labels": ("evaluate truth.npz fewer.npz", r"200 instances and 60 labels of truth\. Got 500 and 50\."),
    "other priors": ("evaluate truth.npz truth.npz --priors fewer.npz", r"priors covers 50 labels, truth has 60"),
    "metric": ("evaluate truth.npz truth.npz -m macro-f", r"Got 'macro-f'\. Did you mean 'macro-f1'\?"),
    "metric of priors": ("evaluate truth.npz truth.npz -m ps-precision", r"needs label priors\..*Use --priors FILE"),
    "propensity without priors": (
        "evaluate truth.npz truth.npz --propensity 1 1",
        r"Got no --priors\. Use --priors FILE",
    ),
    "metric of a ranking": (
        "evaluate truth.npz truth.npz -m ndcg",
        r"needs a ranked .*file of tailwise select",
    ),
    "first labels of no ranking": ("evaluate truth.npz truth.npz -k 1", r"k=1 needs a ranked selection"),
    "labels": ("evaluate truth.npz truth.npz --labels some", r"labels must be 'all' or 'present'\. Got 'some'\."),
    "zero division": ("evaluate truth.npz truth.npz --zero-division 0.5", r"--zero-division must be .*Got 0\.5\."),
    "seed of the demo": ("demo --seed=-1 --out demo", r"seed must be .*Got -1"),
}


@pytest.mark.parametrize(("words", "message"), (FILES | OPTIONS).values(), ids=FILES | OPTIONS)
def test_bad_files_and_options(bad_folder, monkeypatch, capsys, words, message):
    monkeypatch.chdir(bad_folder)
    before = list_contents(bad_folder)
    assert main(words.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"tailwise: error: [^\n]*\n", err)
    assert re.search(message, err)
    assert list_contents(bad_folder) == before


USAGE = {
    "no command": ("", "the following arguments are required: COMMAND"),
    "misspelt command": ("selct", r"tailwise: error: there is no command 'selct'\. Did you mean select\?"),
    "misspelt command of data": ("data lst", r"tailwise data: error: there is no command 'lst'\. Did you mean list\?"),
    "unknown command": ("nonsense", r"no command 'nonsense'\. Choose from select, evaluate, certify,"),
    "no output": ("select probabilities.npz -u macro-f1 -k 3", "required: -o/--output"),
    "no k": ("select probabilities.npz -u macro-f1 -o chosen.npz", "required: -k"),
    "k text": (SELECT.replace("3", "many"), r"k must be an integer, or none for no budget\. Got 'many'\."),
    "k fraction": (SELECT.replace("3", "1.5"), r"k must be an integer, or none for no budget\. Got '1\.5'\."),
    "batch text": (SELECT + " --group-size some", r"--group-size must be an integer, or auto\. Got 'some'\."),
    "format": ("evaluate truth.npz chosen.npz --format xml", "invalid choice: 'xml'"),
    "propensity": (
        "evaluate truth.npz chosen.npz --propensity 0.5 0",
        r"above 0 and at most 100\. Got '0'\.",
    ),
    "propensity text": ("evaluate truth.npz chosen.npz --propensity a b", r"at most 100\. Got 'a'\."),
    "propensity infinite": ("evaluate truth.npz chosen.npz --propensity inf 1", r"at most 100\. Got 'inf'\."),
    "propensity huge": ("evaluate truth.npz chosen.npz --propensity 1e9 1e9", r"at most 100\. Got '1e9'\."),
    "top of too many digits": (f"{SELECT} --top {'9' * 5000}", "argument --top: invalid int value"),
    "unknown option": (SELECT + " --quick", "tailwise select: error: unrecognized arguments: --quick"),
    "option spelt wrongly": (SELECT + " --labelnames a", r"arguments: --labelnames a\. Did you mean --label-names\?"),
    "value with a dash": (SELECT.replace("macro-f1", "-1*precision"), r"argument. A value .* '-u=-1\*precision'"),
    "next option as value": (
        SELECT.replace("macro-f1", "").replace("chosen", "x"),
        "-u/--utility: expected one argument\n",
    ),
}


@pytest.mark.parametrize(("words", "message"), USAGE.values(), ids=USAGE)
def test_wrong_usage(bad_folder, monkeypatch, capsys, words, message):
    monkeypatch.chdir(bad_folder)
    with pytest.raises(SystemExit) as caught:
        main(words.split())
    assert caught.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("tailwise")
    assert re.search(r"^See tailwise.* --help\.$", err.splitlines()[-1])
    assert re.search(message, err)
    assert "chosen.npz" not in list_contents(bad_folder)
