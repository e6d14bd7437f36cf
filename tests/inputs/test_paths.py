"""Several files of the same instances and labels: found by their names, whatever the order in which they stand."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import tailwise as tw
from tailwise.cli.main import main
from tailwise.datasets import load_contents, load_filter, load_like
from tailwise.errors import FileError, InputError
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.label_names import LabelNames

LABELS = np.array([[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 1, 1], [1, 1, 0, 0]])
NAMES = ["d1", "d2", "d3", "d4"]


def write_lists(path, order, names=NAMES, label_names=None):
    """JSON lines of the labels, rows in this order."""
    with open(path, "w") as file:
        for row in order:
            labels = [int(j) if label_names is None else label_names[j] for j in np.flatnonzero(LABELS[row])]
            file.write(json.dumps({"id": names[row], "labels": labels}) + "\n")


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_instances_are_found_by_name(tmp_path, suffix):
    order = [2, 0, 3, 1]
    tw.save(tmp_path / "truth.jsonl", LABELS, instance_names=NAMES)
    tw.save(tmp_path / f"other{suffix}", LABELS[order] * 0.5, instance_names=[NAMES[row] for row in order])
    first = load_contents(tmp_path / "truth.jsonl")
    found = load_like(tmp_path / f"other{suffix}", first, tmp_path / "truth.jsonl")
    np.testing.assert_array_equal(found.matrix.toarray(), LABELS * 0.5)
    assert found.instance_names == tuple(NAMES)


def test_rankings_and_scores_go_with_their_instances(tmp_path):
    tw.save(tmp_path / "truth.jsonl", LABELS, instance_names=NAMES)
    (tmp_path / "chosen.jsonl").write_text(
        "".join(
            json.dumps({"id": name, "labels": labels, "scores": [0.5, 0.25][: len(labels)]}) + "\n"
            for name, labels in (("d4", [1, 0]), ("d2", [3]), ("d1", [2, 1]), ("d3", []))
        )
    )
    first = load_contents(tmp_path / "truth.jsonl")
    found = load_like(tmp_path / "chosen.jsonl", first, tmp_path / "truth.jsonl")
    assert found.ranked_labels().tolist() == [[2, 1], [3, -1], [-1, -1], [1, 0]]
    assert found.matrix.toarray()[0].tolist() == [0, 0.25, 0.5, 0]


def test_numbers_are_names_where_they_are_written(tmp_path):
    tw.save(tmp_path / "truth.jsonl", LABELS)  # ids 0, 1, 2, 3
    write_lists(tmp_path / "other.jsonl", [3, 1, 2, 0], names=[0, 1, 2, 3])
    first = load_contents(tmp_path / "truth.jsonl")
    found = load_like(tmp_path / "other.jsonl", first, tmp_path / "truth.jsonl")
    np.testing.assert_array_equal(found.matrix.toarray(), LABELS)


@pytest.mark.parametrize("names", [NAMES, [0, 1, 2, 3]])
def test_instances_of_a_file_without_names_are_taken_as_they_come(tmp_path, names):
    tw.save(tmp_path / "truth.npz", LABELS)
    write_lists(tmp_path / "other.jsonl", [3, 1, 2, 0], names=names)
    first = load_contents(tmp_path / "truth.npz")
    found = load_like(tmp_path / "other.jsonl", first, tmp_path / "truth.npz")
    np.testing.assert_array_equal(found.matrix.toarray(), LABELS[[3, 1, 2, 0]])


def test_instances_in_both_files_are_compared(tmp_path):
    tw.save(tmp_path / "truth.jsonl", LABELS, instance_names=NAMES)
    write_lists(tmp_path / "other.jsonl", range(4), names=["d1", "d2", "d3", "d5"])
    found = tw.evaluate(tmp_path / "truth.jsonl", tmp_path / "other.jsonl")
    assert found.instance_ids == ["d1", "d2", "d3"]
    assert found.notes[0] == "3 instances are in both, of 4 in truth and 4 in selection"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            ["d1", "d2", "d3", "d5"],
            r"other\.jsonl must list the same instances as the file it is used with\. 'd4' is missing",
        ),
        (["d1", "d2", "d3", "d3"], r"other\.jsonl and the file it is used with must list each instance once"),
    ],
)
def test_other_instances_are_refused(tmp_path, names, message):
    tw.save(tmp_path / "truth.jsonl", LABELS, instance_names=NAMES)
    write_lists(tmp_path / "other.jsonl", range(4), names=names)
    first = load_contents(tmp_path / "truth.jsonl")
    with pytest.raises(FileError, match=message):
        load_like(tmp_path / "other.jsonl", first, tmp_path / "truth.jsonl")


def test_instances_named_twice_stay_where_they_are(tmp_path):
    twice = ["d1", "d1", "d2", "d3"]
    for name in ("truth", "other"):
        write_lists(tmp_path / f"{name}.jsonl", range(4), names=twice)
    assert tw.evaluate(tmp_path / "truth.jsonl", tmp_path / "other.jsonl", ["recall"])["recall"] == 1
    write_lists(tmp_path / "other.jsonl", [1, 2, 0, 3], names=twice)
    write_lists(tmp_path / "other.jsonl", [1, 2, 0, 3], names=twice[::-1])
    with pytest.raises(InputError, match=r"instance ids must be unique\. Got 'd1' twice"):
        tw.evaluate(tmp_path / "truth.jsonl", tmp_path / "other.jsonl")


def test_an_evaluation_matches_everything(tmp_path, capsys):
    """Truth, selection, probabilities and filter, each in an order of its own; training labels are other instances."""
    names = ["a", "b", "c", "d"]
    tw.save(tmp_path / "truth.jsonl", LABELS, instance_names=NAMES, label_names=names)
    write_lists(tmp_path / "chosen.jsonl", [3, 2, 1, 0], label_names=names)
    shuffled = [1, 3, 0, 2]
    tw.save(
        tmp_path / "probabilities.jsonl",
        (0.25 + 0.5 * LABELS)[shuffled][:, ::-1],
        instance_names=[NAMES[row] for row in shuffled],
        label_names=names[::-1],
    )
    tw.save(tmp_path / "train.jsonl", LABELS, instance_names=["t1", "t2", "t3", "t4"], label_names=names)
    given = {"probabilities": 0.25 + 0.5 * LABELS, "priors": LABELS}
    expected = tw.evaluate(LABELS, LABELS.astype(bool), **given)
    paths = {"probabilities": tmp_path / "probabilities.jsonl", "priors": tmp_path / "train.jsonl"}
    found = tw.evaluate(tmp_path / "truth.jsonl", tmp_path / "chosen.jsonl", list(expected), **paths)
    assert dict(found) == dict(expected)
    assert found.expected == pytest.approx(expected.expected)


@pytest.mark.parametrize("name", ["chosen.parquet", "chosen.jsonl", "chosen.json"])
def test_what_is_selected_from_a_shuffled_file_fits_it(tmp_path, name):
    order = [3, 1, 0, 2]
    for file, matrix in (("truth.jsonl", LABELS), ("probabilities.jsonl", 0.2 + 0.6 * LABELS)):
        tw.save(tmp_path / file, matrix[order], instance_names=[str(row) for row in order])
    words = ["select", str(tmp_path / "probabilities.jsonl"), "-u", "precision", "-k", "1", "--quiet"]
    assert main([*words, "-o", str(tmp_path / name)]) == 0
    assert tw.evaluate(tmp_path / "truth.jsonl", tmp_path / name)["precision"] == 1


def test_expectations_match_files_by_name(tmp_path):
    probabilities = np.array([[0.9, 0.1, 0.2, 0.3], [0.1, 0.8, 0.2, 0.3], [0.1, 0.2, 0.7, 0.3], [0.1, 0.2, 0.3, 0.6]])
    order = [2, 0, 3, 1]
    tw.save(tmp_path / "p.jsonl", probabilities, instance_names=NAMES)
    (tmp_path / "s.jsonl").write_text("".join(json.dumps({"id": NAMES[row], "labels": [row]}) + "\n" for row in order))
    paths = tmp_path / "p.jsonl", tmp_path / "s.jsonl"
    assert tw.expected_utility(paths[0], "precision", paths[1], 1) == pytest.approx(0.75)
    assert tw.certify(paths[0], "precision", 1, paths[1]).value == pytest.approx(0.75)


def test_a_filter_names_its_labels(tmp_path):
    (tmp_path / "truth.jsonl").write_text('{"labels": ["a", "b"]}\n{"labels": ["b"]}\n')
    (tmp_path / "filter.jsonl").write_text('{"labels": ["b"]}\n{"labels": []}\n')
    found = tw.evaluate(
        tmp_path / "truth.jsonl", tmp_path / "truth.jsonl", ["recall"], filter=tmp_path / "filter.jsonl"
    )
    truth = np.array([[1, 1], [0, 1]])
    expected = tw.evaluate(truth, truth.astype(bool), ["recall"], filter=[[0, 1]])
    assert dict(found) == dict(expected)
    with pytest.raises(FileError, match=r"filter\.jsonl must number its labels\. It names them"):
        load_filter(tmp_path / "filter.jsonl")


def test_names_beside_a_file_are_left_out_where_the_output_cannot_hold_them(tmp_path, capsys):
    tw.save(tmp_path / "probabilities.npz", np.random.default_rng(0).random((6, 4)))
    (tmp_path / "labels.txt").write_text("one word\ntwo words\nthree\nfour\n")
    words = ["select", str(tmp_path / "probabilities.npz"), "-u", "macro-f1", "-k", "2"]
    assert main([*words, "-o", str(tmp_path / "chosen.txt")]) == 0
    assert main([*words, "-o", str(tmp_path / "chosen.jsonl")]) == 0
    numbered, named = (load_contents(tmp_path / f"chosen{suffix}") for suffix in (".txt", ".jsonl"))
    assert numbered.label_names is None
    assert "one word" in named.label_names.ids
    asked = [*words, "--label-names", str(tmp_path / "labels.txt"), "-o", str(tmp_path / "asked.txt")]
    assert main(asked) == 2
    assert "must be words without spaces. Got 'one word'" in capsys.readouterr().err


# One matrix alone

PROBABILITIES = np.array([[0.5, 0.25, 0.0], [0.0, 0.75, 0.0]], dtype=np.float32)


@pytest.mark.parametrize("name", ["a.npz", "a.jsonl", "a.parquet", "a.txt", "a-labels.npy"])
def test_candidates_from_a_file(tmp_path, name):
    tw.save(tmp_path / name, PROBABILITIES)
    for path in (tmp_path / name, str(tmp_path / name)):
        candidates = Candidates.of(path, n_labels=3)
        np.testing.assert_array_equal(candidates.to_csr().toarray(), PROBABILITIES)
        assert candidates.label_names is None
        assert not candidates.holds_all_labels


@pytest.mark.parametrize("name", ["a.npz", "a.jsonl", "a.parquet"])
def test_names_beside_a_file(tmp_path, name):
    """Also those of labels that the file does not list, where it does not say how many there are."""
    (tmp_path / "labels.txt").write_text("q1\tEarth\nq2\tMoon\nq3\tMars\n")
    tw.save(tmp_path / name, PROBABILITIES)
    candidates = Candidates.of(tmp_path / name)
    assert candidates.shape == (2, 3)
    assert candidates.label_names == LabelNames(["q1", "q2", "q3"], ["Earth", "Moon", "Mars"])
    assert candidates.keep_top(1).label_names is candidates.label_names
    assert Candidates.of(candidates).label_names is candidates.label_names


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_names_in_a_file(tmp_path, name):
    tw.save(tmp_path / name, PROBABILITIES[:, :2], label_names=["Earth", "Moon"])
    candidates = Candidates.of(tmp_path / name)
    assert candidates.label_names.ids == ("Earth", "Moon")
    np.testing.assert_array_equal(candidates.to_csr().toarray(), PROBABILITIES[:, :2])


def test_names_of_other_labels(tmp_path):
    (tmp_path / "labels.txt").write_text("q1\nq2\n")
    tw.save(tmp_path / "a.npz", PROBABILITIES)
    assert Candidates.of(tmp_path / "a.npz").label_names is None
    rows = Candidates.of(PROBABILITIES).rows
    with pytest.raises(InputError, match=r"label_names must hold one name for each of the 3 labels\. Got 2 names"):
        Candidates(*rows, 3, label_names=LabelNames(["q1", "q2"]))


def test_a_file_of_no_probabilities(tmp_path):
    tw.save(tmp_path / "a.npz", PROBABILITIES * 4)
    with pytest.raises(InputError, match=r"probabilities must lie in \[0, 1\]\. Got 2 for instance 0, label 0"):
        Candidates.of(tmp_path / "a.npz")
    with pytest.raises(FileError, match=r"b\.npz does not exist"):
        Candidates.of(tmp_path / "b.npz")


# Probabilities and labels of models

NAMED = ["a", "b", "c", "d"]


def write_shuffled(tmp_path):
    """True labels by number, with their names beside them, and probabilities by name in another order."""
    tw.save(tmp_path / "truth.jsonl", LABELS, instance_names=NAMES)
    (tmp_path / "labels.txt").write_text("\n".join(NAMED))
    rows, columns = [2, 0, 3, 1], [3, 1, 0, 2]
    probabilities = 0.125 + LABELS * 0.5 + 0.0625 * np.arange(4)
    tw.save(
        tmp_path / "probabilities.jsonl",
        probabilities[rows][:, columns],
        instance_names=[NAMES[row] for row in rows],
        label_names=[NAMED[column] for column in columns],
    )
    return probabilities


def test_reliability_matches_names(tmp_path):
    probabilities = write_shuffled(tmp_path)
    expected = tw.reliability(probabilities, LABELS)
    assert tw.reliability(tmp_path / "probabilities.jsonl", tmp_path / "truth.jsonl").error == expected.error


def test_a_calibrator_matches_names(tmp_path):
    probabilities = write_shuffled(tmp_path)
    expected = tw.Calibrator("platt").fit(probabilities, LABELS).transform(probabilities)
    found = tw.Calibrator("platt").fit(tmp_path / "probabilities.jsonl", tmp_path / "truth.jsonl")
    np.testing.assert_allclose(found.transform(probabilities).toarray(), expected.toarray())


def test_shifting_to_priors_matches_names(tmp_path):
    """Labels seen more often in training become more probable, each its own."""
    tw.save(tmp_path / "probabilities.jsonl", np.array([[0.5, 0.25], [0.25, 0.5]]), label_names=["a", "b"])
    training = np.array([[1, 0], [1, 0], [1, 1]])
    tw.save(tmp_path / "training.jsonl", training[:, ::-1], label_names=["b", "a"])
    expected = tw.shift_to_priors(np.array([[0.5, 0.25], [0.25, 0.5]], dtype=np.float32), training)
    found = tw.shift_to_priors(tmp_path / "probabilities.jsonl", tmp_path / "training.jsonl")
    np.testing.assert_array_equal(found.to_csr().toarray(), expected.to_csr().toarray())


def test_numbers_have_the_names_of_labels_txt_beside_them(tmp_path):
    """Truth that names labels in an order of its own, and a selection that numbers them, as `select` writes it."""
    (tmp_path / "truth.jsonl").write_text('{"labels": ["blue", "red"]}\n{"labels": ["red"]}\n')
    selection = tmp_path / "chosen.npz"
    tw.save(selection, sp.csr_array([[1, 0, 0], [0, 0, 1]]))
    with pytest.raises(InputError, match="must both name or both number"):
        tw.evaluate(tmp_path / "truth.jsonl", selection)
    (tmp_path / "labels.txt").write_text("red\ngreen\nblue\n")
    found = tw.evaluate(tmp_path / "truth.jsonl", selection)
    assert found["precision"] == 0.5  # red and blue were chosen
