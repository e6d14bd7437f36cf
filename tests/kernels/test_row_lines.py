"""Which lines of a row reach a bar, 64 at a time, against comparing one by one; the candidates of some labels."""

import numpy as np
import pytest
from numba import njit

from tailwise.engines.engine import Threads
from tailwise.inputs.candidates import Candidates
from tailwise.kernels.row_lines import CHUNK, bits_reaching, next_of


@njit
def list_reaching(lines, size, bar, found):
    n_found = 0
    for first in range(0, size, 64):
        bits = bits_reaching(lines, first, size, bar)
        while bits != 0:
            place, bits = next_of(bits)
            found[n_found] = first + place
            n_found += 1
    return n_found


def make_lines(size):
    lines = np.random.default_rng(size).integers(-4, 5, CHUNK).astype(np.float32)
    lines[::7], lines[5::31] = np.nan, np.inf  # labels that the instance has, and lines that are not known
    return lines


@pytest.mark.parametrize("size", [1, 16, 63, 64, 65, 100, 127, 128])
@pytest.mark.parametrize("bar", [-np.inf, -4, 0, 3, np.inf])
def test_the_lines_that_reach_a_bar(size, bar):
    lines, found = make_lines(size), np.empty(CHUNK, np.int64)
    n_found = list_reaching(lines, size, np.float32(bar), found)
    np.testing.assert_array_equal(found[:n_found], np.flatnonzero(lines[:size] >= bar))


def test_columns_of_some_labels_are_those_of_all():
    rng = np.random.default_rng(0)
    matrix = np.where(rng.random((40, 30)) < 0.4, rng.random((40, 30)), 0)
    wanted, engine = rng.permutation(30)[:7], Threads(1)
    some = Candidates.of(matrix).columns_of(wanted, engine)
    every = Candidates.of(matrix).columns(engine)
    assert some.instances.size == np.diff(every.indptr)[wanted].sum()
    for j in range(30):
        for name in ("instances", "positions", "values"):
            whole = getattr(every, name)[every.indptr[j] : every.indptr[j + 1]]
            part = getattr(some, name)[some.indptr[j] : some.indptr[j + 1]]
            np.testing.assert_array_equal(part, whole if j in wanted else whole[:0])
