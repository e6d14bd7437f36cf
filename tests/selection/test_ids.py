"""Ids from a table to a table, and other inputs joined by id, compared with the same problem by number."""

import uuid

import numpy as np
import pytest
import scipy.sparse as sp

import tailwise as tw
from tailwise.errors import InputError, MissingExtraError

pd = pytest.importorskip("pandas")
N, M, K = 30, 12, 3
USERS = [f"user-{i}" for i in range(N)]
ITEMS = [f"https://example.org/{j}" for j in range(M)]
MATRIX = sp.csr_array(np.random.default_rng(3).beta(0.4, 2.0, (N, M)) * (np.random.default_rng(4).random((N, M)) < 0.6))


def make_long(matrix=MATRIX, users=USERS, items=ITEMS, seed=None):
    """A row for each entry; with a seed, in another order."""
    coo = matrix.tocoo()
    columns = {"user_id": [users[i] for i in coo.row], "item_id": [items[j] for j in coo.col], "score": coo.data}
    frame = pd.DataFrame(columns)
    return frame if seed is None else frame.sample(frac=1.0, random_state=seed)


def by_number(selection, users=USERS, items=ITEMS):
    """What a selection by number says of ids."""
    rows = [[items[j] for j in row if j >= 0] for row in selection.labels]
    return dict(zip(users, rows, strict=True))


def as_sets(labels):
    return {instance: set(each) for instance, each in labels.items()}


@pytest.mark.parametrize("utility", ["macro-f1", "precision", "coverage", "macro-recall"])
def test_a_table_gives_what_its_matrix_gives(utility):
    expected = tw.select(MATRIX, utility, K, fill="none")
    # Grouped by user and with items in their order, so that ties are broken alike.
    found = tw.select(make_long(items=ITEMS), utility, K, fill="none")
    assert found.expected == pytest.approx(expected.expected, rel=1e-3)
    assert set(found.to_dict()) == set(USERS)
    wide = pd.DataFrame(MATRIX.toarray(), index=USERS, columns=ITEMS)
    assert tw.select(wide, utility, K, fill="none").to_dict() == by_number(expected)


@pytest.mark.parametrize(
    ("users", "items"),
    [
        ([10**12 + 7 * i for i in range(N)], [2**62 - j for j in range(M)]),
        ([uuid.UUID(int=i) for i in range(N)], [(j, "x") for j in range(M)]),
    ],
)
def test_ids_come_out_with_their_type(users, items):
    frame = tw.select(make_long(users=users, items=items), "precision", K, fill="none").to_frame()
    assert set(frame["instance"]) == set(users)
    assert set(frame["label"]) <= set(items)
    assert {type(value) for value in frame["instance"].tolist()} == {type(users[0])}


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames_of_the_library_that_the_input_came_from(library):
    module = pytest.importorskip(library)
    frame = make_long()
    table = {"pandas": lambda: frame, "polars": lambda: module.DataFrame(frame.to_dict("list"))}.get(
        library, lambda: module.table(frame.to_dict("list"))
    )()
    selection = tw.select(table, "macro-f1", K, fill="none")
    out = selection.to_frame()
    assert type(out) is type(table)
    out = out if library == "pandas" else out.to_pandas()
    assert list(out.columns) == ["instance", "rank", "label", "probability", "gain"]
    assert out.groupby("instance")["label"].apply(list).to_dict() == {k: v for k, v in selection.to_dict().items() if v}
    values = {(row.user_id, row.item_id): row.score for row in frame.itertuples()}
    assert [values[row.instance, row.label] for row in out.itertuples()] == out["probability"].tolist()
    assert (out.groupby("instance")["rank"].min() == 1).all()


def test_dask_comes_out_as_pandas():
    dask = pytest.importorskip("dask.dataframe")
    selection = tw.select(dask.from_pandas(make_long(), npartitions=2), "precision", K, fill="none")
    assert isinstance(selection.to_frame(), pd.DataFrame)


