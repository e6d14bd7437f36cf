"""Truth and selections joined by id, compared with the same matrices put in order by hand."""

import numpy as np
import pytest

import tailwise as tw
from tailwise.cli.main import main
from tailwise.errors import InputError

pd = pytest.importorskip("pandas")
METRICS = ["precision", "recall", "macro-f1", "coverage", "micro-f1", "ndcg"]
CHOSEN = {"ann": ["tea", "jam"], "bob": ["tea", "nut"], "eve": ["egg", "tea"], "dan": ["nut", "jam"]}
TRUE = {"eve": ["egg"], "ann": ["jam", "oil"], "zoe": ["tea"]}


def make_table(lists, *names, ranks=True):
    rows = [(instance, label, rank) for instance, labels in lists.items() for rank, label in enumerate(labels, 1)]
    frame = pd.DataFrame(rows, columns=[*names, "rank"])
    return frame if ranks else frame[list(names)]


def by_hand(instances, labels, lists):
    """A 0/1 matrix of the true labels, and an array of the chosen ones."""
    truth = np.array([[label in TRUE.get(each, ()) for label in labels] for each in instances], dtype=int)
    chosen = [[labels.index(label) for label in lists.get(each, ())] for each in instances]
    return truth, np.array([[*row, -1, -1][:2] for row in chosen])


@pytest.mark.parametrize(
    ("instances", "rows"), [("common", ["eve", "ann"]), ("all", ["eve", "ann", "zoe", "bob", "dan"])]
)
def test_the_instances_of_both_and_the_labels_of_either(instances, rows):
    labels = ["egg", "jam", "oil", "tea", "nut"]
    found = tw.evaluate(
        make_table(TRUE, "user", "item", ranks=False),
        make_table(CHOSEN, "who_id", "item").rename(columns={"who_id": "user"}),
        METRICS,
        instances=instances,
    )
    expected = tw.evaluate(*by_hand(rows, labels, CHOSEN), METRICS)
    assert dict(found) == pytest.approx(dict(expected))
    assert list(found.instance_ids) == rows
    assert sorted(found.label_names) == sorted(labels)
    assert found.n_instances == len(rows)
    assert found.notes[0] == "2 instances are in both, of 3 in truth and 4 in selection"
    table = dict(zip(found.per_label()["label"], found.per_label()["condition_positives"], strict=True))
    assert table["oil"] == 1


def test_why_a_macro_average_is_low():
    found = tw.evaluate(make_table(TRUE, "user", "item", ranks=False), make_table(CHOSEN, "user", "item"), ["macro-f1"])
    assert str(found).splitlines() == [
        "Evaluation of 2 instances and 5 labels",
        "  macro-f1  0.4000",
        "  2 instances are in both, of 3 in truth and 4 in selection",
        "  averages over labels include all 5 labels, 3 of which have a true instance here; labels='present' "
        "(--labels present) averages over these only",
    ]
    present = tw.evaluate(
        make_table(TRUE, "user", "item", ranks=False),
        make_table(CHOSEN, "user", "item"),
        ["macro-f1"],
        labels="present",
    )
    assert present.notes[1] == "averages over labels include only the 3 labels with a true instance"


def make_batch(n=20, m=6, seed=0):
    rng = np.random.default_rng(seed)
    probabilities = rng.beta(0.5, 2.0, (n, m))
    users, items = [f"u{i}" for i in range(n)], [f"i{j}" for j in range(m)]
    return pd.DataFrame(probabilities, index=users, columns=items), rng.random((n, m)) < probabilities


def test_a_selection_with_probabilities_priors_and_weights():
    frame, truth = make_batch()
    order, columns = [7, 3, 11, 0], [4, 0, 5, 1, 2, 3]
    known = pd.DataFrame(truth.astype(int), index=frame.index, columns=frame.columns).iloc[order, columns]
    selection = tw.select(frame, "macro-f1", 2)
    priors = pd.DataFrame({"doc": ["a", "b", "b"], "label": ["i4", "i4", "i1"]})
    options = {"label_weights": {"i2": 3.0}, "probabilities": frame, "priors": priors}
    found = tw.evaluate(known, selection, ["macro-f1", "precision", "ps-precision"], **options)
    counts = np.zeros(6)
    counts[[0, 3]] = 2, 1  # in the order of the columns of truth
    expected = tw.evaluate(
        known.to_numpy(),
        np.argsort(columns)[selection.labels[order]],
        ["macro-f1", "precision", "ps-precision"],
        label_weights={4: 3.0},
        probabilities=frame.to_numpy()[order][:, columns],
        priors=tw.LabelPriors(counts, 2),
    )
    assert dict(found) == pytest.approx(dict(expected))
    assert found.expected == pytest.approx(expected.expected)
    by_position = tw.evaluate(known, selection, ["precision"], probabilities=frame.to_numpy()[:, columns])
    assert by_position.expected["precision"] == pytest.approx(expected.expected["precision"])
    with pytest.raises(InputError, match=r"probabilities must have the 20 instances of selection\. Got 3\. Give their"):
        tw.evaluate(known, selection, probabilities=frame.to_numpy()[:3])


