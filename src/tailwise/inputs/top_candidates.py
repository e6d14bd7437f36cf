"""The most probable candidates of each instance, copied a block at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tailwise.inputs.matrices import ENTRIES_IN_BLOCK, add_up, cut_pointers
from tailwise.kernels.rows import Rows, select_by_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.inputs.candidates import Candidates


def copy_top(candidates: Candidates, top: int) -> Rows:
    """Copy the `top` most probable entries of each row; ties go to the smaller label."""
    indptr = add_up(np.minimum(candidates.sizes, top))
    labels, values = (candidates.make_zeros(array.dtype, int(indptr[-1])) for array in candidates.rows[1:])
    for block in cut_pointers(candidates.rows.indptr, ENTRIES_IN_BLOCK):
        part, (first, last) = candidates.part(*block), indptr[list(block)]
        is_kept = _mark_top(part, top)
        labels[first:last], values[first:last] = part.labels[is_kept], part.values[is_kept]
    return Rows(indptr, labels, values)


def _mark_top(rows: Rows, top: int) -> NDArray:
    """Mark the `top` most probable entries of each row; only rows that are longer need working memory."""
    sizes = np.diff(rows.indptr)
    is_long = sizes > top
    is_in_long_row = np.repeat(is_long, sizes)
    starts = add_up(sizes[is_long])
    part = Rows(starts, rows.labels[is_in_long_row], rows.values[is_in_long_row])
    positions = np.empty((starts.size - 1, top), dtype=np.int32)
    select_by_line(part, np.ones(1), np.zeros(1), np.full(starts.size - 1, top), positions, 0, starts.size - 1)
    is_top = np.zeros(part.labels.size, dtype=bool)
    is_top[positions + starts[:-1, None]] = True
    is_kept = ~is_in_long_row
    is_kept[is_in_long_row] = is_top
    return is_kept
