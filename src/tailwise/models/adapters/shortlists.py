"""What the adapters share: a checked CSR of its own, from lists of pairs, from arrays of labels, from dense scores."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tailwise.errors import InputError
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.checks import is_integer
from tailwise.inputs.matrices import build_csr, check_most_labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["check_labels", "check_n_labels", "from_dense", "from_pairs", "own_csr"]

# Dense scores become candidates so many at a time: a shortlist needs no memory for all of them.
SCORES_AT_A_TIME = 4_000_000


def own_csr(candidates: Candidates) -> sp.csr_array:
    """The candidates as a CSR array that may be changed: it shares no memory with anything."""
    rows = candidates.rows
    return build_csr(rows.values.copy(), rows.labels.copy(), rows.indptr.copy(), candidates.shape)


def from_dense(scores: NDArray, to_probabilities: Callable[[NDArray], NDArray], top: int | None) -> sp.csr_array:
    """Dense scores (n, m), some rows at a time, as the most probable labels of each row."""
    height = max(1, SCORES_AT_A_TIME // max(1, scores.shape[1]))
    starts = range(0, max(1, scores.shape[0]), height)
    parts = [Candidates.of(to_probabilities(scores[at : at + height]), top=top).to_csr() for at in starts]
    return own_csr(Candidates.of(parts[0] if len(parts) == 1 else sp.vstack(parts, format="csr")))


def from_pairs(predictions: Any, n_labels: int, source: str) -> sp.csr_array:
    """Lists of (label, probability) pairs, one list per instance."""
    check_n_labels(n_labels)
    rows = _list(predictions)
    sizes = np.array([len(row) for row in rows], dtype=np.int64)
    try:
        pairs = np.array(list(chain.from_iterable(rows)), dtype=np.float64).reshape(-1, 2)
    except (TypeError, ValueError):
        pairs = np.empty((0, 2))
    if len(pairs) != sizes.sum():
        msg = (
            f"predictions must be one list of (label, probability) pairs per instance. Got lists of something else. "
            f"Use {source}, which gives both."
        )
        raise InputError(msg)
    labels = check_labels(pairs[:, 0], n_labels)
    instances = np.repeat(np.arange(sizes.size), sizes)
    matrix = sp.coo_array((pairs[:, 1], (instances, labels)), shape=(sizes.size, n_labels))
    return own_csr(Candidates.of(matrix))


def check_n_labels(n_labels: Any) -> None:
    """Refuse what is no number of labels."""
    if not is_integer(n_labels) or n_labels < 1:
        msg = f"n_labels must be an integer of at least 1, the number of columns of the true labels. Got {n_labels!r}."
        raise InputError(msg)
    check_most_labels(n_labels)


def check_labels(labels: NDArray, n_labels: int) -> NDArray:
    """Label numbers as integers between 0 and n_labels - 1."""
    is_wrong = ~((labels >= 0) & (labels < n_labels) & (labels == np.floor(labels)))
    if is_wrong.any():
        msg = (
            f"labels must be integers between 0 and {n_labels - 1}, as n_labels={n_labels} says. "
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
