"""From selected candidates to the labels that are returned: filled, better than the start, best gain first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tailwise.chosen import EMPTY, Chosen
from tailwise.kernels.finishing import fill_least_loss, sort_by_gain
from tailwise.kernels.rows import find_positions, labels_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.expectations import SemiEmpirical

__all__ = ["finish"]


def finish(
    expectation: SemiEmpirical, positions: NDArray, budgets: NDArray, start: str | Chosen, *, fills: bool
) -> NDArray:
    """Labels (n, k) of a selection; the totals of the expectation become those of the labels returned."""
    rows = expectation.candidates.rows
    labels = np.empty_like(positions)
    labels_at(rows, positions, labels)
    sort_by_gain(rows, expectation.objective, labels, positions)
    if fills and (expectation.candidates.sizes < budgets).any():
        fill_least_loss(expectation.objective, labels, budgets)
        expectation.count_labels(Chosen(labels, expectation.candidates.n_labels))
    expectation.raise_failure()
    return labels if isinstance(start, str) else _keep_better_start(expectation, labels, start)


def _keep_better_start(expectation: SemiEmpirical, labels: NDArray, start: Chosen) -> NDArray:
    """A given start may hold labels that are no candidates, and be better for it; then it is the result."""
    if ((start.labels != EMPTY).sum(axis=1) != (labels != EMPTY).sum(axis=1)).any():
        return labels
    value = expectation.expected()
    expectation.count_labels(start)
    if expectation.expected() <= value:
        expectation.count_labels(Chosen(labels, start.n_labels))
        return labels
    better = np.full_like(labels, EMPTY)
    width = min(labels.shape[1], start.labels.shape[1])
    better[:, :width] = start.labels[:, :width]
    positions = np.empty_like(better)
    find_positions(expectation.candidates.rows, better, positions)
    sort_by_gain(expectation.candidates.rows, expectation.objective, better, positions)
    return better
