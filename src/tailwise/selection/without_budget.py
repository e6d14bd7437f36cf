"""No budget: every label takes the instances that are best for it alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tailwise.kernels.without_budget import select_best_prefixes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.candidates import Candidates
    from tailwise.engines import Threads
    from tailwise.expectations import SemiEmpirical

__all__ = ["select_without_budget"]


def select_without_budget(candidates: Candidates, expectation: SemiEmpirical, threads: Threads) -> NDArray:
    """Positions within the rows, (n, largest number of labels), -1 for none.

    For a utility that grows with t, the best set of q instances is the q most probable ones, so one sort per label
    finds the global optimum over the candidates. Of equally good sets the smallest is taken.
    """
    rows = candidates.rows
    by_label = candidates.to_csr().tocsc()
    entry_of = _entries_by_label(candidates)
    is_selected = np.zeros(by_label.nnz, dtype=np.bool_)
    threads.split(
        candidates.n_labels,
        lambda first, last: select_best_prefixes(
            by_label.indptr, by_label.data, expectation.objective, is_selected, first, last
        ),
    )
    entries = np.sort(entry_of[is_selected])
    instances = np.searchsorted(rows.indptr, entries, side="right") - 1
    counts = np.bincount(instances, minlength=candidates.n_instances)
    positions = np.full((candidates.n_instances, max(1, int(counts.max()))), -1, dtype=np.int32)
    positions[np.arange(positions.shape[1]) < counts[:, None]] = entries - rows.indptr[instances]
    return positions


def _entries_by_label(candidates: Candidates) -> NDArray:
    """Index of each entry in the rows, in the order of the columns."""
    return np.argsort(candidates.rows.labels, kind="stable")
