"""Training frequencies and the weights made of them."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from reference import utilities as reference

from tailwise.errors import InputError
from tailwise.utilities import LabelPriors

TRAINING = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize("form", [np.asarray, np.ndarray.tolist, sp.csr_matrix, sp.coo_array, lambda y: y.astype(bool)])
def test_counts_of_a_training_matrix(form):
    priors = LabelPriors.from_labels(form(TRAINING))
    assert priors.counts.tolist() == [3, 1, 0]
    assert (priors.n_instances, priors.n_labels) == (4, 3)
    assert priors == LabelPriors([3, 1, 0], 4)


def test_stored_zeros_do_not_count():
    matrix = sp.csr_array((np.array([1, 0, 1]), np.array([0, 1, 1]), np.array([0, 2, 3])), shape=(2, 2))
    assert LabelPriors.from_labels(matrix).counts.tolist() == [1, 1]
    assert matrix.nnz == 3


def test_priors_pass_through():
    priors = LabelPriors([1, 2], 3)
    assert LabelPriors.from_labels(priors) is priors


def test_a_label_never_seen_counts_as_seen_once():
    assert LabelPriors([3, 1, 0], 4).probabilities.tolist() == [0.75, 0.25, 0.25]


@pytest.mark.parametrize("parameters", [(), (0.6, 2.6), (0.5, 0.4)])
def test_inverse_propensities(parameters):
    priors = LabelPriors([0, 1, 7, 100], 1000)
    training = reference.Training((0, 1, 7, 100), 1000)
    name = f"ps-precision{parameters}" if parameters else "ps-precision"
    expected = [reference.label_weight(name, training, j) for j in range(4)]
    np.testing.assert_allclose(priors.inverse_propensities(*parameters), expected, rtol=1e-12)
    assert math.isfinite(expected[0])


def test_equality_hash_and_print():
    priors = LabelPriors([1, 2], 3)
    assert priors == LabelPriors(np.array([1.0, 2.0]), 3)
    assert hash(priors) == hash(LabelPriors([1.0, 2.0], 3))
    assert priors != LabelPriors([1, 2], 4)
    assert priors != LabelPriors([2, 1], 3)
    assert priors != [1, 2]
    assert repr(LabelPriors(np.ones(1234), 56789)) == "LabelPriors(1,234 labels, 56,789 training instances)"


REFUSED = {
    "flat": (lambda: LabelPriors(3, 4), r"counts must hold one number per label\. Got shape \(\)\."),
    "matrix": (lambda: LabelPriors(TRAINING, 4), r"counts must hold one number per label\. Got shape \(4, 3\)\."),
    "empty": (lambda: LabelPriors([], 4), r"counts must hold one number per label\. Got shape \(0,\)\."),
    "too many": (lambda: LabelPriors([1, 5], 4), r"between 0 and n_instances=4\. Got values from 1 to 5\."),
    "negative": (lambda: LabelPriors([-1, 2], 4), r"between 0 and n_instances=4\. Got values from -1 to 2\."),
    "nan": (lambda: LabelPriors([math.nan, 2], 4), r"between 0 and n_instances=4\. Got values from nan to nan\."),
    "one row": (lambda: LabelPriors.from_labels([1, 0]), r"priors must be a matrix .* Got shape 2\."),
    "counts are words": (lambda: LabelPriors(["many"], 4), r"counts must hold numbers\. Got an array of dtype <U4\."),
    "words": (lambda: LabelPriors.from_labels([["a"]]), r"priors must hold numbers\."),
    "no instance": (lambda: LabelPriors([0, 0], 0), r"n_instances must be"),
    "half an instance": (lambda: LabelPriors([1, 0], 4.5), r"n_instances must be"),
    "probabilities": (lambda: LabelPriors.from_labels(TRAINING * 0.5), r"priors.* 0 and 1\. Got 0\.5\."),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED)
def test_bad_input_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
