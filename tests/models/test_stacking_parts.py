"""The regression starts on a part of the pairs: what these pairs alone would lead to must not spoil the result."""

import numpy as np
import pytest

from tailwise.models.stacking import FEW, STRIDE, apply_stack, fit_stack


@pytest.mark.parametrize("outcome", [False, True])
def test_a_part_of_the_pairs_with_one_outcome_only(outcome):
    size = FEW + 1
    inputs = np.random.default_rng(0).normal(size=(size, 3))
    is_true = np.arange(size) % 7 == 0
    is_true[::STRIDE] = outcome
    stack = fit_stack(inputs, is_true)
    found = apply_stack(inputs, stack.weights, stack.bias)
    assert found.mean() == pytest.approx(is_true.mean(), rel=1e-3)  # so it is where the loss is least