def test_nothing_in_common():
    selection = make_table(CHOSEN, "user", "item")
    with pytest.raises(InputError, match=r"selection and truth must have instances in common\. They have none"):
        tw.evaluate(pd.DataFrame({"user": ["x"], "item": ["tea"]}), selection)
    with pytest.raises(InputError, match=r"ids of selection are text .*those of truth are integers \(1\)"):
        tw.evaluate(pd.DataFrame({"user": [1], "item": ["tea"]}), selection)
    with pytest.raises(InputError, match=r"selection and truth must have labels in common\. They have none"):
        tw.evaluate(pd.DataFrame({"user": ["ann"], "item": ["x"]}), selection)


def test_options_that_are_refused():
    truth, selection = make_table(TRUE, "user", "item", ranks=False), make_table(CHOSEN, "user", "item")
    with pytest.raises(InputError, match=r"instances must be one of common, all\. Got 'some'"):
        tw.evaluate(truth, selection, instances="some")
    with pytest.raises(InputError, match=r"filter numbers the instances of truth, and selection lacks some of them"):
        tw.evaluate(truth, selection, filter=[[0, 0]])
    with pytest.raises(
        InputError, match=r"truth must hold only 0 and 1\. Got 0\.5\. Give true labels, not probabilities"
    ):
        tw.evaluate(truth.assign(score=0.5), selection)
    named = tw.evaluate(truth.rename(columns={"user": "who"}), selection, ["recall"], instance="who", label="item")
    assert named["recall"] == tw.evaluate(truth, selection, ["recall"])["recall"]


def test_wide_truth_and_a_wide_selection():
    frame, truth = make_batch()
    known = pd.DataFrame(truth.astype(int), index=frame.index, columns=frame.columns)
    chosen = tw.select(frame, "macro-f1", 2).to_csr().toarray()
    wide = pd.DataFrame(chosen, index=frame.index, columns=frame.columns)
    assert tw.evaluate(known, wide[::-1], ["macro-f1"])["macro-f1"] == pytest.approx(
        tw.evaluate(truth.astype(int), chosen.astype(bool), ["macro-f1"])["macro-f1"]
    )


def test_a_column_of_zeros_and_ones_under_another_name_is_not_ignored():
    pandas = pytest.importorskip("pandas")
    pairs = pandas.DataFrame({"user_id": ["u", "u", "v"], "item_id": ["a", "b", "a"], "purchased": [1, 0, 1]})
    selection = pandas.DataFrame({"user_id": ["u", "v"], "item_id": ["b", "a"]})
    with pytest.raises(tw.errors.InputError, match=r"column 'purchased' holds zeros and ones.* Rename it to relevance"):
        tw.evaluate(pairs, selection)
    assert tw.evaluate(pairs.rename(columns={"purchased": "relevance"}), selection)["precision"] == 0.5
    others = pairs.drop(columns="purchased").assign(quantity=[1, 3, 2])
    assert tw.evaluate(others, selection)["precision"] == 1.0


@pytest.mark.parametrize(
    "save", [lambda frame, path: frame, lambda frame, path: frame.to_csv(path, index=False) or path]
)
def test_named_columns_are_those_of_every_table_that_has_them(tmp_path, save):
    truth = save(make_table(TRUE, "who", "what", ranks=False), tmp_path / "truth.csv")
    own, usual = make_table(CHOSEN, "who", "what"), make_table(CHOSEN, "user_id", "item_id")
    scores = own.assign(score=0.5).drop(columns="rank")
    expected = tw.evaluate(make_table(TRUE, "user", "item", ranks=False), usual, METRICS)
    for chosen in (save(own, tmp_path / "own.csv"), save(usual, tmp_path / "usual.csv")):
        found = tw.evaluate(truth, chosen, METRICS, instance="who", label="what")
        assert dict(found) == pytest.approx(dict(expected))
    given = save(scores, tmp_path / "scores.csv")
    found = tw.evaluate(truth, chosen, ["precision"], instance="who", label="what", probabilities=given)
    assert found.expected["precision"] == pytest.approx(0.5)


