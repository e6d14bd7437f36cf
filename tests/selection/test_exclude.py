"""Pairs that must not come out: in every form, with every method, by filling neither, and with bounds that hold."""

import uuid
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from reference import optimum

import tailwise as tw
from tailwise.cli.main import main
from tailwise.datasets import LabelNames, load_contents, load_selection, save, save_selection
from tailwise.errors import EmptySlotsWarning, InputError, UnknownIdsWarning

pytestmark = pytest.mark.boundscheck

RNG = np.random.default_rng(5)
PROBABILITIES = np.round(RNG.beta(0.6, 1.0, (4, 5)), 3)
EXCLUDED = RNG.random((4, 5)) < 0.4
UTILITIES = ["macro-f1", "macro-recall", "coverage", "precision", "0.5*precision + 0.5*macro-jaccard"]


def pairs_of(selection):
    return selection.to_csr().toarray().astype(bool)


@pytest.mark.parametrize("utility", UTILITIES)
@pytest.mark.parametrize("expectation", ["semi", "exact"])
@pytest.mark.parametrize("k", [2, None])
def test_the_bound_holds_for_all_that_is_allowed(utility, expectation, k):
    options = {"expectation": expectation, "fill": "none", "exclude": EXCLUDED}
    found = tw.select(PROBABILITIES, utility, k, certify=True, **options)
    best = optimum.enumerate_optimum(
        PROBABILITIES, utility, k, expectation, "none", is_candidate=(PROBABILITIES > 0) & ~EXCLUDED
    )
    assert not (pairs_of(found) & EXCLUDED).any()
    assert found.expected <= best + 1e-9
    assert found.certificate.upper >= best - 1e-9
    assert found.certificate.prices.shape == (4,)
    assert found.expected == pytest.approx(
        tw.expected_utility(PROBABILITIES, utility, found, 2 if k else 1, expectation=expectation)
    )


def test_an_excluded_pair_counts_among_the_positives():
    probabilities = np.array([[0.5], [0.5]])
    found = tw.select(probabilities, "macro-recall", 1, exclude=[[True], [False]], fill="none", expectation="semi")
    assert found.labels.tolist() == [[-1], [0]]
    assert found.expected == pytest.approx(0.5)  # half of the expected positives, not all of them
    assert found.totals.p.tolist() == [1.0]
    assert found.totals.n_instances == 2


def forms():
    rows = [np.flatnonzero(row).tolist() for row in EXCLUDED]
    padded = np.array([[*row, *([-1] * (6 - len(row)))] for row in rows])
    return {
        "dense": EXCLUDED,
        "integers": EXCLUDED.astype(int),
        "lists": EXCLUDED.tolist(),
        "csr": sp.csr_array(EXCLUDED),
        "coo": sp.coo_array(EXCLUDED.astype(float)),
        "chosen": tw.inputs.chosen.Chosen.of(padded, 5),
    }


@pytest.mark.parametrize("form", forms())
@pytest.mark.parametrize("dense", [True, False])
def test_every_form(form, dense):
    probabilities = PROBABILITIES if dense else sp.csr_array(PROBABILITIES)
    same = tw.select(probabilities, "macro-f1", 1, exclude=EXCLUDED)
    found = tw.select(probabilities, "macro-f1", 1, exclude=forms()[form])
    np.testing.assert_array_equal(found.labels, same.labels)
    assert not (pairs_of(found) & EXCLUDED).any()


@pytest.mark.parametrize("exclude", [[1, 3], (1, 3), {1, 3}, np.array([3, 1, 1]), ["b", "d"], {"d", "b"}])
def test_labels_for_all_instances(exclude):
    candidates = tw.Candidates.of(PROBABILITIES)
    candidates = candidates.with_names(LabelNames("abcde")) if "b" in exclude else candidates
    found = tw.select(candidates, "macro-f1", 3, exclude=exclude)
    assert [set(row) for row in found.labels.tolist()] == [{0, 2, 4}] * 4


@pytest.mark.parametrize("form", [list, set, lambda labels: np.array(labels, dtype=object)])
def test_labels_with_ids_of_any_kind(form):
    names = [uuid.UUID(int=number) for number in range(5)]
    candidates = tw.Candidates.of(PROBABILITIES).with_names(LabelNames(names))
    found = tw.select(candidates, "macro-f1", 3, exclude=form([names[1], names[3]]))
    assert [set(row) for row in found.labels.tolist()] == [{0, 2, 4}] * 4
    with pytest.warns(UnknownIdsWarning, match=r"1 label \(such as UUID\('0{8}-0{4}-0{4}-0{4}-0{11}9'\)\)"):
        tw.select(candidates, "macro-f1", 3, exclude=form([uuid.UUID(int=9)]))


