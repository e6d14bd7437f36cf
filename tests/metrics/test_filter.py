"""Pairs of a filter are left out of the truth and of the selection, and files that name labels meet by name."""

import numpy as np
import pytest

from tailwise.datasets import save, save_selection
from tailwise.errors import InputError
from tailwise.inputs.chosen import Chosen
from tailwise.metrics import evaluate

TRUTH = np.array([[1, 1, 0, 0], [1, 0, 0, 1], [0, 0, 1, 0]])
CHOSEN = np.array([[0, 1, 2], [1, 3, 0], [3, 2, 0]])
NAMES = ["a", "b", "c", "d"]


def leave_out(pairs):
    """The slow and obvious way: rebuild both without the pairs."""
    truth, chosen = TRUTH.copy(), np.full_like(CHOSEN, -1)
    for i, row in enumerate(CHOSEN):
        kept = [label for label in row if (i, label) not in pairs]
        chosen[i, : len(kept)] = kept
    for i, label in pairs:
        truth[i, label] = 0
    return truth, chosen


@pytest.mark.parametrize("pairs", [[(0, 0)], [(0, 0), (1, 3), (2, 1), (2, 3), (0, 0)], []])
@pytest.mark.parametrize("k", [None, 1, 2])
def test_pairs_are_left_out(tmp_path, pairs, k):
    expected = evaluate(*leave_out(pairs), priors=TRUTH, k=k)
    assert evaluate(TRUTH, CHOSEN, priors=TRUTH, k=k, filter=np.array(pairs, dtype=int)) == expected
    (tmp_path / "filter.txt").write_text("".join(f"{i} {label}\n" for i, label in pairs))
    assert evaluate(TRUTH, CHOSEN, priors=TRUTH, k=k, filter=tmp_path / "filter.txt") == expected


def test_a_matrix_stays_without_order():
    truth, chosen = leave_out([(0, 0)])
    matrix = Chosen.of(CHOSEN, 4).to_csr()
    assert evaluate(TRUTH, matrix, filter=[(0, 0)]) == evaluate(truth, Chosen.of(chosen, 4).to_csr())


@pytest.mark.parametrize(
    ("filter", "message"),
    [
        ([[3, 0]], r"filter must hold instance numbers from 0 to 2\. Got 3\. Use the filter of this data set\."),
        ([[0, 4]], r"filter must hold label numbers from 0 to 3\. Got 4\."),
        ([[0, -1]], r"filter must hold label numbers from 0 to 3\. Got -1\."),
        ([0, 1], r"filter must be pairs \(instance, label\), .*Got shape \(2,\)"),
        ([[0.5, 1]], r"filter must be pairs"),
    ],
)
def test_a_wrong_filter(filter, message):
    with pytest.raises(InputError, match=message):
        evaluate(TRUTH, CHOSEN, filter=filter)


# Names

FILES = ["chosen.npz", "chosen.jsonl", "chosen.txt", "chosen.parquet", "chosen-labels.npy"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("truth", ["truth.npz", "truth.jsonl", "truth.parquet"])
def test_files_that_number_labels(tmp_path, name, truth):
    save(tmp_path / truth, TRUTH)
    save_selection(tmp_path / name, Chosen.of(CHOSEN, 4))
    assert evaluate(tmp_path / truth, tmp_path / name) == evaluate(TRUTH, CHOSEN)
    assert evaluate(TRUTH, tmp_path / name) == evaluate(TRUTH, CHOSEN)


@pytest.mark.parametrize("name", ["chosen.jsonl", "chosen.txt", "chosen.parquet"])
def test_a_selection_that_names_labels(tmp_path, name):
    save(tmp_path / "truth.npz", TRUTH)
    save_selection(tmp_path / name, Chosen.of(CHOSEN, 4), label_names=NAMES)
    expected = evaluate(TRUTH, CHOSEN, priors=TRUTH)
    with pytest.raises(
        InputError, match=r"and .*truth\.npz must both name or both number their labels.*--label-names FILE"
    ):
        evaluate(tmp_path / "truth.npz", tmp_path / name)
    found = evaluate(tmp_path / "truth.npz", tmp_path / name, priors=tmp_path / "truth.npz", label_names=NAMES)
    assert found == expected
    (tmp_path / "labels.txt").write_text("\n".join(NAMES))
    assert evaluate(tmp_path / "truth.npz", tmp_path / name, priors=tmp_path / "truth.npz") == expected


def test_both_name_labels_in_another_order(tmp_path):
    order = [2, 0, 3, 1]
    save(tmp_path / "truth.jsonl", TRUTH, label_names=NAMES)
    save(tmp_path / "priors.npz", TRUTH)
    renamed = [order.index(j) for j in range(4)]
    chosen = np.array(renamed)[CHOSEN]
    save_selection(tmp_path / "chosen.parquet", Chosen.of(chosen, 4), label_names=[NAMES[j] for j in order])
    assert evaluate(tmp_path / "truth.jsonl", tmp_path / "chosen.parquet") == evaluate(TRUTH, CHOSEN)
    with pytest.raises(InputError, match=r"truth\.jsonl and .*priors\.npz must both name or both number their labels"):
        evaluate(tmp_path / "truth.jsonl", tmp_path / "chosen.parquet", priors=tmp_path / "priors.npz")


def test_a_truth_that_does_not_say_how_many_labels_there_are(tmp_path):
    truth = TRUTH * [1, 1, 1, 0]
    save(tmp_path / "truth.svm", truth, features=np.ones((3, 2)))
    chosen = Chosen.of(CHOSEN, 4)
    save_selection(tmp_path / "chosen.npz", chosen)
    expected = evaluate(truth, CHOSEN, priors=TRUTH)
    assert evaluate(tmp_path / "truth.svm", chosen, priors=TRUTH) == expected
    assert evaluate(tmp_path / "truth.svm", tmp_path / "chosen.npz", priors=TRUTH) == expected
    (tmp_path / "labels.txt").write_text("\n".join(NAMES))
    assert evaluate(tmp_path / "truth.svm", CHOSEN, priors=TRUTH) == expected
