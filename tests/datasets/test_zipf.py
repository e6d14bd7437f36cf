"""The benchmark matrix: canonical, drawn without replacement by a Zipf law, the same for the same seed."""

import numpy as np
import pytest

from tailwise.datasets import zipf_candidates
from tailwise.datasets.synthetic.zipf import CHUNK, draw_candidates, zipf_popularities
from tailwise.errors import InputError
from tailwise.inputs.candidates import Candidates


def assert_canonical(matrix, top):
    assert matrix.dtype == np.float32
    assert matrix.indices.dtype == matrix.indptr.dtype == np.int32
    labels = matrix.indices.reshape(matrix.shape[0], top)
    assert (np.diff(labels, axis=1) > 0).all()
    assert labels.min() >= 0
    assert labels.max() < matrix.shape[1]


@pytest.mark.parametrize(
    ("n_instances", "n_labels", "top", "exponent"),
    [(400, 300, 20, 0.8), (7, 50, 50, 0.8), (5, 1, 1, 0.8), (30, 60, 40, 3.0), (30, 60, 59, 10.0), (50, 40, 10, 0.0)],
)
def test_every_row_has_its_distinct_sorted_candidates(n_instances, n_labels, top, exponent):
    matrix = zipf_candidates(n_instances, n_labels, top, exponent)
    assert matrix.shape == (n_instances, n_labels)
    assert_canonical(matrix, top)
    Candidates.of(matrix)


def test_several_chunks_fill_every_row():
    top = 100
    matrix = zipf_candidates(CHUNK // (3 * top) + 500, 2_000, top)
    assert_canonical(matrix, top)


def test_probabilities_are_clipped_and_have_the_mean_of_their_law():
    values = zipf_candidates(5_000, 1_000, 20).data
    assert values.min() >= np.float32(1e-6)
    assert values.max() <= np.float32(1 - 1e-6)
    assert values.mean() == pytest.approx(0.15 / 3.15, abs=0.002)


def test_popular_labels_are_candidates_more_often():
    counts = np.bincount(zipf_candidates(4_000, 1_000, 20).indices, minlength=1_000)
    assert counts[:10].mean() > 3 * counts[40:60].mean() > 9 * counts[900:].mean()


def successive_draws(popularities, top):
    """Chance of each label to be among ``top`` draws without replacement, by enumeration."""

    def extend(taken, chance):
        if len(taken) == top:
            included[list(taken)] += chance
            return
        rest = 1 - sum(popularities[j] for j in taken)
        for j in set(range(popularities.size)) - set(taken):
            extend((*taken, j), chance * popularities[j] / rest)

    included = np.zeros(popularities.size)
    extend((), 1.0)
    return included


@pytest.mark.parametrize("top", [1, 3])
@pytest.mark.parametrize("exponent", [0.8, 2.5])
def test_the_law_is_that_of_successive_draws(top, exponent):
    # With a steep law many rows need the race that completes them, so both ways of drawing are held to the law.
    popularities = zipf_popularities(6, exponent)
    labels = draw_candidates(np.random.default_rng(0), popularities, 40_000, top)
    shares = np.bincount(labels.ravel(), minlength=6) / 40_000
    np.testing.assert_allclose(shares, successive_draws(popularities, top), atol=0.012)


def test_same_seed_same_matrix():
    first, again, other = (zipf_candidates(50, 80, 10, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.toarray(), again.toarray())
    assert (first != other).nnz > 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_instances": 0}, r"n_instances must be an integer of at least 1\. Got 0"),
        ({"n_labels": 2.5}, r"n_labels must be an integer of at least 1\. Got 2\.5"),
        ({"top": True}, r"top must be an integer between 1 and 20, the number of labels\. Got True"),
        ({"top": 21}, r"top must be an integer between 1 and 20, the number of labels\. Got 21"),
        (
            {"exponent": -1},
            r"exponent must be a number between 0 and 10\. Got -1\. For real label sets it is close to 1",
        ),
        ({"exponent": np.nan}, "exponent must be a number between 0 and 10. Got nan"),
    ],
)
def test_wrong_arguments_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        zipf_candidates(**{"n_instances": 5, "n_labels": 20, "top": 3, **change})
