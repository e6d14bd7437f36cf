"""Single and double precision: small batches share the compiled code, and both select the same labels."""

import numpy as np
import pytest
import scipy.sparse as sp

import tailwise as tw
from tailwise.errors import EmptySlotsWarning
from tailwise.kernels.row_ascent import ascend

TEXTS = ("macro-f1", "coverage", "macro-gmean", "0.5*precision + 0.5*macro-jaccard")


def draw(n, m, seed=0):
    rng = np.random.default_rng(seed)
    return sp.csr_array((rng.random((n, m), dtype=np.float32) ** 4) * (rng.random((n, m)) < 0.6))


def test_a_small_batch_in_single_precision_needs_no_code_of_its_own():
    matrix = draw(40, 12)
    tw.select(matrix.astype(np.float64), "macro-f1", 3)
    before = len(ascend.signatures)
    tw.select(matrix, "macro-f1", 3)
    assert len(ascend.signatures) == before


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("k", [2, None])
def test_candidates_in_single_precision_give_the_same_labels(text, k):
    for seed in range(3):
        matrix = draw(30, 10, seed)
        single = tw.select(tw.Candidates.of(matrix), text, k)
        double = tw.select(matrix.astype(np.float64), text, k)
        np.testing.assert_array_equal(single.labels, double.labels)
        assert single.expected == pytest.approx(double.expected, rel=1e-12)


def test_a_large_batch_keeps_single_precision():
    matrix = sp.csr_array(np.random.default_rng(0).random((1_100, 1_000), dtype=np.float32))
    candidates = tw.Candidates.of(matrix)
    assert candidates.widened() is candidates
    assert tw.Candidates.of(matrix[:100]).widened().rows.values.dtype == np.float64


def test_empty_slots_count_as_wrong_in_precision():
    """By a plain definition: the probabilities of what is chosen, over n times k."""
    matrix = sp.csr_array(np.array([[0.9, 0.4, 0.0], [0.8, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    with pytest.warns(EmptySlotsWarning):
        selection = tw.select(matrix, "precision", 2)
    plain = (0.9 + 0.4 + 0.8) / (3 * 2)
    assert selection.expected == pytest.approx(plain)
    assert tw.expected_utility(matrix, "precision", selection) == pytest.approx(plain)
    assert tw.expected_utility(matrix, "precision", selection.labels, 2) == pytest.approx(plain)
    assert tw.certify(matrix, "precision", 2, selection).value == pytest.approx(plain)
    without_slots = tw.expected_utility(matrix, "precision", selection.labels)  # of which nobody says that they exist
    assert without_slots == pytest.approx((0.9 + 0.4 + 0.8) / 3)
