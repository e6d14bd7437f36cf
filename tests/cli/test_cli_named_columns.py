"""The columns named for probabilities are those of the other files, too, if these have them."""

import numpy as np
import pytest

import tailwise as tw
from tailwise.cli.main import main

pd = pytest.importorskip("pandas")

NAMES = ["--columns", "who,code,chance"]
SCORES = pd.DataFrame({"who": ["u", "u", "v", "v"], "code": ["a", "b", "a", "b"], "chance": [0.75, 0.5, 0.25, 0.625]})
PAST = pd.DataFrame({"who": ["u"], "code": ["a"], "when": ["today"], "qty": [3]})
USUAL = PAST.rename(columns={"who": "user_id", "code": "item_id"})


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, frame in {"scores": SCORES, "past": PAST, "usual": USUAL}.items():
        frame.to_csv(f"{name}.csv", index=False)


@pytest.mark.parametrize("past", ["past.csv", "usual.csv"])
def test_excluded_pairs(past, capsys):
    more = ["-u", "precision", "-k", "1", "--exclude", past, *NAMES]
    assert main(["select", "scores.csv", *more, "-o", "out.csv"]) == 0
    chosen = pd.read_csv("out.csv")
    assert set(zip(chosen.iloc[:, 0], chosen.iloc[:, 1], strict=True)) == {("u", "b"), ("v", "b")}
    assert main(["certify", "scores.csv", "out.csv", *more]) == 0
    assert (
        main(["explain", "scores.csv", "u", "--selection", "out.csv", "-u", "precision", "--exclude", past, *NAMES])
        == 0
    )


@pytest.mark.parametrize("past", [PAST, USUAL, "past.csv", "usual.csv"])
@pytest.mark.parametrize("scores", [SCORES, "scores.csv"])
def test_excluded_pairs_in_python(scores, past):
    found = tw.select(scores, "precision", 1, exclude=past, instance="who", label="code", probability="chance")
    np.testing.assert_array_equal(found.labels, [[1], [1]])


@pytest.mark.parametrize("truth", ["past.csv", "usual.csv"])
def test_true_labels(truth, capsys):
    assert main(["trade-off", "scores.csv", "-k", "1", "--truth", truth, *NAMES]) == 0
    assert "realised" in capsys.readouterr().out
    assert main(["select", "scores.csv", "-u", "precision", "-k", "1", *NAMES, "-o", "out.csv"]) == 0
    files = ["--probabilities", "scores.csv", "--selection", "out.csv", "--truth", truth]
    assert main(["report", *files, *NAMES]) == 0


def test_calibration():
    SCORES.rename(columns={"who": "user_id", "code": "item_id", "chance": "score"}).to_csv("plain.csv", index=False)
    for scores, truth, names in (("scores.csv", "past.csv", NAMES), ("plain.csv", "usual.csv", [])):
        fitted = ["calibrate", scores, truth, "-o", f"{scores}.npz", *names]
        assert main([*fitted, "--apply", scores, "--to", f"to-{scores}"]) == 0
        again = ["calibrate", "--use", f"{scores}.npz", "--apply", scores, "--to", f"again-{scores}", *names]
        assert main(again) == 0
    for name in ("to", "again"):
        pd.testing.assert_frame_equal(pd.read_csv(f"{name}-scores.csv"), pd.read_csv(f"{name}-plain.csv"))
