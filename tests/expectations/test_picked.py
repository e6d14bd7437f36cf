"""Counting a selection block by block gives what counting it at once gives."""

import numpy as np
import pytest
import scipy.sparse as sp

import tailwise as tw
from tailwise.expectations import terms
from tailwise.expectations.expectation import ONE_THREAD


@pytest.mark.parametrize("expectation", ["semi", "exact"])
@pytest.mark.parametrize("utility", ["macro-f1", "coverage"])
def test_large_batches_are_counted_in_blocks(monkeypatch, utility, expectation):
    matrix = sp.random_array((60, 20), density=0.5, rng=np.random.default_rng(0), format="csr")
    at_once = tw.select(matrix, utility, 3, expectation=expectation)
    monkeypatch.setattr(terms, "INSTANCES_AT_ONCE", 7)
    in_blocks = tw.select(matrix, utility, 3, expectation=expectation)
    np.testing.assert_array_equal(in_blocks.labels, at_once.labels)
    assert in_blocks.expected == at_once.expected
    np.testing.assert_array_equal(in_blocks.totals.t, at_once.totals.t)


def test_slots_without_label_are_picked_as_none():
    candidates = tw.Candidates.of(np.array([[0.5, 0.0, 0.25], [0.0, 0.75, 0.0]]))
    positions = np.array([[1, 0], [0, -1]], dtype=np.int32)
    ((labels, values),) = terms.Picked(candidates.rows, positions, ONE_THREAD)
    assert labels.tolist() == [2, 0, 1, -1]
    assert values.tolist() == [0.25, 0.5, 0.75, 0.0]