@pytest.mark.parametrize("expectation", ["semi", "exact"])
@pytest.mark.parametrize("utility", ["macro-f1", "macro-recall", "0.5*precision + 0.5*coverage", "macro-jaccard"])
def test_gains_are_what_the_utility_would_lose(utility, expectation):
    selection = tw.select(MATRIX, utility, K, expectation=expectation, fill="none")
    value = tw.expected_utility(MATRIX, utility, selection, K, expectation=expectation)
    for i, c in ((0, 0), (3, 1), (11, 2)):
        labels = selection.labels.copy()
        labels[i, c] = -1
        without = tw.expected_utility(MATRIX, utility, labels, K, expectation=expectation)
        assert selection.gains[i, c] == pytest.approx(value - without, rel=1e-4, abs=1e-9)
        assert selection.probabilities[i, c] == MATRIX[i, selection.labels[i, c]]


def test_frames_with_titles_and_without_ids(tmp_path):
    (tmp_path / "labels.txt").write_text("".join(f"{item}\tTitle {j}\n" for j, item in enumerate(ITEMS)))
    tw.save(tmp_path / "p.npz", MATRIX)
    frame = tw.select(tmp_path / "p.npz", "precision", K, fill="none").to_frame()
    assert frame["name"].tolist() == [f"Title {ITEMS.index(label)}" for label in frame["label"]]
    plain = tw.select(MATRIX, "precision", K, fill="none")
    assert plain.to_frame()["instance"].tolist()[:4] == [0, 0, 0, 1]
    assert plain[0] == plain.labels[0].tolist()
    assert plain.to_dict()[2] == plain.labels[2].tolist()


def test_one_instance():
    selection = tw.select(make_long(), "precision", K, fill="none")
    assert selection["user-7"] == selection.to_dict()["user-7"]
    with pytest.raises(InputError, match=r"instance must be one of the batch\. Got 'nobody'\."):
        selection["nobody"]
    with pytest.raises(InputError, match=rf"Got {N}\. Use a number from 0 to {N - 1}\."):
        tw.select(MATRIX, "precision", K, fill="none")[N]


def test_no_library_for_frames(monkeypatch):
    selection = tw.select(MATRIX, "precision", K, fill="none")
    with pytest.raises(InputError, match=r"library must be one of pandas, polars, pyarrow\. Got 'spark'"):
        selection.to_frame("spark")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="to_frame needs pandas or polars or pyarrow, which is not installed"):
        selection.to_frame()


def test_messages_say_which_columns_were_read():
    assert "instance from 'user_id'" in tw.select(make_long(), "precision", K, fill="none").messages[0]
    named = {"instance": "user_id", "label": "item_id", "probability": "score"}
    assert not any("user_id" in line for line in tw.select(make_long(), "precision", K, fill="none", **named).messages)
    with pytest.raises(
        InputError, match=r"instance, label and probability name the columns of a table\. Got .*csr_array"
    ):
        tw.select(MATRIX, "precision", K, instance="user_id")


# Files


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_saved_with_ids(tmp_path, suffix):
    selection = tw.select(make_long(), "macro-f1", K, fill="none")
    selection.save(tmp_path / f"a{suffix}")
    tw.save(tmp_path / f"b{suffix}", selection)
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()
    again = tw.datasets.load_selection(tmp_path / f"a{suffix}")
    assert list(again.instance_ids) == list(selection.instance_ids)
    labels = [[again.label_names[j] for j in row if j >= 0] for row in again.labels]
    assert labels == list(selection.to_dict().values())


def test_formats_without_ids_are_refused(tmp_path):
    selection = tw.select(make_long(), "macro-f1", K, fill="none")
    for name in ("a.npz", "a.txt"):
        with pytest.raises(InputError, match=r"must have a format that holds ids\. .* does not\. Use \.parquet, "):
            selection.save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    plain = tw.select(MATRIX, "macro-f1", K, fill="none")
    plain.save(tmp_path / "a.npz")
    assert np.array_equal(tw.datasets.load_selection(tmp_path / "a.npz").labels, plain.labels)


# Joined by id


