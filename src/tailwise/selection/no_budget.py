"""No budget: every label takes the instances that are best for it alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tailwise.kernels.prefixes import select_best_prefixes
from tailwise.selection.problem import Outcome

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csc_array

    from tailwise.engines import Threads
    from tailwise.expectations import SemiEmpirical
    from tailwise.inputs.candidates import Candidates

__all__ = ["select_without_budget"]


def select_without_budget(expectation: SemiEmpirical, threads: Threads) -> Outcome:
    """Each label takes its best set; the positions are as wide as the most labels of an instance.

    For a utility that grows with t, the best set of q instances is the q most probable ones, so one sort per label
    finds the global optimum over the candidates. Of equally good sets the smallest is taken.
    """
    candidates = expectation.candidates
    by_label = candidates.to_csr().tocsc()
    # Nodes of an exact expectation hold for about the q they are placed for: first a guess, then what it led to.
    q = candidates.condition_positives()
    for _ in range(3 if expectation.uses_quadrature else 1):
        expectation.prepare(q)
        is_selected = np.zeros(by_label.nnz, dtype=np.bool_)
        _select_prefixes(expectation, by_label, is_selected, threads)
        q = np.add.reduceat(np.append(is_selected, 0), by_label.indptr[:-1]) * (np.diff(by_label.indptr) > 0)
    # Entries of the rows in the order of the columns, so that the selected ones are found among the rows.
    entries = np.sort(np.argsort(candidates.rows.labels, kind="stable")[is_selected])
    positions = _positions_of(entries, candidates)
    expectation.count(positions)
    return Outcome(positions, (expectation.expected(),))


def _select_prefixes(expectation: SemiEmpirical, by_label: csc_array, is_selected: NDArray, threads: Threads) -> None:
    indptr, values, objective = by_label.indptr, by_label.data, expectation.objective
    threads.split(
        by_label.shape[1],
        lambda first, last: select_best_prefixes(indptr, values, objective, is_selected, first, last),
    )


def _positions_of(entries: NDArray, candidates: Candidates) -> NDArray:
    indptr = candidates.rows.indptr
    instances = np.searchsorted(indptr, entries, side="right") - 1
    counts = np.bincount(instances, minlength=candidates.n_instances)
    positions = np.full((candidates.n_instances, max(1, int(counts.max()))), -1, dtype=np.int32)
    positions[np.arange(positions.shape[1]) < counts[:, None]] = entries - indptr[instances]
    return positions
