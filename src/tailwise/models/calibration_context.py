"""Features of a candidate's context that inform about it beyond its probability."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.kernels.rows import Rows

__all__ = ["describe_context"]

SMALLEST_SUM = 1e-12


def describe_context(rows: Rows, label_counts: NDArray | None) -> NDArray:
    """Compute three numbers for each candidate, (nnz, 3).

    They are the logarithms of one plus its rank among the candidates of its instance (0 for the most probable; ties go
    to the smaller label), of the sum of their probabilities, and of one plus the training count of its label (0 if
    unknown).
    """
    sizes = np.diff(rows.indptr)
    instances = np.repeat(np.arange(sizes.size), sizes)
    order = np.lexsort((-rows.values, instances))  # stable, and labels ascend within a row
    ranks = np.empty(order.size)
    ranks[order] = np.arange(order.size) - np.repeat(rows.indptr[:-1], sizes)
    sums = np.bincount(instances, weights=rows.values, minlength=sizes.size)
    context = np.zeros((order.size, 3))
    context[:, 0] = np.log1p(ranks)
    context[:, 1] = np.log(np.maximum(sums, SMALLEST_SUM))[instances]
    if label_counts is not None:
        context[:, 2] = np.log1p(label_counts)[rows.labels]
    return context
