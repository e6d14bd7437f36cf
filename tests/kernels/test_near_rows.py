"""The near candidates of an instance: those it has, and those of the highest lines, in the order of the row."""

import numpy as np
import pytest

from tailwise.expectations.expectation import NO_LAWS, NO_NODES
from tailwise.kernels.label_state import State
from tailwise.kernels.near_rows import BETWEEN, find_near, list_positions, make_near
from tailwise.kernels.rows import Rows

pytestmark = pytest.mark.boundscheck
N_LABELS, K = 200, 3


def make_rows(rng, sizes):
    labels = [np.sort(rng.permutation(N_LABELS)[:size]) for size in sizes]
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    rows = Rows(indptr, np.concatenate(labels).astype(np.int32), rng.random(indptr[-1]))
    for array in rows:
        array.setflags(write=False)  # as those of candidates, for which the kernels are compiled already
    return rows


def make_state(slopes, offsets):
    return State(np.zeros((N_LABELS, 7)), slopes.astype(np.float32), offsets.astype(np.float32), NO_NODES, NO_LAWS)


def find(rows, state, chosen, most):
    near, places = make_near(rows, np.diff(rows.indptr), most)
    own = np.empty_like(chosen)
    find_near(rows, state, chosen, near, places, own, 0, chosen.shape[0])
    return near, places, own


@pytest.mark.parametrize("most", [4, 16, 40])
@pytest.mark.parametrize("kind", ["positive", "negative", "ties", "steep", "huge"])
def test_own_labels_and_the_highest_lines_are_kept(most, kind):
    rng = np.random.default_rng(most)
    sizes = np.append(rng.integers(K, 150, 40), [0, K, most, most + 1])
    rows = make_rows(rng, sizes)
    chosen = np.array([np.append(rng.permutation(size), [-1] * K)[:K] for size in sizes], dtype=np.int32)
    slopes, offsets = rng.random(N_LABELS), -rng.random(N_LABELS)
    if kind == "ties":
        slopes, offsets = np.zeros(N_LABELS), np.full(N_LABELS, 0.5)
    elif kind == "negative":
        offsets -= 5.0
    elif kind == "steep":
        slopes = np.exp(20 * slopes)
    elif kind == "huge":
        slopes, offsets = 1e29 * slopes, 1e29 * offsets
    near, places, own = find(rows, make_state(slopes, offsets), chosen, most)
    lines = slopes.astype(np.float32)[rows.labels] * rows.values.astype(np.float32)
    lines += offsets.astype(np.float32)[rows.labels]
    for i, size in enumerate(sizes):
        kept = places[near.indptr[i] : near.indptr[i + 1]].astype(np.int64)
        assert kept.size == min(size, most)
        assert (np.diff(kept) > 0).all()
        np.testing.assert_array_equal(
            near.labels[near.indptr[i] : near.indptr[i + 1]], rows.labels[rows.indptr[i] + kept]
        )
        np.testing.assert_array_equal(
            near.values[near.indptr[i] : near.indptr[i + 1]], rows.values[rows.indptr[i] + kept]
        )
        np.testing.assert_array_equal([kept[c] if c >= 0 else -1 for c in own[i]], chosen[i])
        others = np.setdiff1d(np.arange(size), chosen[i])
        best = others[np.argsort(-lines[rows.indptr[i] + others], kind="stable")]
        if kind != "ties":  # few may be replaced by others that are about as high
            n_others = min(others.size, most - (chosen[i] >= 0).sum())
            assert np.isin(best[: max(0, int((1 - BETWEEN) * n_others) - 1)], kept).all()


def test_positions_go_back_to_the_whole_rows():
    rng = np.random.default_rng(0)
    rows = make_rows(rng, np.full(30, 50))
    chosen = np.array([rng.permutation(50)[:K] for _ in range(30)], dtype=np.int32)
    chosen[::4, 1:] = -1
    near, places, own = find(rows, make_state(rng.random(N_LABELS), np.zeros(N_LABELS)), chosen, 10)
    back = np.empty_like(chosen)
    list_positions(near, places, own, back, 0, 30)
    np.testing.assert_array_equal(back, chosen)