def test_a_column_of_relevance_says_which_pairs_count(tmp_path):
    table = make_table({**TRUE, "ann": ["jam", "oil", "nut"]}, "user", "item", ranks=False)
    table["relevance"] = (table["item"] != "nut").astype(int)
    table.to_csv(tmp_path / "truth.csv", index=False)
    chosen = make_table(CHOSEN, "user", "item")
    expected = tw.evaluate(make_table(TRUE, "user", "item", ranks=False), chosen, METRICS[:2])
    for truth in (table, tmp_path / "truth.csv"):
        assert dict(tw.evaluate(truth, chosen, METRICS[:2])) == pytest.approx(dict(expected))
    with pytest.raises(InputError, match=r"truth must hold only 0 and 1\. Got 4.*convert counts with truth > 0"):
        tw.evaluate(table.assign(relevance=4), chosen)


def test_priors_with_labels_unknown_on_either_side(tmp_path, monkeypatch, capsys):
    """In memory and from files; "oil" and "egg" were never seen in training, "fig" and "bun" are only there."""
    monkeypatch.chdir(tmp_path)
    trained = {"t1": ["fig", "tea", "jam"], "t2": ["tea"], "t3": ["nut", "bun"]}
    tables = {
        "truth": make_table(TRUE, "user", "item", ranks=False),
        "chosen": make_table(CHOSEN, "user", "item"),
        "train": make_table(trained, "user", "item", ranks=False),
    }
    for name, table in tables.items():
        table.to_csv(f"{name}.csv", index=False)
    labels = ["egg", "jam", "oil", "tea", "nut"]
    counts = [sum(label in each for each in trained.values()) for label in labels]
    metrics, priors = ["ps-precision", "macro-f1"], tw.LabelPriors(counts, 3)
    expected = tw.evaluate(*by_hand(["eve", "ann"], labels, CHOSEN), metrics, priors=priors)
    note = (
        "Labels of priors, matched by id: 2 labels of priors are not in truth and are left out; 2 labels of truth are "
        "not in priors and count as never seen in training."
    )
    for given in (tables["train"], "train.csv"):
        found = tw.evaluate(tables["truth"], tables["chosen"], metrics, priors=given)
        assert dict(found) == pytest.approx(dict(expected))
        assert found.notes[-1] == note
    assert main(["evaluate", "truth.csv", "chosen.csv", "--priors", "train.csv", "-m", "ps-precision"]) == 0
    assert note in capsys.readouterr().out
    pd.DataFrame({"user": ["t1"], "item": ["fig"]}).to_csv("other.csv", index=False)
    with pytest.raises(InputError, match=r"priors and truth must have labels in common\. They have none"):
        tw.evaluate(tables["truth"], tables["chosen"], metrics, priors="other.csv")


def test_true_labels_as_lists_of_names():
    table = pd.DataFrame([[0.9, 0.1, 0.2], [0.2, 0.8, 0.3]], columns=["b", "a", "c"])
    selection = tw.select(table, "macro-f1", 2)
    matrix = pd.DataFrame([[1, 1], [1, 0]], columns=["b", "d"])
    names = ["precision", "macro-f1"]
    assert dict(tw.evaluate([["d", "b"], ["b"]], selection, names)) == dict(tw.evaluate(matrix, selection, names))
    series = pd.Series([["b"], ["d", "b"]], index=["v", "u"])
    by_id = tw.select(table.set_axis(["u", "v"]), "macro-f1", 2)
    assert dict(tw.evaluate(series, by_id, names)) == dict(tw.evaluate(matrix, selection, names))
    by_number = tw.evaluate([["d", "b"], ["b"]], [[0], [1]], names, label_names=["b", "a", "d"])
    assert dict(by_number) == dict(tw.evaluate([[1, 0, 1], [1, 0, 0]], [[0], [1]], names))
    with pytest.raises(
        tw.errors.InputError, match=r"truth lists labels by name, and selection by number. Give label_n"
    ):
        tw.evaluate([["d", "b"], ["b"]], [[0], [1]], names)