def test_a_start_in_another_order():
    given = tw.select(MATRIX, "precision", K, fill="none")
    table = given.to_frame()
    table["instance"], table["label"] = [USERS[i] for i in table["instance"]], [ITEMS[j] for j in table["label"]]
    shuffled = table.sample(frac=1.0, random_state=1)
    options = {"max_passes": 1, "method": "ascent", "fill": "none", "seed": 5}
    expected = tw.select(MATRIX, "macro-f1", K, init=given, **options)
    wide = pd.DataFrame(MATRIX.toarray(), index=USERS, columns=ITEMS)
    found = tw.select(wide, "macro-f1", K, init=shuffled, **options)
    assert as_sets(found.to_dict()) == as_sets(by_number(expected))
    certificate = tw.certify(wide, "macro-f1", K, shuffled, fill="none", rounds=5)
    assert certificate.value == pytest.approx(tw.certify(MATRIX, "macro-f1", K, given, fill="none", rounds=5).value)
    value = tw.expected_utility(wide, "macro-f1", shuffled)
    assert value == pytest.approx(tw.expected_utility(MATRIX, "macro-f1", given))


def test_instances_and_labels_that_are_not_there():
    table = make_long()
    more = pd.DataFrame({"instance": ["stranger"], "label": [ITEMS[0]]})
    part = pd.DataFrame({"instance": USERS[:2], "label": ITEMS[:2]})
    both = pd.concat([part, more])
    with pytest.raises(
        InputError, match=r"selection must only hold instances of probabilities\. 1 are not there, 'str"
    ):
        tw.expected_utility(table, "precision", both)
    assert tw.select(table, "precision", K, init=both, fill="none").n_instances == N
    odd = pd.DataFrame({"instance": USERS[:2], "label": [ITEMS[0], "q"]})
    with pytest.raises(
        InputError, match=r"selection must only hold labels of probabilities\. 1 are not there, 'q' for"
    ):
        tw.expected_utility(table, "precision", odd)
    with pytest.raises(InputError, match=r"selection and probabilities must have instances in common\. They have none"):
        tw.expected_utility(table, "precision", more)
    numbered = pd.DataFrame({"user": [7], "item": [ITEMS[0]]})
    with pytest.raises(
        InputError, match=r"The ids of selection are integers \(7\), those of probabilities are text \('"
    ):
        tw.expected_utility(table, "precision", numbered)
    strange = pd.DataFrame({"user": USERS[:1], "item": [5]})
    with pytest.raises(InputError, match=r"selection and probabilities must have labels in common.*Convert one side"):
        tw.expected_utility(table, "precision", strange)


def test_priors_by_id():
    training = pd.DataFrame({"doc": ["a", "a", "b", "c"], "subject": [ITEMS[1], ITEMS[3], ITEMS[1], "unseen"]})
    counts = np.zeros(M)
    counts[[1, 3]] = 2, 1
    wide = pd.DataFrame(MATRIX.toarray(), index=USERS, columns=ITEMS)
    expected = tw.select(MATRIX, "ps-precision", K, priors=tw.LabelPriors(counts, 3), fill="none")
    found = tw.select(wide, "ps-precision", K, priors=training, fill="none")
    assert found.to_dict() == by_number(expected)
    priors = tw.LabelPriors.from_labels(training)
    assert list(priors.label_names) == [ITEMS[1], ITEMS[3], "unseen"]
    odd = pd.DataFrame({"doc": ["a"], "subject": ["unseen"]})
    with pytest.raises(InputError, match=r"priors and probabilities must have labels in common\. They have none"):
        tw.select(wide, "ps-precision", K, priors=odd)


def test_weights_by_id():
    ids = [10**12 + j for j in range(M)]
    wide = pd.DataFrame(MATRIX.toarray(), columns=ids)
    by_id = tw.utilities.MacroF1(weights={ids[2]: 5.0})
    plain = tw.utilities.MacroF1(weights={2: 5.0})
    expected = tw.select(MATRIX, plain, K, fill="none")
    assert np.array_equal(tw.select(wide, by_id, K, fill="none").labels, expected.labels)


