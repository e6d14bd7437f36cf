"""The synthetic data has the promised sizes, sums and tail, and its truth comes from its probabilities."""

import dataclasses

import numpy as np
import pytest

from tailwise.datasets import make_long_tail
from tailwise.datasets.synthetic.long_tail import _mean_sigmoid, _sigmoid
from tailwise.errors import InputError
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.priors import LabelPriors


@pytest.fixture(scope="module")
def data():
    return make_long_tail()


@pytest.fixture(scope="module")
def positives(data):
    return Candidates.of(data.probabilities).condition_positives()


def small(**changes):
    return make_long_tail(**{"n_instances": 60, "n_labels": 80, "labels_per_instance": 2.0, "top": 15, **changes})


def test_the_defaults_have_the_sizes_of_eurlex(data):
    assert data.probabilities.shape == data.truth.shape == (3809, 3993)
    assert data.training_counts.shape == (3993,)
    assert data.n_training == 15449


def test_the_matrices_are_canonical(data):
    assert data.probabilities.dtype == np.float32
    assert data.truth.dtype == np.int8
    assert (data.truth.data == 1).all()
    for matrix in (data.probabilities, data.truth):
        ends_row = np.zeros(matrix.nnz, dtype=bool)
        ends_row[matrix.indptr[1:][np.diff(matrix.indptr) > 0] - 1] = True
        assert (np.diff(matrix.indices)[~ends_row[:-1]] > 0).all()


def test_every_instance_has_top_candidates(data):
    assert (np.diff(data.probabilities.indptr) == 100).all()
    assert (np.diff(small(n_labels=9).probabilities.indptr) == 9).all()


@pytest.mark.parametrize("labels_per_instance", [0.01, 2.0, 14.9])
def test_rows_sum_to_the_labels_per_instance_on_average(labels_per_instance):
    probabilities = small(labels_per_instance=labels_per_instance).probabilities
    assert probabilities.sum(dtype=np.float64) / 60 == pytest.approx(labels_per_instance, rel=1e-5)


def test_rows_reach_from_near_0_to_near_1(data):
    rows = data.probabilities.data.reshape(3809, 100)
    assert np.median(rows.min(axis=1)) < 1e-4
    assert np.median(rows.max(axis=1)) > 0.8
    assert rows.min() > 0
    assert rows.max() < 1


def test_few_labels_are_frequent_and_most_are_rare(positives):
    assert (positives < 10).mean() > 0.85
    assert (positives < 1).mean() > 0.2
    assert positives[:40].sum() > 0.3 * positives.sum()


def test_the_expected_positives_follow_the_zipf_law(positives):
    # Means over ranks that double: a straight line of slope -1 in logarithms.
    edges = 2 ** np.arange(2, 12)
    means = [positives[low:high].mean() for low, high in zip(edges, 2 * edges, strict=True)]
    slope = np.polyfit(np.log(edges), np.log(means), 1)[0]
    assert slope == pytest.approx(-1.0, abs=0.1)


def test_rare_labels_can_be_probable_for_a_few_instances(data, positives):
    is_rare = positives[data.probabilities.indices] < 5
    probable = np.unique(data.probabilities.indices[is_rare & (data.probabilities.data > 0.5)])
    assert probable.size > 0.3 * (positives < 5).sum()


def test_the_truth_lies_among_the_candidates(data):
    assert data.truth.multiply(data.probabilities > 0).nnz == data.truth.nnz


def test_the_truth_agrees_with_the_probabilities(data):
    """In every band of probabilities the share of ones is the mean probability, within 4 standard deviations."""
    values = data.probabilities.data.astype(np.float64)
    is_one = (data.truth + (data.probabilities > 0)).data == 2
    band = np.digitize(values, [0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9])
    for b in np.unique(band):
        inside = band == b
        deviation = np.sqrt((values[inside] * (1 - values[inside])).sum())
        assert abs(is_one[inside].sum() - values[inside].sum()) < 4 * deviation


def test_training_counts_follow_the_same_law(data, positives):
    """Group by group of labels the two frequencies agree; both are random, so groups are large."""
    for group in np.array_split(np.arange(3993), [5, 20, 100, 500, 2000]):
        in_training = data.training_counts[group].sum() / data.n_training
        assert in_training == pytest.approx(positives[group].sum() / 3809, rel=0.08)


def test_the_priors_are_the_training_counts(data):
    assert data.priors == LabelPriors(data.training_counts, 15449)


def test_the_quadrature_is_the_mean_over_the_relevance():
    z = np.linspace(-9, 9, 20_001)
    density = np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum()
    for centre in (-12.0, -4.0, 0.0, 3.0):
        assert _mean_sigmoid(np.array([centre]))[0] == pytest.approx(_sigmoid(centre + 3.0 * z) @ density, rel=1e-3)


def test_same_seed_same_data():
    first, again, other = (small(seed=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first.probabilities.toarray(), again.probabilities.toarray())
    np.testing.assert_array_equal(first.truth.toarray(), again.truth.toarray())
    np.testing.assert_array_equal(first.training_counts, again.training_counts)
    assert (first.probabilities != other.probabilities).nnz > 0
    assert (first.training_counts != other.training_counts).any()


@pytest.mark.parametrize("exponent", [0.0, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("top", [3, 79, 80])
def test_any_exponent_and_any_top_work(exponent, top):
    made = small(exponent=exponent, top=top)
    assert made.probabilities.nnz == 60 * top
    assert made.probabilities.sum() / 60 == pytest.approx(2.0, rel=1e-4)
    assert 0 <= made.training_counts.min() <= made.training_counts.max() <= made.n_training


def test_the_data_cannot_be_changed_by_assignment(data):
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.n_training = 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"labels_per_instance": 15},
            r"labels_per_instance must be above 0 and below 15, .*\. Got 15\. Use a larger top",
        ),
        ({"labels_per_instance": 0}, "labels_per_instance must be above 0"),
        ({"labels_per_instance": np.nan}, "Got nan"),
        ({"n_labels": 2}, "below 2, the number of candidates"),
        ({"n_instances": 0}, "n_instances must be an integer of at least 1. Got 0"),
        ({"n_labels": 0}, "n_labels must be an integer of at least 1. Got 0"),
        ({"top": 0}, "top must be an integer of at least 1. Got 0"),
        ({"n_training": -1}, "n_training must be an integer of at least 1. Got -1"),
        ({"exponent": 11}, "exponent must be a number between 0 and 10. Got 11"),
    ],
)
def test_wrong_arguments_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        small(**changes)
