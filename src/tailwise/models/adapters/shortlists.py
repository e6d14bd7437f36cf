"""Shared conversions of the adapters: lists of pairs and dense scores to a checked CSR matrix."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tailwise.errors import InputError
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.checks import check_size
from tailwise.inputs.matrices import build_csr, check_most_labels

# Dense scores are converted in blocks of this size, so that a shortlist does not need memory for all candidates.
SCORES_AT_A_TIME = 4_000_000


def own_csr(candidates: Candidates) -> sp.csr_array:
    """Copy candidates to a CSR array that may be changed."""
    rows = candidates.rows
    return build_csr(rows.values.copy(), rows.labels.copy(), rows.indptr.copy(), candidates.shape)


def from_dense(scores: NDArray, to_probabilities: Callable[[NDArray], NDArray], top: int | None) -> sp.csr_array:
    """Convert dense scores (n, m), block by block, keeping the most probable labels of each row."""
    height = max(1, SCORES_AT_A_TIME // max(1, scores.shape[1]))
    starts = range(0, max(1, scores.shape[0]), height)
    parts = [Candidates.of(to_probabilities(scores[at : at + height]), top=top).to_csr() for at in starts]
    return own_csr(Candidates.of(parts[0] if len(parts) == 1 else sp.vstack(parts, format="csr")))


def from_pairs(predictions: Any, n_labels: int, source: str) -> sp.csr_array:
    """Convert lists of (label, probability) pairs, one list per instance."""
    check_n_labels(n_labels)
    rows = _list(predictions)
    sizes = np.array([len(row) for row in rows], dtype=np.int64)
    try:
        pairs = np.array(list(chain.from_iterable(rows)), dtype=np.float64).reshape(-1, 2)
    except (TypeError, ValueError):
        pairs = np.empty((0, 2))
    if len(pairs) != sizes.sum():
        msg = (
            f"predictions must be one list of (label, probability) pairs per instance. Got other lists. "
            f"Use {source}, which returns pairs."
        )
        raise InputError(msg)
    labels = check_labels(pairs[:, 0], n_labels)
    instances = np.repeat(np.arange(sizes.size), sizes)
    matrix = sp.coo_array((pairs[:, 1], (instances, labels)), shape=(sizes.size, n_labels))
    return own_csr(Candidates.of(matrix))


def check_n_labels(n_labels: Any) -> None:
    """Refuse an invalid number of labels."""
    check_size("n_labels", n_labels, remedy="Give the number of columns of the true labels.")
    check_most_labels(n_labels)


def check_labels(labels: NDArray, n_labels: int) -> NDArray:
    """Convert label numbers to integers between 0 and n_labels - 1."""
    is_wrong = ~((labels >= 0) & (labels < n_labels) & (labels == np.floor(labels)))
    if is_wrong.any():
        msg = (
            f"labels must be integers between 0 and {n_labels - 1}, because n_labels={n_labels}. "
            f"Got {labels[is_wrong][0]:g}. Give the number of labels that the model was trained with."
        )
        raise InputError(msg)
    return labels.astype(np.int64)


def _list(predictions: Any) -> list[Any]:
    try:
        rows = list(predictions)
        sizes = [len(row) for row in rows]
    except TypeError as error:
        msg = (
            f"predictions must be one list of (label, probability) pairs per instance. "
            f"Got {type(predictions).__name__}{' of single values' if isinstance(predictions, (list, tuple)) else ''}. "
            "Put the list of a single instance into a list."
        )
        raise InputError(msg) from error
    if not sizes:
        msg = "predictions must hold at least one instance. Got none."
        raise InputError(msg)
    return rows
