"""Explanations: gains at the final totals, compared with expected utilities computed anew."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import tailwise as tw
from tailwise.datasets import LabelNames, zipf_candidates
from tailwise.errors import InputError
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.ids import Ids
from tailwise.inputs.lookups import find_label, find_row
from tailwise.selection.explain import explainer_of

PROBABILITIES = zipf_candidates(60, 30, 8)
UTILITIES = {
    "macro-f1": "exact",
    "coverage": "exact",
    "0.5*precision + 0.5*macro-f1": "semi",
    "macro-jaccard": "exact",
    "macro-recall": "exact",
}


def value_with(selection, i, k=3, *, without=None, more=None):
    """The expected utility with one label of an instance taken away, or one more."""
    rows = [[int(j) for j in row if j >= 0] for row in selection.labels]
    rows[i] = [j for j in rows[i] if j != without] + ([] if more is None else [more])
    labels = np.array([row + [-1] * (31 - len(row)) for row in rows], dtype=np.int32)
    return tw.expected_utility(PROBABILITIES, selection.utility, labels, k, expectation=selection.expectation)


@pytest.mark.parametrize(("utility", "expectation"), UTILITIES.items(), ids=UTILITIES)
def test_gains_are_those_at_the_final_totals(utility, expectation):
    selection = tw.select(PROBABILITIES, utility, 3, expectation=expectation, fill="none")
    for i in (0, 7):
        found = selection.explain(i)
        assert [reason.label for reason in found.labels] == [j for j in selection.labels[i] if j >= 0]
        assert len(found.others) == 5
        for reason in (*found.labels, *found.others):
            options = {"without": reason.label} if reason.chosen else {"more": reason.label}
            change = value_with(selection, i, **options) - selection.expected
            assert reason.gain == pytest.approx(-change if reason.chosen else change, abs=1e-12)
            dense = PROBABILITIES.toarray()[i]
            assert reason.probability == dense[reason.label]
            is_ahead = (dense > dense[reason.label]) | ((dense == dense[reason.label]) & (np.arange(30) < reason.label))
            assert reason.rank == 1 + is_ahead.sum()
            assert reason.times_chosen == (selection.labels == reason.label).sum()
            assert reason.expected == pytest.approx(PROBABILITIES.toarray()[:, reason.label].sum())
        weakest = min(reason.gain for reason in found.labels)
        assert all(each.lacks == max(0, weakest - each.gain) and each.held_back == "budget" for each in found.others)


def test_a_label_and_its_instances():
    selection = tw.select(PROBABILITIES, "macro-f1", 3, fill="none")
    j = int(selection.labels[7, 0])
    found = selection.explain_label(j, others=2)
    assert {i for i, _, _ in found.instances} == set(np.flatnonzero((selection.labels == j).any(axis=1)))
    assert len(found.others) == 2
    for i, e, gain in found.instances:
        assert e == PROBABILITIES.toarray()[i, j]
        assert gain == pytest.approx(selection.expected - value_with(selection, i, without=j), abs=1e-12)
    for i, _, gain in found.others:
        assert gain == pytest.approx(value_with(selection, i, more=j) - selection.expected, abs=1e-12)
    assert found.to_dict()["instances"][0]["instance"] == found.instances[0][0]
    assert str(found).startswith(f"label {j} is chosen for ")


def test_names_and_training_frequencies():
    names = LabelNames([f"q{j}" for j in range(3)], ["Sun", "Moon", "Comets"])
    candidates = Candidates.of(np.array([[0.9, 0.4, 0.1], [0.8, 0.1, 0.7], [0.9, 0.2, 0.1]])).with_names(names)
    selection = tw.select(candidates, "macro-f1", 1)
    found = selection.explain(0, priors=np.array([[1, 0, 0], [1, 1, 0]]))
    assert found.labels[0].name == "Moon"
    assert found.labels[0].training == 1
    assert "Moon (40.0%, 2nd by probability) is chosen: without it" in str(found)
    assert found.to_dict()["others"][0]["sentence"].startswith(
        "Sun (90.0%, 1st by probability) is not chosen: it would"
    )
    assert selection.explain_label("Comets").label == selection.explain_label("q2").label == 2


def test_labels_with_integer_ids_are_found_by_id():
    table = pd.DataFrame({"user": [1, 1, 2, 2], "item": [7, 0, 7, 0], "score": [0.9, 0.4, 0.8, 0.1]})
    selection = tw.select(table, "macro-f1", 1)
    assert [selection.explain_label(label).name for label in (7, 0, "7", "0", np.int32(0))] == ["7", "0", "7", "0", "0"]
    with pytest.raises(InputError, match=r"label must be one of the batch\. Got 1\. The first ids are 7, 0\."):
        selection.explain_label(1)


def test_labels_are_found_by_id_then_by_title_then_by_number():
    assert [find_label(each, 3, LabelNames(["b", "1", "c"])) for each in ("b", "1", 1, 0, "2")] == [0, 1, 1, 0, 2]
    titled = LabelNames([5, 6], ["Sun", "1984"])
    assert [find_label(each, 2, titled) for each in (5, "6", "Sun", "1984")] == [0, 1, 0, 1]
    for names in (titled, LabelNames([5, "x"])):
        with pytest.raises(InputError, match=r"Got 0\."):
            find_label(0, 2, names)


def test_training_frequencies_are_joined_by_id():
    table = pd.DataFrame({"user": [1, 1, 2, 2], "item": [7, 3, 7, 3], "score": [0.9, 0.4, 0.8, 0.1]})
    training = pd.DataFrame({"user": [5, 6, 7, 7], "item": [3, 3, 3, 9]})
    selection = tw.select(table, "macro-f1", 1)
    reasons = [reason for each in (1, 2) for reason in selection.explain(each, priors=training).labels]
    assert {reason.name: reason.training for reason in reasons} == {"7": 0, "3": 3}
    assert [selection.explain_label(each, priors=training).training for each in (7, 3)] == [0, 3]


def test_training_frequencies_of_other_labels_are_refused():
    selection, priors = tw.select(PROBABILITIES, "macro-f1", 3, fill="none"), np.ones((2, 4), dtype=int)
    for ask in (selection.explain, selection.explain_label):
        with pytest.raises(InputError, match=r"priors covers 4 labels, probabilities has 30\. Give the priors of the"):
            ask(0, priors=priors)


def test_without_a_budget_only_the_gain_holds_a_label_back():
    selection = tw.select(PROBABILITIES, "macro-f1", None)
    others = [reason for i in range(5) for reason in selection.explain(i).others]
    assert {(reason.held_back, reason.gain <= 0) for reason in others} == {("gain", True)}
    assert all("it would change the utility by -" in reason.sentence for reason in others if reason.gain < 0)


def test_an_instance_without_candidates():
    probabilities = PROBABILITIES.copy()
    probabilities.data[: probabilities.indptr[1]] = 0
    probabilities.eliminate_zeros()
    selection = tw.select(probabilities, "macro-f1", 3, fill="none")
    found = selection.explain(0)
    assert (found.labels, found.others) == ((), ())
    assert found.sentence.startswith("Instance 0 has no candidates")


EXCLUSIONS = {
    "pairs": sp.csr_array((np.arange(60)[:, None] % 3 > 0) & (PROBABILITIES.toarray() > 0.1)),
    "labels": [1, 4, 12],
}


@pytest.mark.parametrize("exclude", EXCLUSIONS.values(), ids=EXCLUSIONS)
@pytest.mark.parametrize("k", [2, None])
def test_excluded_candidates_are_among_the_others(exclude, k):
    selection = tw.select(PROBABILITIES, "macro-f1", k, exclude=exclude, fill="none")
    dense = PROBABILITIES.toarray()
    for i in range(0, 60, 7):
        barred = np.isin(np.arange(30), exclude) if isinstance(exclude, list) else exclude.toarray()[i]
        found = selection.explain(i, others=30)
        excluded = [reason for reason in found.others if reason.held_back == "exclusion"]
        assert {reason.label for reason in excluded} == set(np.flatnonzero(barred & (dense[i] > 0)).tolist())
        assert len(found.others) + len(found.labels) == (dense[i] > 0).sum()
        for reason in excluded[:2]:
            assert (reason.probability, reason.rank, reason.chosen) == (dense[i, reason.label], None, False)
            assert ", excluded) could not be chosen; it would " in reason.sentence
            changes = value_with(selection, i, k, more=reason.label) - value_with(selection, i, k)
            assert reason.gain == pytest.approx(changes, abs=1e-12)


def test_an_instance_of_which_all_is_excluded():
    selection = tw.select(np.array([[0.9, 0.4], [0.8, 0.1]]), "macro-f1", 1, exclude=[[1, 1], [0, 0]], fill="none")
    assert selection.explain(0).sentence.startswith("Instance 0 has no candidates that are not excluded, so that")


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ([0], "Instance 0 was given its most probable label."),
        ([1, 0], "Instance 0 was given its 2 most probable labels."),
        ([-1], "Instance 0 was given no label."),
        ([1], "the label that adds most to macro-f1 of the whole batch; it is only 2nd by probability."),
        ([0, 2], "2 labels that add most to macro-f1 of the whole batch; the least probable of them is only 3rd by"),
        ([0, 3], "Instance 0 was given its most probable label; it also has 1 label that is no candidate."),
        ([3, 4], "Instance 0 was given 2 labels that are no candidates."),
    ],
)
def test_a_summary_in_one_sentence(labels, sentence):
    probabilities = np.array([[0.9, 0.4, 0.1, 0.0, 0.0], [0.8, 0.1, 0.7, 0.5, 0.6]])
    selection = np.full((2, 3), -1)
    selection[0, : len(labels)] = labels
    found = explainer_of(sp.csr_array(probabilities), "macro-f1", selection).explain(0)
    assert sentence in found.sentence


def test_a_label_is_explained_by_the_ids_of_instances():
    table = pd.DataFrame({"user": ["ann", "ann", "bob"], "item": ["tea", "jam", "tea"], "score": [0.9, 0.4, 0.7]})
    found = tw.select(table, "macro-f1", 1).explain_label("tea")
    assert ([each[0] for each in found.instances], [each[0] for each in found.others]) == (["bob"], ["ann"])
    assert found.to_dict()["instances"][0]["instance"] == "bob"
    assert "  instance bob: 70.0%, without it the utility would be " in str(found)
    assert "  instance ann: 90.0%, it would change" in str(found)
    table["user"] = pd.to_datetime(["2020-01-01", "2020-01-01", "2020-01-02"])
    assert (
        tw.select(table, "macro-f1", 1).explain_label("tea").to_dict()["instances"][0]["instance"][:10] == "2020-01-02"
    )


def test_a_negative_gain_is_said_to_be_one():
    probabilities = np.array([[0.9, 0.0], [0.01, 0.0], [0.01, 0.5]])
    found = explainer_of(probabilities, "macro-precision", np.array([[0], [0], [1]])).explain_label(0)
    assert found.instances[1][2] < 0
    assert "instance 1: 1.0%, without it the utility would be 0.22 higher" in str(found)


def test_a_foreign_selection_with_labels_that_are_no_candidates():
    labels = np.tile(np.array([[0, 29]]), (60, 1))
    found = explainer_of(PROBABILITIES, "macro-f1", labels).explain(3)
    assert {reason.label for reason in found.labels} == {0, 29}
    assert [reason.rank for reason in found.labels if reason.probability == 0] == [None] * sum(
        reason.probability == 0 for reason in found.labels
    )


def test_a_selection_from_elsewhere_says_what_it_needs():
    import pickle

    selection = pickle.loads(pickle.dumps(tw.select(PROBABILITIES, "macro-f1", 3)))
    with pytest.raises(InputError, match="An explanation needs the probabilities"):
        selection.explain(0)


def test_what_is_not_there():
    selection = tw.select(PROBABILITIES, "macro-f1", 3, fill="none")
    with pytest.raises(InputError, match=r"instance must be one of the batch\. Got 60\. Use a number from 0 to 59\."):
        selection.explain(60)
    with pytest.raises(InputError, match=r"label must be one of the batch\. Got -1\. Use a number from 0 to 29\."):
        selection.explain_label(-1)
    with pytest.raises(InputError, match=r"Got 'recrod'\. The nearest names are 'record'\."):
        find_row("recrod", 2, Ids(["record", "x"]))
    with pytest.raises(InputError, match=r"Got 'Mon'\. The nearest names are 'Moon'\."):
        find_label("Mon", 1, LabelNames(["a"], ["Moon"]))
    with pytest.raises(InputError, match=r"Got 'zz'\. The first ids are record, x\."):
        find_row("zz", 2, Ids(["record", "x"]))
    assert (find_row("1", 2), find_row("x", 2, Ids(["x", "1"])), find_row("1", 2, Ids([7, 1]))) == (1, 0, 1)
    with pytest.raises(InputError, match="selection must have the 60 instances of probabilities"):
        explainer_of(PROBABILITIES, "macro-f1", np.zeros((3, 1), dtype=int))


def test_a_label_that_only_makes_up_the_number_is_said_to_do_so():
    rows = np.array([[0.9, 0.004, 0.3], [0.8, 0.006, 0.6], [0.7, 0.005, 0.1]])
    explainer = explainer_of(rows, "precision", np.array([[0, 1], [0, 2], [0, 2]]))
    first, filler = explainer.explain(0).labels
    assert (first.makes_up_number, filler.makes_up_number) == (False, True)
    assert "makes up the number of labels: it is unlikely, and without it the utility would be only" in filler.sentence
    assert not any(each.makes_up_number for i in (1, 2) for each in explainer.explain(i).labels)
    # Macro-averages may gain much by a label of the same probability.
    rare = explainer_of(rows, "macro-recall", np.array([[0, 1], [0, 2], [0, 2]]), expectation="semi").explain(0).labels
    assert not any(each.makes_up_number for each in rare)


def test_labels_that_only_make_up_the_number_are_counted_once():
    matrix = np.array([[0.9, 0.4, 0.001], [0.8, 0.0001, 0.3], [0.7, 0.005, 0.002]])
    selection = tw.select(matrix, "precision", 3)
    marked = [each.makes_up_number for i in range(3) for each in selection.explain(i).labels]
    (message,) = selection.messages
    assert message.startswith(
        f"In {sum(marked)} of 9 slots ({sum(marked) / 9:.1%}), the label only makes up the number"
    )
    assert sum(marked) == 4
    assert message.endswith("or no budget (k=None, -k none).")
    assert pickle.loads(pickle.dumps(selection)).messages == (message,)
    for fewer in (tw.select(matrix, "precision", [2, 2, 1]), tw.select(matrix, "macro-f1", None)):
        assert fewer.messages == ()
