"""Moves in a message are those in the buffer that they were taken from."""

import numpy as np
import pytest

from tailwise.engines.dask_messages import NOTHING_SETTLED, pack, unpack
from tailwise.kernels.row_ascent import make_buffers

pytestmark = pytest.mark.boundscheck


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_there_and_back(k, share):
    rng, group = np.random.default_rng(k), np.arange(10, 60)
    moves, (found, _) = make_buffers(1, 50, k)[0], make_buffers(1, 50, k)
    moves.counts[:] = rng.integers(0, k + 1, (50, 2)) * (rng.random((50, 1)) < share)
    moves.positions[:] = rng.integers(-1, 200, (50, k))
    moves.labels[:], moves.values[:] = rng.integers(0, 1000, (50, 2, k)), rng.random((50, 2, k)).astype(np.float32)
    packed = pack(moves, group, np.float32, NOTHING_SETTLED)
    for array in packed:
        array.flags.writeable = False  # as in messages
    unpack(packed, group, found)
    assert packed.values.dtype == np.float32
    assert packed.instances.tolist() == [i + 10 for i in range(50) if moves.counts[i].any()]
    assert found.counts.tolist() == moves.counts.tolist()
    for r in range(50):
        if moves.counts[r].any():
            assert found.positions[r].tolist() == moves.positions[r].tolist()
        for side in range(2):
            n = moves.counts[r, side]
            assert found.labels[r, side, :n].tolist() == moves.labels[r, side, :n].tolist()
            assert found.values[r, side, :n].tolist() == moves.values[r, side, :n].tolist()
