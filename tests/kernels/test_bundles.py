"""Bundles, which compiled functions hand on by their address, hold what the NamedTuples of Python hold."""

import sys
from typing import NamedTuple

import numpy as np

from tailwise.kernels.compiling import bundle, kernel, step


@bundle
class Inner(NamedTuple):
    """A bundle within another, between fields of other sizes."""

    is_on: bool
    values: np.ndarray
    factor: float


@bundle
class Outer(NamedTuple):
    """An array, a bundle and a number."""

    table: np.ndarray
    inner: Inner
    count: int


@step
def add_up(inner, sums):
    for x in range(inner.values.size):
        sums[0] += inner.factor * inner.values[x] if inner.is_on else 1.0


@kernel
def use(outer, sums):
    for i in range(outer.count):
        for j in range(outer.table.shape[1]):
            sums[1] += outer.table[i, j]
        add_up(outer.inner, sums)
    return outer.table


def test_fields_at_any_depth():
    outer = Outer(np.arange(6.0).reshape(2, 3), Inner(True, np.array([1.0, 2.0]), 0.5), 2)
    sums = np.zeros(2)
    use(outer, sums)
    assert sums.tolist() == [3.0, 15.0]
    use(outer._replace(count=1, inner=outer.inner._replace(is_on=False)), sums)
    assert sums.tolist() == [5.0, 18.0]


def test_arrays_are_held_for_the_call_only():
    outer, sums = Outer(np.ones((1, 2)), Inner(True, np.ones(1), 1.0), 1), np.zeros(2)
    use(outer, sums)
    before = [sys.getrefcount(array) for array in (outer.table, outer.inner.values, sums)]
    for _ in range(5):
        use(outer, sums)
    assert [sys.getrefcount(array) for array in (outer.table, outer.inner.values, sums)] == before
    kept = use(outer, sums)
    del outer
    assert kept.tolist() == [[1.0, 1.0]]
