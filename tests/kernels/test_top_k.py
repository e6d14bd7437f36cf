"""The most probable labels of rows of all sizes, ties included, against sorting."""

import numpy as np
import pytest

from tailwise.kernels.rows import Rows, select_by_line


@pytest.mark.boundscheck
@pytest.mark.parametrize("k", [1, 3, 16, 17, 40])
@pytest.mark.parametrize("slope", [1.0, 0.5, 7.0])  # others than 1 go another way, and keep the order
@pytest.mark.parametrize("offset", [0.0, -0.5, -100.0])
def test_top_k_is_that_of_sorting(k, slope, offset):
    rng = np.random.default_rng(k)
    sizes = np.array([0, 1, k, k + 1, 15, 16, 17, 31, 64, 100])
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    values = rng.integers(0, 12, indptr[-1]) / 11  # few different numbers, so that there are many ties, zeros and ones
    labels = np.concatenate([np.arange(size, dtype=np.int32) for size in sizes])
    budgets = np.minimum(sizes, k)
    chosen = np.full((sizes.size, k), 99, np.int32)
    select_by_line(Rows(indptr, labels, values), np.array([slope]), np.array([offset]), budgets, chosen, 0, sizes.size)
    for i, budget in enumerate(budgets):
        row = values[indptr[i] : indptr[i + 1]]
        expected = np.argsort(-row, kind="stable")[:budget]
        np.testing.assert_array_equal(chosen[i], np.append(expected, np.full(k - budget, -1)))


@pytest.mark.boundscheck
def test_slots_are_filled_even_by_what_is_no_number():
    values, budgets, chosen = np.full(20, 0.5), np.array([18]), np.full((1, 18), 99, np.int32)
    rows = Rows(np.array([0, 20]), np.arange(20, dtype=np.int32), values)
    slopes = np.where(np.arange(20) % 2, np.nan, 1.0)
    select_by_line(rows, slopes, np.zeros(20), budgets, chosen, 0, 1)
    assert len(set(chosen[0].tolist())) == 18
    assert chosen.min() >= 0
    assert chosen.max() < 20