@pytest.mark.parametrize("exclude", [[0, 17], pd.DataFrame({"instance": [0, 9], "label": [0, 0]})])
def test_the_warning_points_to_the_call(exclude):
    for call in (tw.select, tw.certify):
        with pytest.warns(UnknownIdsWarning) as caught:
            call(PROBABILITIES, "macro-f1", 1, exclude=exclude)
        assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize("fill", ["auto", "least-loss"])
@pytest.mark.parametrize("utility", ["precision", "macro-f1", "hamming"])
def test_filling_hands_nothing_back(fill, utility):
    probabilities = np.array([[0.9, 0.0, 0.0, 0.0], [0.9, 0.8, 0.0, 0.0]])
    excluded = np.array([[1, 1, 1, 0], [0, 0, 0, 0]], dtype=bool)
    with pytest.warns(EmptySlotsWarning, match=r"^1 of 2 instances have fewer than k labels left; .*\(-1\)\. Use"):
        found = tw.select(probabilities, utility, 3, fill=fill, exclude=excluded)
    assert found.labels[0].tolist() == [3, -1, -1]
    assert set(found.labels[1, :2]) == {0, 1}
    assert found.labels[1, 2] in (2, 3)


@pytest.mark.parametrize("barred", [[0, 2], list(range(5)), []])
def test_filling_leaves_out_barred_labels_as_it_leaves_out_pairs(barred):
    probabilities = np.where(PROBABILITIES > 0.5, PROBABILITIES, 0.0)
    pairs = np.zeros((4, 5), dtype=bool)
    pairs[:, barred] = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptySlotsWarning)
        same = tw.select(probabilities, "macro-f1", 3, exclude=pairs, fill="least-loss")
        found = tw.select(probabilities, "macro-f1", 3, exclude=barred, fill="least-loss")
    np.testing.assert_array_equal(found.labels, same.labels)
    assert not np.isin(found.labels, barred).any()


def test_a_sparse_matrix_says_what_to_do():
    probabilities = sp.csr_array(PROBABILITIES[:, :3])
    with pytest.warns(EmptySlotsWarning, match=r"than k candidates left; .* from all labels that are not excluded\."):
        tw.select(probabilities, "macro-f1", 3, exclude=[0])
    assert tw.select(probabilities, "macro-f1", 3, exclude=[0], fill="none").labels[:, 2].tolist() == [-1] * 4


def test_a_start_loses_its_excluded_labels():
    init = np.array([[0, 1], [0, 1], [0, 1], [0, 1]])
    found = tw.select(PROBABILITIES, "macro-f1", 2, init=init, exclude=[0], max_passes=1)
    assert not (found.labels == 0).any()
    assert (found.labels >= 0).all()


def test_a_given_selection_must_not_hold_excluded_pairs():
    given = [[0, 1], [2, 3], [0, 1], [0, 1]]
    with pytest.raises(InputError, match=r"must not hold excluded pairs\. Got 1, the first for instance 1, label 3\."):
        tw.certify(PROBABILITIES, "macro-f1", 2, given, exclude=[3])
    allowed = tw.certify(PROBABILITIES, "macro-f1", 2, given, exclude=[4], expectation="semi")
    best = optimum.enumerate_optimum(
        PROBABILITIES, "macro-f1", 2, "semi", "none", is_candidate=(PROBABILITIES > 0) & (np.arange(5) != 4)
    )
    assert allowed.upper >= best - 1e-9


def test_unknown_labels_are_counted_once():
    with pytest.warns(UnknownIdsWarning, match=r"^exclude names 2 labels \(such as 17\) .*: 2 of its 3 labels are"):
        found = tw.select(PROBABILITIES, "macro-f1", 1, exclude=[0, 17, -1])
    assert not (found.labels == 0).any()


@pytest.mark.parametrize(
    ("exclude", "message"),
    [
        (np.ones((3, 5)), r"exclude must have the 4 instances and 5 labels of probabilities\. Got 3 and 5\."),
        (np.full((4, 5), 0.5), r"exclude must hold only 0 and 1\. Got 0\.5\. Give a sparse"),
        ([0.5, 1.0], r"exclude as a list must hold label numbers or ids\. Got 0\.5\. Give a"),
    ],
)
def test_what_is_no_exclusion(exclude, message):
    with pytest.raises(InputError, match=message):
        tw.select(PROBABILITIES, "macro-f1", 1, exclude=exclude)


