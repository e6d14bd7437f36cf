"""One pass over the labels, on one thread or several: each takes its best set of instances."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tailwise.kernels.label_ascent import make_row_prices, make_undo, price_rows, propose_labels, settle_labels
from tailwise.kernels.workbench import make_workbench

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.selection.problem import Problem

__all__ = ["LabelMoves"]

# Batches of labels in a pass: the labels of one batch look at the same prices.
BATCHES = 8
# Labels with few candidates hold nearly all moves that gain, and cost little to look at.
SMALL_SHARE = 0.3


class LabelMoves:
    """Passes over the labels of one problem.

    Parameters
    ----------
    problem : Problem
        Its expectation must agree with the positions that passes are run on.

    Attributes
    ----------
    small, every : ndarray of labels
        Those with the fewest candidates, which together hold a third of all candidates; and all that have any. In
        random order.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._columns, self._worth = problem.expectation.columns, problem.expectation.worth
        sizes = np.diff(self._columns.indptr)
        largest = int(sizes.max(initial=0))
        self._benches = [make_workbench(largest) for _ in range(problem.threads.workers)]
        self._undo = make_undo(largest)
        self._prices = make_row_prices(problem.candidates.n_instances)
        self._is_wanted = np.zeros(problem.candidates.n_entries, dtype=np.bool_)
        order = np.random.default_rng(problem.settings.seed).permutation(sizes.size)
        self.every = order[sizes[order] > 0]
        by_size = self.every[np.argsort(sizes[self.every], kind="stable")]
        n_small = int(np.searchsorted(np.cumsum(sizes[by_size]), SMALL_SHARE * problem.candidates.n_entries))
        self.small = self.every[np.isin(self.every, by_size[:n_small])]

    def run_pass(self, positions: NDArray, labels: NDArray) -> int:
        """Let labels move to their best sets; returns how many moved."""
        problem, n_moved = self._problem, 0
        rows, objective = problem.candidates.rows, problem.expectation.objective
        held = (positions >= 0).sum(axis=1)  # labels swap places: a row keeps as many as it has
        problem.threads.split(
            positions.shape[0],
            lambda first, last: price_rows(rows, objective, positions, held, self._prices, first, last),
        )
        for batch in np.array_split(labels, min(BATCHES, max(1, labels.size))):
            moves = self._propose(positions, held, batch)
            n_moved += settle_labels(
                rows, objective, self._columns, positions, held, self._prices, batch, self._is_wanted, moves, self._undo
            )
            problem.expectation.raise_failure()
        return n_moved

    def _propose(self, positions: NDArray, held: NDArray, labels: NDArray) -> NDArray:
        """Which labels of a batch want to move; their sets are left in self._is_wanted."""
        moves = np.zeros(labels.size, dtype=np.bool_)
        worth, columns, prices, is_wanted = self._worth, self._columns, self._prices, self._is_wanted

        def propose(part: int, first: int, last: int) -> None:
            bench = self._benches[part]
            propose_labels(worth, columns, positions, held, prices, labels, bench, is_wanted, moves, first, last)

        self._problem.threads.share(self._edges(labels), propose)
        return moves

    def _edges(self, labels: NDArray) -> list[int]:
        """Parts of a batch with about as many candidates each."""
        workers = self._problem.threads.workers
        counts = np.cumsum(np.diff(self._columns.indptr)[labels])
        shares = counts[-1] * np.arange(1, workers) / workers if labels.size else np.zeros(workers - 1)
        return [0, *np.searchsorted(counts, shares).tolist(), labels.size]
