"""From selected candidates to the labels that are returned: filled, best gain first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tailwise.inputs.chosen import Chosen
from tailwise.kernels.fill import fill_least_loss, sort_by_gain
from tailwise.kernels.rows import labels_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.expectations import SemiEmpirical
    from tailwise.selection.rules import Feasible

__all__ = ["finish"]


def finish(expectation: SemiEmpirical, positions: NDArray, feasible: Feasible) -> NDArray:
    """Labels (n, k) of a selection; the totals of the expectation become those of the labels returned."""
    rows = expectation.candidates.rows
    labels = np.empty_like(positions)
    labels_at(rows, positions, labels)
    sort_by_gain(rows, expectation.objective, labels, positions)
    if feasible.fills:
        fill_least_loss(expectation.objective, labels, feasible.budgets)
        expectation.count_labels(Chosen(labels, expectation.candidates.n_labels))
    expectation.raise_failure()
    return labels
