"""The one door for selections: whatever form they come in, one padded array of labels stands behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tailwise.canonical import as_array, canonical_csr
from tailwise.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["EMPTY", "Chosen"]

EMPTY = -1


class Chosen:
    """The labels chosen for each instance.

    Attributes
    ----------
    labels : ndarray of int32, shape (n, k)
        One row per instance; :data:`EMPTY` (-1) pads a row that has fewer labels, always at its end.
    n_labels : int
        Number of labels m.
    is_ranked : bool
        Whether the order within a row means something (best first). A 0/1 matrix has no order.
    """

    def __init__(self, labels: NDArray, n_labels: int, *, is_ranked: bool = True) -> None:
        self.labels = labels
        self.n_labels = int(n_labels)
        self.is_ranked = is_ranked

    @classmethod
    def of(cls, selection: Any, n_labels: int | None = None, *, name: str = "selection") -> Chosen:
        """Check and convert any supported form of a selection.

        Parameters
        ----------
        selection : Chosen, ndarray or sparse matrix
            A Selection; an integer array ``(n, k)`` of labels with -1 for an empty slot; or a 0/1 matrix ``(n, m)``,
            sparse or boolean.
        n_labels : int, optional
            Number of labels m. Needed for an array of labels, checked for every other form.
        name : str
            The parameter's name in error messages.
        """
        if isinstance(selection, Chosen):
            chosen = selection
        else:
            array = as_array(selection, name)
            is_indicator = sp.issparse(array) or array.dtype == bool
            chosen = _from_indicator(array, name) if is_indicator else _from_labels(array, n_labels, name)
        if n_labels is not None and chosen.n_labels != n_labels:
            msg = f"{name} must speak of the same {n_labels} labels as the rest. Got one of {chosen.n_labels} labels."
            raise InputError(msg)
        return chosen

    @property
    def n_instances(self) -> int:
        return self.labels.shape[0]

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_instances, self.n_labels

    def to_csr(self) -> sp.csr_array:
        """The selection as a 0/1 matrix of shape (n, m)."""
        used = self.labels != EMPTY
        ordered = np.sort(np.where(used, self.labels, np.iinfo(np.int32).max), axis=1)
        counts = used.sum(axis=1)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        indices = ordered[np.arange(self.labels.shape[1]) < counts[:, None]]
        return sp.csr_array((np.ones(indices.size, dtype=np.int8), indices, indptr), shape=self.shape)


def _from_indicator(matrix: Any, name: str) -> Chosen:
    csr = canonical_csr(matrix, name)
    if not np.isin(csr.data, (0, 1)).all():
        came = csr.data[~np.isin(csr.data, (0, 1))][0]
        msg = f"{name} as a matrix must hold only 0 and 1. Got {came:g}. Give an (n, k) array of labels for a ranking."
        raise InputError(msg)
    if (csr.data == 0).any():
        csr = csr.copy()  # the conversion shares memory with the caller's matrix
        csr.eliminate_zeros()
    counts = np.diff(csr.indptr)
    labels = np.full((csr.shape[0], max(1, int(counts.max()))), EMPTY, dtype=np.int32)
    labels[np.arange(labels.shape[1]) < counts[:, None]] = csr.indices
    return Chosen(labels, csr.shape[1], is_ranked=False)


def _from_labels(labels: NDArray, n_labels: int | None, name: str) -> Chosen:
    if labels.ndim != 2 or labels.dtype.kind not in "iu" or labels.size == 0:
        msg = (
            f"{name} must be an integer array of shape (n, k) or a 0/1 matrix (sparse or boolean). "
            f"Got shape {labels.shape} and dtype {labels.dtype}."
        )
        raise InputError(msg)
    if n_labels is None:
        msg = f"{name} as an array of labels needs the number of labels. Give n_labels."
        raise InputError(msg)
    if labels.min() < EMPTY or labels.max() >= n_labels:
        came = labels.min() if labels.min() < EMPTY else labels.max()
        msg = f"{name} must hold labels from 0 to {n_labels - 1}, or -1 for an empty slot. Got {came}."
        raise InputError(msg)
    # Empty slots move to the end of their row; the order of the others stays.
    labels = np.take_along_axis(labels, np.argsort(labels == EMPTY, axis=1, kind="stable"), axis=1).astype(np.int32)
    ordered = np.sort(labels, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != EMPTY)
    if twice.any():
        i, c = np.argwhere(twice)[0]
        msg = f"{name} must hold each label of an instance once. Instance {i} holds label {ordered[i, c]} twice."
        raise InputError(msg)
    return Chosen(labels, n_labels)
