"""No budget: every label takes the instances that are best for it alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tailwise.kernels.without_budget import select_best_prefixes
from tailwise.selection.problem import Outcome

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.candidates import Candidates
    from tailwise.engines import Threads
    from tailwise.expectations import SemiEmpirical

__all__ = ["select_without_budget"]


def select_without_budget(expectation: SemiEmpirical, threads: Threads) -> Outcome:
    """Each label takes its best set; the positions are as wide as the most labels of an instance.

    For a utility that grows with t, the best set of q instances is the q most probable ones, so one sort per label
    finds the global optimum over the candidates. Of equally good sets the smallest is taken.
    """
    candidates = expectation.candidates
    expectation.count(np.full((candidates.n_instances, 1), -1, dtype=np.int32))
    by_label = candidates.to_csr().tocsc()
    is_selected = np.zeros(by_label.nnz, dtype=np.bool_)
    threads.split(
        candidates.n_labels,
        lambda first, last: select_best_prefixes(
            by_label.indptr, by_label.data, expectation.objective, is_selected, first, last
        ),
    )
    # Entries of the rows in the order of the columns, so that the selected ones are found among the rows.
    entries = np.sort(np.argsort(candidates.rows.labels, kind="stable")[is_selected])
    positions = _positions_of(entries, candidates)
    expectation.count(positions)
    return Outcome(positions, (expectation.expected(),))


def _positions_of(entries: NDArray, candidates: Candidates) -> NDArray:
    indptr = candidates.rows.indptr
    instances = np.searchsorted(indptr, entries, side="right") - 1
    counts = np.bincount(instances, minlength=candidates.n_instances)
    positions = np.full((candidates.n_instances, max(1, int(counts.max()))), -1, dtype=np.int32)
    positions[np.arange(positions.shape[1]) < counts[:, None]] = entries - indptr[instances]
    return positions