def test_a_context_with_other_labels():
    """Labels of the context that the batch lacks count, as candidates of no instance."""
    first = tw.select(make_long(), "macro-f1", K, fill="none").totals
    items = [*ITEMS[6:], *(f"new-{j}" for j in range(6))]
    table = make_long(items=items, seed=2)
    found = tw.select(table, "macro-f1", K, context=first, fill="none")
    assert set(found.label_names) == {*ITEMS, *items}
    both = sp.csr_array(np.zeros((N, 18)))
    order = {name: j for j, name in enumerate(found.label_names)}
    both = np.zeros((N, 18))
    rows = {user: i for i, user in enumerate(found.instance_ids)}
    for row in table.itertuples():
        both[rows[row.user_id], order[row.item_id]] = row.score
    context = first.at_labels(first.label_names.positions_of(list(order)))
    expected = tw.select(sp.csr_array(both), "macro-f1", K, context=context, fill="none")
    assert np.array_equal(found.labels, expected.labels)
    assert found.expected == expected.expected
    total = first + found.totals
    assert total.n_labels == 18
    assert total.q.sum() == first.q.sum() + found.totals.q.sum()
    assert set(total.label_names) == set(found.label_names)
    strange = tw.select(make_long(items=range(M)), "macro-f1", K, fill="none").totals
    assert tw.select(table, "macro-f1", K, context=strange, fill="none").n_labels == 24


def test_totals_by_id(tmp_path):
    selection = tw.select(make_long(), "macro-f1", K, fill="none")
    shuffled = make_long(seed=8)
    totals = tw.Totals.of(selection, shuffled)
    order = totals.label_names.positions_of(selection.label_names)
    assert np.allclose(totals.at_labels(order).t, selection.totals.t)
    known = pd.DataFrame({"user_id": ["user-3", "user-3", "user-4"], "item_id": [ITEMS[0], "never", ITEMS[1]]})
    with pytest.warns(tw.errors.UnknownIdsWarning, match="2 instances are in both, of 2 in truth and 30 in selection"):
        observed = tw.Totals.of(selection, truth=known)
    assert observed.n_instances == 2
    assert observed.p.sum() == 3
    assert observed.q.sum() == len(selection["user-3"]) + len(selection["user-4"])
    assert observed.n_labels == M + 1
    observed.save(tmp_path / "totals.npz")
    assert tw.Totals.load(tmp_path / "totals.npz").label_names == observed.label_names


def test_a_trade_off_by_id():
    truth = pd.DataFrame({"user_id": USERS[:8], "item_id": [ITEMS[i % M] for i in range(8)]})
    names = {"instance": "user_id", "label": "item_id", "probability": "score"}
    curve = tw.trade_off(make_long(), "precision", "macro-f1", K, alphas=[0, 1], truth=truth, fill="none", **names)
    point = curve.points[0]
    realised = tw.evaluate(truth, point.selection, ["precision"], k=K)["precision"]
    assert point.first == pytest.approx(realised)


def test_budgets_are_matched_by_id():
    pandas = pytest.importorskip("pandas")
    table = {"user_id": ["b", "b", "a", "a"], "item_id": ["x", "y"] * 2, "score": [0.9, 0.5, 0.3, 0.8]}
    table = pandas.DataFrame(table)
    found = tw.select(table, "precision", k=pandas.Series({"a": 1, "b": 2})).to_dict()
    assert found == {"b": ["x", "y"], "a": ["y"]}
    assert tw.select(table, "precision", k=pandas.Series([2, 1])).to_dict() == found  # by position
    with pytest.raises(
        InputError,
        match=r"k as a Series .* for each instance\. Got none for 'b'\. Add it, or give an array",
    ):
        tw.select(table, "precision", k=pandas.Series({"a": 1, "c": 2}))


def test_totals_of_instances_without_true_labels():
    table = pd.DataFrame({"user": ["u1", "u2", "u3", "u4"], "item": ["a", "b", "a", "b"], "score": 0.5})
    selection = tw.select(table, "macro-f1", 1)
    truth = pd.DataFrame({"user": ["u1", "u9"], "item": ["a", "b"]})
    with pytest.warns(tw.errors.UnknownIdsWarning, match="1 instances are in both, of 2 in truth and 4 in selection"):
        common = tw.Totals.of(selection, truth=truth)
    assert (common.n_instances, common.q.tolist(), common.p.tolist()) == (1, [1, 0], [1, 0])
    both = tw.Totals.of(selection, truth=truth, instances="all")
    assert (both.n_instances, both.q.tolist(), both.p.tolist()) == (5, [2, 2], [1, 1])
    assert (both.t.sum(), both.is_observed) == (selection["u1"] == ["a"], True)
