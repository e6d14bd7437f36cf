"""Messages of the command line speak of options, not of Python's arguments."""

import pytest

SELECT = ["select", "probabilities.npz", "-u", "macro-f1", "-k", "3", "-o", "new.npz"]
CERTIFY = ["certify", "probabilities.npz", "top.npz", "-u", "macro-f1", "-k", "3"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([*SELECT, "--tolerance", "-1"], "--tolerance must be a finite number of at least 0. Got -1.0."),
        ([*SELECT, "--max-seconds", "-1"], "--max-seconds must be a number above 0. Got -1.0."),
        ([*SELECT, "--max-passes", "0"], "--max-passes must be an integer of at least 1. Got 0."),
        ([*SELECT, "--seed", "-1"], "--seed must be an integer of at least 0. Got -1."),
        ([*SELECT, "-u", "macro-f"], "--utility must be a known name. Got 'macro-f'."),
        (
            [*SELECT, "-k", "9999"],
            "-k must be an integer between 1 and 60, the number of labels. Got 9999. Use -k none for",
        ),
        ([*CERTIFY, "--target-gap", "-1"], "--target-gap must be a finite number of at least 0, a share of the value."),
        (["explain", "probabilities.npz", "--label", "x", *CERTIFY[3:5], "--selection", "top.npz"], "--label must be"),
    ],
)
def test_the_option_is_named(run, folder, words, message):
    assert run(folder, "select", "probabilities.npz", "-u", "precision", "-k", "3", "-o", "top.npz").code == 0
    done = run(folder, *words)
    assert (done.code, done.err[: len("tailwise: error: ") + len(message)]) == (2, f"tailwise: error: {message}")


@pytest.mark.parametrize(
    "path",
    ["seed=3/none.npz", "top=5/x.npz", "label_names/none.npz", "max_passes.npz", "in/max_passes", "a-seed=3.5.npz"],
)
def test_paths_are_left_alone(run, folder, path):
    done = run(folder, "select", path, *SELECT[2:])
    assert done.code == 2
    assert f"tailwise: error: {path} does not exist. " in done.err
