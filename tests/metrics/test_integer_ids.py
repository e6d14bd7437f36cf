"""Integer ids of a selection are ids again when it comes back as a table or a file."""

import pandas as pd
import pytest

import tailwise as tw

SCORES = pd.DataFrame({"user_id": [12, 12, 11, 11, 3], "item_id": [7, 2, 7, 25, 2], "score": [0.9, 0.8, 0.7, 0.6, 0.5]})
TRUTH = pd.DataFrame({"user_id": [3, 11, 12], "item_id": [2, 25, 2]})


@pytest.mark.parametrize("form", ["frame", "csv", "tsv", "json", "jsonl", "parquet"])
@pytest.mark.parametrize("truth", ["table", "file"])
def test_a_selection_comes_back(tmp_path, form, truth):
    TRUTH.to_csv(tmp_path / "truth.csv", index=False)
    known = TRUTH if truth == "table" else tmp_path / "truth.csv"
    selection = tw.select(SCORES, "macro-f1", 1)
    same = tw.evaluate(known, selection)
    if form != "frame":
        selection.save(tmp_path / f"c.{form}")
    found = tw.evaluate(known, selection.to_frame() if form == "frame" else tmp_path / f"c.{form}")
    assert str(found) == str(same)
    assert dict(found) == dict(same)
    assert 0 < same["precision"] < 1


@pytest.mark.parametrize("form", ["frame", "csv", "parquet"])
def test_a_selection_is_judged_by_id(tmp_path, form):
    selection = tw.select(SCORES, "macro-f1", 1)
    selection.save(tmp_path / f"c.{form}") if form != "frame" else None
    given = selection.to_frame() if form == "frame" else tmp_path / f"c.{form}"
    again = tw.expected_utility(SCORES, "macro-f1", given)
    assert again == pytest.approx(tw.expected_utility(SCORES, "macro-f1", selection))
