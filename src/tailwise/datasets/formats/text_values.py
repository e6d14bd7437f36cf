"""Rows of `label:score` as contents: a matrix of scores, and a ranking where the order within rows is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.datasets.formats.contents import Contents, ranks_of_order
from tailwise.datasets.formats.tidy_matrices import build_csr
from tailwise.errors import FileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.datasets.formats.text_lines import TextRows
    from tailwise.inputs.label_names import LabelNames

__all__ = ["ordered_contents", "score_contents"]


def score_contents(rows: TextRows, n_labels: int, path: Any, first_line: int = 1) -> Contents:
    """Contents of rows that are in the order of labels or of falling scores; only the latter is a ranking."""
    counts, labels, values = rows.pair_counts, rows.columns, rows.values
    is_new = np.zeros(labels.size, dtype=bool)  # the first pair of its row
    starts = np.cumsum(counts) - counts
    is_new[starts[counts > 0]] = True
    is_inner = ~is_new[1:]
    by_label = (np.diff(labels) > 0)[is_inner].all()
    by_score = (np.diff(values) <= 0)[is_inner].all()
    return ordered_contents(
        counts, labels, values, n_labels, path, is_ranked=bool(by_score and not by_label), first_line=first_line
    )


def ordered_contents(
    counts: NDArray,
    labels: NDArray,
    values: NDArray,
    n_labels: int,
    path: Any,
    *,
    is_ranked: bool,
    first_line: int | None = None,
    label_names: LabelNames | None = None,
) -> Contents:
    """Contents of rows in the order of the file, which is their ranking where `is_ranked`."""
    if values.dtype == np.float64:  # of text: models give single precision, for which everything else is made, too
        values = values.astype(np.float32)
    indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    ranks = ranks_of_order(indptr, labels) if is_ranked else None
    matrix = build_csr(values, labels, indptr, (counts.size, n_labels))
    matrix.sort_indices()
    is_twice = np.diff(matrix.indices) == 0
    is_twice[indptr[1:-1][(indptr[1:-1] > 0) & (indptr[1:-1] < labels.size)] - 1] = False
    if is_twice.any():
        x = int(np.argmax(is_twice))
        row = int(np.searchsorted(indptr, x, side="right")) - 1
        name = matrix.indices[x] if label_names is None else repr(label_names.ids[matrix.indices[x]])
        where = f"Instance {row}" if first_line is None else f"Line {first_line + row}"
        msg = f"{path} must hold each label of an instance once. {where} holds label {name} twice. Merge the two."
        raise FileError(msg)
    return Contents(matrix, ranks=ranks, label_names=label_names)
