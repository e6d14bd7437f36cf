"""With many labels, memory is asked ahead for what is kept of them: the selection is as with few."""

import numpy as np
import pytest
import scipy.sparse as sp

import tailwise as tw
from tailwise.datasets import zipf_candidates
from tailwise.kernels.nodes import MANY_LABELS
from tailwise.kernels.row_lines import MANY_LINES

pytestmark = pytest.mark.boundscheck


# Exact expectation keeps nodes for every label; a million of them would take too much memory for a test.
@pytest.mark.parametrize(
    ("expectation", "n_labels"),
    [("semi", MANY_LABELS + 1), ("semi", MANY_LINES + 1), ("exact", MANY_LABELS + 1)],
)
@pytest.mark.parametrize("group_size", [1, 64])
def test_labels_that_are_far_apart(expectation, n_labels, group_size):
    near = zipf_candidates(300, 120, 30, seed=4).astype(np.float32)
    places = np.sort(np.random.default_rng(0).choice(n_labels - 1, 119, replace=False))
    places = np.append(places, n_labels - 1)
    far = sp.csr_array((near.data, places[near.indices], near.indptr), shape=(300, n_labels))
    options = {"expectation": expectation, "method": "ascent", "group_size": group_size, "tolerance": 0.0}
    wanted, found = (tw.select(each, "macro-f1", 3, **options) for each in (near, far))
    assert np.array_equal(found.labels, places[wanted.labels])
    assert len(wanted.history) > 2
