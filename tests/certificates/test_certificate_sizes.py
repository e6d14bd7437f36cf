"""The bound over sets of all sizes, against the best set of every size: without a budget, prices are zero."""

import numpy as np
import pytest

import tailwise as tw
from tailwise.expectations.terms import BLOCK_RATIO, list_blocks
from tailwise.utilities import MacroFBeta

N, ENOUGH = 90, 5e-4
# Labels with many and with few positives: blocks of sizes are longer the more there are.
SHARES = np.array([1.0, 0.7, 0.3, 0.1, 0.03, 0.01])


def make_probabilities(seed):
    return np.random.default_rng(seed).beta(0.3, 1.0, (N, SHARES.size)) * SHARES


def best_by_size(e, beta, expectation):
    """The best expected F-beta of one label: of its most probable instances, for every number of them."""
    e, b2 = np.sort(e)[::-1], beta**2
    sizes = np.arange(1, e.size + 1)
    if expectation == "semi":
        return max((1 + b2) * np.cumsum(e) / (sizes + b2 * e.sum()))
    counts = np.arange(1, e.size + 1)  # positives, instance i being one of them
    laws = np.array([law_of_positives(np.delete(e, i)) for i in range(e.size)])
    return max((1 + b2) * (e[:q, None] * laws[:q] / (q + b2 * counts)).sum() for q in sizes)


def law_of_positives(e):
    law = np.ones(1)
    for each in e:
        law = np.append(law * (1 - each), 0.0) + np.append(0.0, law * each)
    return law


@pytest.mark.parametrize("expectation", ["semi", "exact"])
@pytest.mark.parametrize("beta", [0.5, 1, 2])
def test_no_size_is_left_out(beta, expectation):
    for seed in range(3):
        probabilities = make_probabilities(seed)
        utility = "macro-f1" if beta == 1 else MacroFBeta(beta)
        worst = np.zeros((N, 1), dtype=int)  # far from the best sizes
        found = tw.certify(probabilities, utility, None, worst, expectation=expectation)
        best = np.mean([best_by_size(e, beta, expectation) for e in probabilities.T])
        # Nodes are exact to 1e-6, and the bound is rounded outwards by 1e-5.
        assert best * (1 - 1e-9) <= found.upper <= best * (1 + ENOUGH + 2e-5)


def test_blocks_hold_every_size_once_while_the_decay_grows_fourfold():
    sizes, shifts = np.array([0, 1, 40, 40, 300]), np.array([3.0, 0.0, 0.0, 12.5, 0.25])
    blocks = list_blocks(sizes, shifts)
    for j, size in enumerate(sizes):
        rows = slice(blocks.starts[j], blocks.starts[j + 1])
        assert (blocks.labels[rows] == j).all()
        held = [q for a, b in zip(blocks.first[rows], blocks.ends[rows], strict=True) for q in range(int(a), b + 1)]
        assert held[:size] == list(range(1, size + 1))
        for first, last, centre in zip(blocks.first[rows], blocks.ends[rows], blocks.placed_for[rows], strict=True):
            assert last + shifts[j] <= BLOCK_RATIO / 2 * (centre + shifts[j])
            assert first + shifts[j] >= 2 / BLOCK_RATIO * (centre + shifts[j]) - 1e-9
    assert (np.diff(blocks.starts) == [0, 1, 3, 1, 4]).all()