def test_files_are_matched_by_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names, ids = ["a", "b", "c", "d", "e"], ["w", "x", "y", "z"]
    save("p.jsonl", PROBABILITIES, label_names=names, instance_names=ids)
    save("bought.jsonl", np.eye(2, 3), label_names=["c", "a", "q"], instance_names=["y", "s"])
    with pytest.warns(UnknownIdsWarning, match=r"1 instance \(such as 's'\) .*: 1 of its 2 pairs is ignored"):
        found = tw.select("p.jsonl", "precision", 5, exclude="bought.jsonl", fill="none")
    order = load_contents("p.jsonl").label_names.ids
    assert sorted(order[j] for j in found.labels[2] if j >= 0) == ["a", "b", "d", "e"]
    code = main(["select", "p.jsonl", "-u", "precision", "-k", "5", "--exclude", "bought.jsonl", "-o", "out.jsonl"])
    assert code == 0
    errors = capsys.readouterr().err
    assert errors.count("exclude names 1 instance") == 1
    assert errors.count("1 of 4 instances have fewer than k candidates left") == 1
    np.testing.assert_array_equal(load_selection("out.jsonl", label_names=order).labels, found.labels)


@pytest.mark.parametrize("n_rows", [3, 5])
@pytest.mark.parametrize("has_ids", [True, False])
def test_a_matrix_of_other_instances_is_refused(tmp_path, monkeypatch, capsys, n_rows, has_ids):
    monkeypatch.chdir(tmp_path)
    save(
        "p.jsonl", PROBABILITIES, **({"instance_names": list("wxyz"), "label_names": list("abcde")} if has_ids else {})
    )
    save("bought.npz", sp.csr_array(np.eye(n_rows, 5)))
    code = main(["select", "p.jsonl", "-u", "precision", "-k", "2", "--exclude", "bought.npz", "-o", "out.jsonl"])
    errors = capsys.readouterr().err
    assert code == 2
    assert "exclude must have the 4 instances of probabilities, as it has no ids and is matched by position" in errors
    assert f" Got {n_rows}. Give ids to both" in errors
    assert not (tmp_path / "out.jsonl").exists()


def table(users, items):
    return pd.DataFrame({"user_id": users, "item_id": items})


@pytest.mark.parametrize("ids", [["w", "x", "y", "z"], [10**12, 7, 10**15, 0]])
def test_a_table_of_ids(ids):
    items = ["a", "b", "c", "d", "e"]
    i, j = np.nonzero(PROBABILITIES)
    scores = table([ids[x] for x in i], [items[x] for x in j]).assign(score=PROBABILITIES[i, j])
    bought = table([ids[2], ids[0], ids[2]], ["b", "e", "q"])
    with pytest.warns(UnknownIdsWarning, match=r"1 label \(such as 'q'\) .* 1 of its 3 pairs is ignored"):
        found = tw.select(scores, "precision", 5, exclude=bought, fill="none")
    barred = np.zeros((4, 5), dtype=bool)
    barred[[2, 0], [1, 4]] = True
    order = tw.Candidates.of(scores).label_names.positions_of(items)
    np.testing.assert_array_equal(pairs_of(found)[:, order], (PROBABILITIES > 0) & ~barred)


def test_numbers_of_a_table_are_rows_of_a_matrix():
    bought = table([0, 3, 10**12], [1, 2, 0])
    with pytest.warns(UnknownIdsWarning, match=r"1 instance \(such as 1000000000000\)"):
        found = tw.select(PROBABILITIES, "precision", 4, exclude=bought)
    assert 1 not in found.labels[0]
    assert 2 not in found.labels[3]


def test_names_need_names():
    with pytest.raises(InputError, match=r"both name or both number their instances\. exclude names them, such as 'w'"):
        tw.select(PROBABILITIES, "precision", 4, exclude=table(["w"], [1]))


def test_what_was_selected_before_is_a_file_of_exclusions(tmp_path):
    save(tmp_path / "p.npz", sp.csr_array(PROBABILITIES))
    first = tw.select(PROBABILITIES, "macro-f1", 2)
    save_selection(tmp_path / "first.npz", first)
    second = tw.select(tmp_path / "p.npz", "macro-f1", 2, exclude=tmp_path / "first.npz")
    assert not (pairs_of(first) & pairs_of(second)).any()


def scores_of(ids, items, order):
    i, j = np.nonzero(PROBABILITIES)
    scores = table([ids[x] for x in i], [items[x] for x in j]).assign(score=PROBABILITIES[i, j])
    return scores.iloc[order(len(scores))].reset_index(drop=True)


def ids_of_pairs(selection):
    frame = selection.to_frame()
    return set(zip(frame["instance"], frame["label"], strict=True))


@pytest.mark.parametrize(("ids", "items"), [("wxyz", "abcde"), ([14, 12, 13, 11], [25, 22, 21, 24, 23])])
@pytest.mark.parametrize("form", ["selection", "frame", "jsonl", "csv", "parquet"])
def test_what_was_selected_before_is_matched_by_id(tmp_path, ids, items, form):
    first = tw.select(scores_of(ids, items, lambda n: range(n)), "macro-f1", 2)
    if form in ("jsonl", "csv", "parquet"):
        first.save(tmp_path / f"first.{form}")
    exclude = first if form == "selection" else first.to_frame() if form == "frame" else tmp_path / f"first.{form}"
    second = tw.select(scores_of(ids, items, lambda n: range(n)[::-1]), "macro-f1", 2, exclude=exclude)
    assert not ids_of_pairs(first) & ids_of_pairs(second)
    assert len(ids_of_pairs(second)) == 8


