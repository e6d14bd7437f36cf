"""Calibrators and reliability of tables: probabilities and truth joined by id, compared with matrices put in order."""

import numpy as np
import pytest

import tailwise as tw
from tailwise.cli.main import main
from tailwise.errors import InputError, UnknownIdsWarning

pd = pytest.importorskip("pandas")
N, M = 60, 5
RNG = np.random.default_rng(0)
PROBABILITIES = RNG.random((N, M))
TRUTH = (RNG.random((N, M)) < PROBABILITIES**2).astype(int)
TRUTH[np.arange(N), np.arange(N) % M] = 1  # so that every instance and label is in a long table
USERS, ITEMS = [f"u{i}" for i in range(N)], [f"i{j}" for j in range(M)]
PRIORS = np.vstack([np.ones((20, M), int), np.eye(M, dtype=int)[[0] * 200]])


def long_table(matrix, users=USERS, items=ITEMS, *, seed=None, column="score"):
    rows, labels = np.nonzero(matrix)
    frame = pd.DataFrame({"user_id": np.array(users)[rows], "item_id": np.array(items)[labels]})
    frame[column] = matrix[rows, labels]
    return frame if seed is None else frame.sample(frac=1, random_state=seed).reset_index(drop=True)


def truth_table(matrix=TRUTH, **more):
    return long_table(matrix, **more)[["user_id", "item_id"]]


METHODS = [("isotonic", "all"), ("platt", "frequency"), ("context", "all")]


@pytest.mark.parametrize(("method", "by"), METHODS)
def test_shuffled_truth_gives_the_same_calibrator(method, by, tmp_path):
    expected = tw.Calibrator(method, by=by).fit(PROBABILITIES, TRUTH, priors=PRIORS).transform(PROBABILITIES)
    priors = pd.DataFrame(PRIORS[:, ::-1], columns=ITEMS[::-1])
    table = long_table(PROBABILITIES, seed=1)
    calibrator = tw.Calibrator(method, by=by).fit(table, truth_table(seed=2), priors=priors)
    calibrator.save(tmp_path / "calibrator.npz")
    for each in (calibrator, tw.Calibrator.load(tmp_path / "calibrator.npz")):
        found = each.transform(long_table(PROBABILITIES, seed=3))
        rows = [found.instance_ids.position_of(user) for user in USERS]
        columns = [found.label_names.number_of(item) for item in ITEMS]
        np.testing.assert_allclose(found.to_csr().toarray()[rows][:, columns], expected.toarray(), rtol=1e-6)


def test_common_instances_and_the_labels_of_the_probabilities():
    known = pd.DataFrame(TRUTH, index=USERS, columns=ITEMS).iloc[::-2, [4, 2, 0, 1]].assign(other=1)
    frame = pd.DataFrame(PROBABILITIES, index=USERS, columns=ITEMS)
    own = TRUTH[1::2] * (np.arange(M) != 3)
    assert str(tw.reliability(frame, known)) == str(tw.reliability(PROBABILITIES[1::2], own))
    found = tw.Calibrator("platt").fit(frame, known).transform(PROBABILITIES).toarray()
    expected = tw.Calibrator("platt").fit(PROBABILITIES[1::2], own).transform(PROBABILITIES).toarray()
    np.testing.assert_array_equal(found, expected)


def test_nothing_in_common_is_refused():
    table = long_table(PROBABILITIES)
    with pytest.raises(InputError, match=r"truth and probabilities must have instances in common\. They have none"):
        tw.Calibrator().fit(table, truth_table().assign(user_id="x", item_id=ITEMS[0])[:1])
    with pytest.raises(InputError, match=r"truth and probabilities must have labels in common\. They have none"):
        tw.reliability(table, truth_table().assign(item_id="x")[:1])
    with pytest.raises(InputError, match=r"probabilities must have the 9 instances of truth\. Got 60\. Give the ids"):
        tw.reliability(table, TRUTH[:9])


def test_labels_that_are_new_or_missing():
    with pytest.warns(UnknownIdsWarning, match=r"lists its labels by id, such as 'i0'; priors does not"):
        calibrator = tw.Calibrator("platt", by="frequency").fit(long_table(PROBABILITIES), truth_table(), priors=PRIORS)
    other = pd.DataFrame([[0.3, 0.3, 0.3]], index=["z"], columns=["new", "i0", "i3"])
    new, frequent, rare = calibrator.transform(other).to_csr().toarray()[0]
    same = calibrator.transform(np.full((1, M), 0.3)).toarray()[0]
    assert (frequent, rare) == (same[0], same[3])
    assert new == calibrator.curves_[0](np.array([0.3]), None)[0]
    numbered = tw.Calibrator("platt", by="frequency").fit(PROBABILITIES, TRUTH, priors=PRIORS)
    with pytest.raises(InputError, match=r"probabilities must have 5 labels\. Got 3\."):
        numbered.transform(other)


def test_the_command_joins_by_id_and_keeps_ids(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    long_table(PROBABILITIES).to_csv("scores.csv", index=False)
    truth_table().to_csv("truth.csv", index=False)
    truth_table(seed=5).to_csv("shuffled.csv", index=False)
    truth_table(TRUTH[:50]).to_csv("some.csv", index=False)
    long_table(PROBABILITIES[:7, :3], seed=6).to_csv("other.csv", index=False)
    for truth in ("truth", "shuffled"):
        assert main(["calibrate", "scores.csv", f"{truth}.csv", "-o", f"{truth}.npz"]) == 0
    assert (tmp_path / "truth.npz").read_bytes() == (tmp_path / "shuffled.npz").read_bytes()
    assert main(["calibrate", "--use", "truth.npz", "--apply", "other.csv", "--to", "calibrated.csv"]) == 0
    found = tw.Candidates.of("calibrated.csv")
    assert set(found.instance_ids) == set(USERS[:7])
    assert set(found.label_names.ids) == set(ITEMS[:3])
    expected = tw.Calibrator().fit(PROBABILITIES, TRUTH).transform(PROBABILITIES).toarray()
    values = found.to_csr().toarray()
    for i, user in enumerate(found.instance_ids):
        for j, item in enumerate(found.label_names.ids):
            assert values[i, j] == pytest.approx(expected[USERS.index(user), ITEMS.index(item)])
    capsys.readouterr()
    assert main(["calibrate", "scores.csv", "some.csv", "-o", "some.npz"]) == 0
    assert "50 instances are in both, of 50 in truth and 60 in probabilities" in capsys.readouterr().out
