"""Log odds shifted to the training labels' density."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import tailwise as tw
from tailwise.errors import InputError
from tailwise.models import shift_to_priors


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), share=st.floats(0.05, 0.95))
def test_the_total_is_that_of_training_and_the_order_stays(seed, share):
    rng = np.random.default_rng(seed)
    probabilities = rng.uniform(0.001, 0.999, size=(20, 8))
    counts = rng.multinomial(int(share * 800), np.full(8, 1 / 8)).clip(0, 100)
    shifted = shift_to_priors(probabilities, tw.LabelPriors(counts, 100)).to_csr().toarray()
    assert shifted.sum() / 20 == pytest.approx(counts.sum() / 100, rel=1e-4)
    odds = np.log(shifted / (1 - shifted)) - np.log(probabilities / (1 - probabilities))
    assert np.ptp(odds) == pytest.approx(0, abs=1e-6)  # one number for all
    assert (np.argsort(shifted, axis=1) == np.argsort(probabilities, axis=1)).all()


def test_certain_labels_stay_certain_and_the_rest_moves():
    priors = tw.LabelPriors([100, 100, 0], 100)
    shifted = shift_to_priors(np.array([[1.0, 0.2, 0.2], [1.0, 0.3, 0.0]]), priors).to_csr().toarray()
    assert (shifted[:, 0] == 1).all()
    assert shifted.sum() == pytest.approx(4, rel=1e-5)
    assert shifted[1, 2] == 0


def test_type_and_input_stay_as_they_are():
    probabilities = sp.csr_array(np.array([[0.5, 0.25], [0.125, 0.5]], dtype=np.float32))
    before = probabilities.copy()
    shifted = shift_to_priors(probabilities, np.array([[1, 0], [1, 1]]))
    assert shifted.rows.values.dtype == np.float32
    assert (probabilities != before).nnz == 0


@pytest.mark.parametrize(
    ("probabilities", "counts", "message"),
    [
        ([[0.5, 0.0], [0.5, 0.0]], [100, 100], "able to sum to 4.0.*0 candidates with probability 1 and 2 above 0"),
        ([[1.0, 0.5], [1.0, 0.5]], [10, 10], "able to sum to 0.4.*2 candidates with probability 1 and 4 above 0"),
        ([[0.5, 0.5, 0.5]], [10, 10], "the 3 labels of probabilities. Got 2"),
    ],
)
def test_what_cannot_be_reached_is_refused(probabilities, counts, message):
    with pytest.raises(InputError, match=message):
        shift_to_priors(np.array(probabilities), tw.LabelPriors(counts, 100))