def test_filled_labels_of_an_earlier_selection_are_excluded_too():
    probabilities = np.array([[0.9, 0.0, 0.0, 0.0]])
    first = tw.select(probabilities, "precision", 2)
    second = tw.select(probabilities, "precision", 2, exclude=first.to_frame())
    assert not (pairs_of(first) & pairs_of(second)).any()


def test_an_earlier_selection_without_ids_is_matched_by_position():
    first = tw.select(scores_of("wxyz", "abcde", lambda n: range(n)), "macro-f1", 2)
    with pytest.warns(UnknownIdsWarning, match=r"exclude lists its instances and labels by id, such as 'w' and 'a'"):
        second = tw.select(PROBABILITIES, "macro-f1", 2, exclude=first)
    assert not (pairs_of(first) & pairs_of(second)).any()
    with pytest.raises(
        InputError, match=r"exclude must have the 3 instances and 5 labels of probabilities\. Got 4 and 5"
    ):
        tw.select(PROBABILITIES[:3], "macro-f1", 2, exclude=first)


def test_exclusions_whose_ids_are_of_another_kind_are_refused():
    pandas = pytest.importorskip("pandas")
    scores = pandas.DataFrame({"user_id": ["1", "1"], "item_id": ["a", "b"], "score": [0.9, 0.4]})
    bought = pandas.DataFrame({"user_id": [1], "item_id": ["a"]})
    with pytest.raises(
        InputError,
        match=r"must have instances in common\. They have none\. The ids of exclude are integers .* are text",
    ):
        tw.select(scores, "precision", k=1, exclude=bought)


SCORES = pd.DataFrame({"user_id": ["u", "u", "v"], "item_id": ["1", "2", "2"], "score": [0.9, 0.4, 0.3]})


@pytest.mark.parametrize(
    ("bought", "what"),
    [
        ({"user_id": ["x"], "item_id": ["1"]}, "instances"),
        ({"user_id": ["u"], "item_id": ["9"]}, "labels"),
        ({"instance": [1], "label": ["1"]}, "instances"),
        ({"instance": ["u"], "label": [1]}, "labels"),
    ],
)
def test_exclusions_without_an_id_in_common_are_refused(bought, what, tmp_path):
    remedy = r"They have none\. .*(?:in the same way|Convert one side)"
    match = rf"exclude and probabilities must have {what} in common\. {remedy}"
    with pytest.raises(InputError, match=match):
        tw.select(SCORES, "precision", k=1, exclude=pd.DataFrame(bought))
    pd.DataFrame(bought).to_csv(tmp_path / "bought.csv", index=False)
    if "instance" not in bought:  # integers of a CSV file that lists text elsewhere are text
        with pytest.raises(OSError, match=match):
            tw.select(SCORES, "precision", k=1, exclude=tmp_path / "bought.csv")


def test_a_file_of_labels_excludes_them_for_all(tmp_path):
    path = tmp_path / "withdrawn.txt"
    path.write_text("2\n\n")
    assert tw.select(SCORES, "precision", k=1, exclude=path, fill="none").labels.tolist() == [[0], [-1]]
    numbered = np.array([[0.9, 0.4], [0.2, 0.3]])
    path.write_text("0\n")
    assert tw.select(numbered, "precision", k=1, exclude=path).labels.ravel().tolist() == [1, 1]
    path.write_text("u 1\n")
    with pytest.raises(OSError, match=r"one per line, must have labels in common.*Got 'u 1'\. For pairs, give a table"):
        tw.select(SCORES, "precision", k=1, exclude=path)
    path.write_text("0:0.5\n1:1\n")  # labels with scores, a line for each instance
    assert tw.select(numbered, "precision", k=1, exclude=path).labels.ravel().tolist() == [1, 0]


def test_integers_in_a_list_are_no_positions_where_ids_are_integers_as_text():
    with pytest.raises(InputError, match=r"Got the integer 1; ids are text, such as '1'\. Give ids of that kind"):
        tw.select(SCORES, "precision", k=1, exclude=[1])


def test_integers_are_no_positions_where_labels_have_names():
    with pytest.raises(InputError, match=r"Got the integer 0; ids are text, such as 'a'\..*label_names\[label\]"):
        tw.select(pd.DataFrame(PROBABILITIES, columns=list("abcde")), "macro-f1", 1, exclude=[0])
