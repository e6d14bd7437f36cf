"""Pages and explanations of files and tables with ids: truth and selections joined by id, and known only in part."""

import json
import re

import numpy as np
import pytest

import tailwise as tw
from tailwise.cli.main import main
from tailwise.errors import InputError, UnknownIdsWarning

pd = pytest.importorskip("pandas")
RNG = np.random.default_rng(0)
USERS, ITEMS = [f"u{i}" for i in range(30)], [f"i{j}" for j in range(6)]
FRAME = pd.DataFrame(RNG.random((30, 6)), index=USERS, columns=ITEMS)
TRUTH = pd.DataFrame((RNG.random((30, 6)) < FRAME.to_numpy()).astype(int), index=USERS, columns=ITEMS)
SELECTION = tw.select(FRAME, "macro-f1", 2)


def read_data(page):
    return json.loads(re.search(r'id="records-data">(.*?)</script>', page, re.DOTALL)[1])


def write_files(*, header=("user_id", "item_id", "score")):
    for name, frame in (("p.csv", FRAME), ("t.csv", TRUTH[::-1])):
        long = frame.stack().reset_index().set_axis(list(header), axis=1)
        long[long[header[2]] > 0].to_csv(name, index=False)
    SELECTION.to_frame().to_csv("s.csv", index=False)
    SELECTION.to_frame()[:20].to_csv("some.csv", index=False)


def test_truth_in_another_order():
    expected = tw.report(FRAME, SELECTION, truth=TRUTH.to_numpy())
    assert tw.report(FRAME, SELECTION, truth=TRUTH.iloc[::-1, ::-1]) == expected
    assert read_data(expected)["truth"] == [np.flatnonzero(row).tolist() for row in TRUTH.to_numpy()]


def test_truth_of_some_records():
    page = tw.report(FRAME, SELECTION, truth=TRUTH[10:].iloc[::-1])
    assert read_data(page)["truth"] == [None] * 10 + [np.flatnonzero(row).tolist() for row in TRUTH.to_numpy()[10:]]
    assert "on the true labels of 20 records" in page
    value = tw.evaluate(TRUTH.to_numpy()[10:], SELECTION.labels[10:])["macro-f1"]
    assert f'<td class="own">{100 * value:.2f}\u00a0%</td>' in page


def test_a_selection_of_some_records_is_reported():
    some = SELECTION.to_frame()[:20]
    with pytest.warns(
        UnknownIdsWarning, match=r"selection holds 10 of the 30 instances .* such as 'u10', count as"
    ) as told:
        page = tw.report(FRAME, some)
    assert told[0].filename == __file__
    assert [len(row) for row in read_data(page)["own"]] == [8] * 10 + [0] * 20
    with pytest.raises(InputError, match=r"selection must have the 30 instances of probabilities\. Got 10"):
        tw.report(FRAME.to_numpy(), SELECTION.labels[:10])


def test_the_commands_say_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_files()
    assert main(["report", "--probabilities", "p.csv", "--selection", "some.csv", "--truth", "t.csv"]) == 0
    assert "warning: selection holds 10 of the 30 instances of probabilities" in capsys.readouterr().err
    assert main(["explain", "p.csv", "u3", "--selection", "some.csv", "-u", "macro-f1"]) == 0
    assert "warning: selection holds 10 of the 30 instances of probabilities" in capsys.readouterr().err
    assert main(["explain", "p.csv", "u3", "--selection", "s.csv", "-u", "macro-f1"]) == 0
    assert capsys.readouterr() == (f"{SELECTION.explain('u3')}\n", "")


def test_columns_and_a_vocabulary_in_two_languages(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_files(header=("wer", "was", "wieviel"))
    rows = "".join(f"{item},Thing {item},Ding {item}\n" for item in ITEMS)
    (tmp_path / "words.csv").write_text(f"uri,label_en,label_de\n{rows}")
    more = ["--selection", "s.csv", "-u", "macro-f1", "--columns", "wer,was,wieviel"]
    more += ["--label-names", "words.csv", "--language", "de"]
    assert main(["explain", "p.csv", "u3", *more]) == 0
    assert "Ding i" in capsys.readouterr().out
    assert main(["report", "--probabilities", "p.csv", *more]) == 0
    names = read_data((tmp_path / "report.html").read_text("utf-8"))["labels"]["names"]
    assert names == [f"Ding {item}" for item in ITEMS]


def test_columns_of_evaluate_and_trade_off(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_files(header=("wer", "was", "wieviel"))
    columns = ["--columns", "wer,was,wieviel", "--json"]
    assert main(["evaluate", "t.csv", "s.csv", "-m", "macro-f1", *columns]) == 0
    found = json.loads(capsys.readouterr().out)["metrics"]
    assert found["macro-f1"] == pytest.approx(tw.evaluate(TRUTH, SELECTION)["macro-f1"])
    assert main(["trade-off", "p.csv", "-k", "2", "--alphas", "0,1", *columns]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    expected = tw.trade_off(FRAME, "precision", "macro-f1", 2, alphas=[0, 1]).points
    assert [point["first"] for point in points] == pytest.approx([point.first for point in expected], rel=1e-5)


def test_a_folder_of_suggestions_is_no_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "suggested").mkdir()
    for i, scores in enumerate(((0.9, 0.2), (0.8, 0.7))):
        lines = [f"<http://example.org/{j}>\tsubject {j}\t{score}\n" for j, score in enumerate(scores)]
        (tmp_path / "suggested" / f"doc{i}.annif").write_text("".join(lines))
    tw.select("suggested", "macro-f1", 1).save("chosen.csv")
    assert main(["explain", "suggested", "doc1", "--selection", "chosen.csv", "-u", "macro-f1"]) == 0
    assert "doc1 was given" in capsys.readouterr().out
    assert main(["explain", "suggested", "doc1"]) == 2
    assert "Probabilities need --selection FILE and -u UTILITY" in capsys.readouterr().err


def test_a_run_holds_all_that_a_page_needs():
    drawn = tw.datasets.make_like("Eurlex-4K", scale=0.01)
    data = {"X": drawn.train_features, "Y": drawn.train_labels, "X_test": drawn.test_features}
    run = tw.run({**data, "Y_test": drawn.test_labels}, "macro-f1", k=2)
    expected = tw.report(run.probabilities, run.selection, truth=run.truth, priors=run.priors)
    assert tw.report(run) == expected
    with pytest.raises(InputError, match=r"selection must be the labels chosen for each record\. Got None"):
        tw.report(run.probabilities)
