"""``tailwise select`` writes what ``tailwise.select`` returns, and says little."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import tailwise as tw
from tailwise.cli.main import main
from tailwise.datasets import load_selection, save_priors
from tailwise.inputs.candidates import Candidates

SUMMARY = (
    r"expected macro-f1 {budget}: {expected:.6f} \({method}, \d+ pass(es)?, \d+\.\d\d s\)\n"
    r"200 instances written to chosen\.npz\n"
)

# What is asked for on the command line, and the same in Python.
REQUESTS = {
    "macro-f1": ("-u macro-f1 -k 3", {"utility": "macro-f1", "k": 3}),
    "long options": ("--utility coverage -k 2", {"utility": "coverage", "k": 2}),
    "mixture": ("-u 0.7*precision+0.3*macro-f1 -k 3", {"utility": "0.7*precision + 0.3*macro-f1", "k": 3}),
    "priors": ("-u ps-precision -k 3 --priors training.npz", {"utility": "ps-precision", "k": 3, "priors": True}),
    "no budget": ("-u macro-f1 -k none", {"utility": "macro-f1", "k": None}),
    "condition positives": (
        "-u macro-recall -k 3 --priors training.npz --condition-positives priors",
        {"utility": "macro-recall", "k": 3, "priors": True, "condition_positives": "priors"},
    ),
    "search options": (
        "-u macro-f1 -k 3 --method ascent --init random --tolerance 1e-3 --max-passes 4 --group-size 2 --seed 5 "
        "--workers 1",
        {
            "utility": "macro-f1",
            "k": 3,
            "method": "ascent",
            "init": "random",
            "tolerance": 1e-3,
            "max_passes": 4,
            "group_size": 2,
            "seed": 5,
        },
    ),
    "no filling": (
        "-u macro-f1 -k 12 --fill none --expectation semi",
        {"utility": "macro-f1", "k": 12, "fill": "none", "expectation": "semi"},
    ),
}


def select_in_python(data, options, top=None):
    options = dict(options)
    if options.get("priors"):
        options["priors"] = data.training
    return tw.select(Candidates.of(data.probabilities, top=top), **options)


@pytest.mark.parametrize(("words", "options"), REQUESTS.values(), ids=REQUESTS)
def test_the_file_holds_what_python_gives(run, folder, data, words, options):
    done = run(folder, "select", "probabilities.npz", *words.split(), "-o", "chosen.npz")
    assert (done.code, done.err) == (0, "")
    expected = select_in_python(data, options)
    np.testing.assert_array_equal(load_selection(folder / "chosen.npz").labels, expected.labels)
    assert f": {expected.expected:.6f} (" in done.out


def test_top_candidates_only(run, folder, data):
    done = run(folder, "select", "probabilities.npz", "-u", "macro-f1", "-k", 3, "--top", 4, "-o", "chosen.npz")
    assert (done.code, done.err) == (0, "")
    expected = select_in_python(data, {"utility": "macro-f1", "k": 3}, top=4)
    np.testing.assert_array_equal(load_selection(folder / "chosen.npz").labels, expected.labels)
    assert not np.array_equal(expected.labels, select_in_python(data, {"utility": "macro-f1", "k": 3}).labels)


@pytest.mark.parametrize(
    ("k", "budget", "method"), [("3", "at 3", "global"), ("none", "without budget", "without-budget")]
)
def test_the_summary_when_piped(run_apart, folder, data, k, budget, method):
    done = run_apart(folder, "select", "probabilities.npz", "-u", "macro-f1", "-k", k, "-o", "chosen.npz")
    expected = select_in_python(data, {"utility": "macro-f1", "k": None if k == "none" else int(k)}).expected
    pattern = SUMMARY.format(budget=budget, expected=expected, method=method)
    assert re.fullmatch(pattern, done.out)
    assert done.err == ""


def test_quiet_says_nothing(run, folder):
    done = run(folder, "select", "probabilities.npz", "-u", "coverage", "-k", 3, "-o", "chosen.npz", "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert (folder / "chosen.npz").exists()


def test_other_programs_read_the_output(run, folder):
    run(folder, "select", "probabilities.npz", "-u", "macro-f1", "-k", 3, "-o", "chosen.npz")
    matrix = sp.load_npz(folder / "chosen.npz")
    assert matrix.shape == (200, 60)
    assert set(matrix.sum(axis=1).ravel().tolist()) == {3}
    with np.load(folder / "chosen.npz", allow_pickle=False) as archive:
        labels = archive["labels"]
    np.testing.assert_array_equal(np.sort(labels, axis=1), matrix.indices.reshape(200, 3))


def test_an_output_that_exists_is_replaced_only_when_asked_for(run, folder):
    arguments = "select", "probabilities.npz", "-u", "precision", "-k", 3, "-o", "chosen.npz"
    (folder / "chosen.npz").write_bytes(b"precious")
    refused = run(folder, *arguments)
    assert refused.code == 2
    assert re.fullmatch(
        r"tailwise: error: .*chosen\.npz, which exists\. Use --overwrite to replace it\.\n",
        refused.err,
    )
    assert (folder / "chosen.npz").read_bytes() == b"precious"
    assert run(folder, *arguments, "--overwrite").code == 0
    assert load_selection(folder / "chosen.npz").shape == (200, 60)


def test_the_installed_script(run_apart, folder):
    script = Path(sys.executable).with_name("tailwise")
    if not script.exists():
        pytest.skip("tailwise is not installed beside this interpreter")
    arguments = "select", "probabilities.npz", "-u", "macro-f1", "-k", 3, "-o"
    assert run_apart(folder, *arguments, "script.npz", command=(str(script),)).code == 0
    assert run_apart(folder, *arguments, "module.npz").code == 0
    assert (folder / "script.npz").read_bytes() == (folder / "module.npz").read_bytes()
    assert run_apart(folder, "select", "probabilities.npz", command=(str(script),)).code == 2


# On a terminal


def read_terminal(process, terminal):
    """All that appears on the terminal until the command ends; and what it wrote to standard output."""
    seen = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # how Linux says that nobody holds the inner end any more
            part = b""
        if not part:
            break
        seen += part
    os.close(terminal)
    out = process.communicate(timeout=60)[0]
    return seen.decode(), out


def test_a_bar_on_a_terminal(start_on_terminal, folder):
    arguments = "select", "probabilities.npz", "-u", "macro-f1", "-k", 3, "-o", "chosen.npz"
    process, terminal = start_on_terminal(folder, *arguments)
    seen, out = read_terminal(process, terminal)
    assert process.returncode == 0
    assert re.search(r"labels: [1-9]\d* passes \[.*value=0\.\d+", seen)
    assert out.startswith("expected macro-f1 at 3: ")
    assert "passes [" not in out


def test_no_bar_on_a_terminal_when_quiet(start_on_terminal, folder):
    arguments = "select", "probabilities.npz", "-u", "macro-f1", "-k", 3, "-o", "chosen.npz", "--quiet"
    process, terminal = start_on_terminal(folder, *arguments)
    assert read_terminal(process, terminal) == ("", "")
    assert process.returncode == 0


def test_whoever_reads_the_output_may_stop(folder):
    program = [
        sys.executable,
        "-m",
        "tailwise.cli.program",
        "select",
        "probabilities.npz",
        "-u",
        "precision",
        "-k",
        "1",
    ]
    process = subprocess.Popen(
        [*program, "-o", "chosen.npz"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=60) == 141
    process.stderr.close()
    assert load_selection(folder / "chosen.npz").shape == (200, 60)


def test_certify_says_how_close_to_the_optimum_it_is(run, folder):
    done = run(folder, "select", "probabilities.npz", "-u", "macro-f1", "-k", 3, "-o", "chosen.npz", "--certify")
    assert (done.code, done.err) == (0, "")
    assert re.search(
        r"^expected macro-f1 0\.\d+; the optimum is at most [\d.]+ % above this selection$", done.out, re.MULTILINE
    )


@pytest.mark.parametrize("priors", ["training.npz", "priors.npz"])
def test_probabilities_shifted_to_priors(run, folder, data, priors):
    save_priors(folder / "priors.npz", tw.LabelPriors.from_labels(data.training))
    words = ("-u", "coverage", "-k", 3, "--priors", priors, "--shift-to-priors", "-o", "chosen.npz")
    assert run(folder, "select", "probabilities.npz", *words).code == 0
    shifted = tw.shift_to_priors(data.probabilities, data.training)
    assert (load_selection(folder / "chosen.npz").labels == tw.select(shifted, "coverage", 3).labels).all()


def test_a_shift_without_priors(run, folder):
    done = run(
        folder, "select", "probabilities.npz", "-u", "coverage", "-k", 3, "--shift-to-priors", "-o", "chosen.npz"
    )
    assert done.code == 2
    assert "--shift-to-priors needs training labels. Got no --priors" in done.err
    assert not (folder / "chosen.npz").exists()


def test_empty_slots_are_described(tmp_path, capsys):
    source, out = tmp_path / "p.npz", tmp_path / "out.npz"
    sp.save_npz(source, sp.csr_array(np.array([[0.5, 0.0, 0.0], [0.5, 0.4, 0.2]])))
    assert main(["select", str(source), "-u", "macro-f1", "-k", "2", "-o", str(out), "--quiet"]) == 0
    words = "tailwise: warning: 1 of 2 instances have fewer than k candidates; their remaining slots are empty (-1)."
    assert capsys.readouterr().err.startswith(words)
    options = ["--fill", "least-loss", "--overwrite", "--quiet"]
    assert main(["select", str(source), "-u", "macro-f1", "-k", "2", "-o", str(out), *options]) == 0
    assert capsys.readouterr().err == ""


def test_the_input_is_not_replaced(tmp_path, capsys):
    source = tmp_path / "p.npz"
    sp.save_npz(source, sp.csr_array(np.array([[0.5, 0.4, 0.1]])))
    before = source.read_bytes()
    assert main(["select", str(source), "-u", "macro-f1", "-k", "2", "-o", str(source), "--overwrite"]) == 2
    assert "The output must not be an input file. Got" in capsys.readouterr().err
    assert source.read_bytes() == before


def test_a_checkpoint_is_removed_when_the_command_is_done(run, folder):
    kept = folder / "kept"
    words = ["select", "probabilities.npz", "-u", "macro-f1", "-k", "3", "--checkpoint", "kept"]
    assert run(folder, *words, "-o", "late.npz", "--max-seconds", "1e-9").code == 4
    assert kept.is_dir()
    assert run(folder, *words, "-o", "first.npz").code == 0
    assert not kept.exists()
    assert run(folder, *words[:4], "-k", "2", *words[6:], "-o", "second.npz").code == 0  # another call, the same folder
