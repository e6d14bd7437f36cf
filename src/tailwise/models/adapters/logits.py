"""Logits of neural networks, as torch tensors or arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit

from tailwise.errors import InputError
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.matrices import as_array, as_numbers
from tailwise.models.adapters.shortlists import check_labels, check_n_labels, from_dense, own_csr


def from_logits(
    logits: Any, labels: Any = None, *, n_labels: int | None = None, top: int | None = None
) -> sp.csr_array:
    r"""Convert logits z, one per label, to a CSR matrix of probabilities :math:`\sigma(z) = 1 / (1 + e^{-z})`.

    For networks trained with a binary cross-entropy per label (``BCEWithLogitsLoss``). Logits of a softmax are not
    suitable: its probabilities for an instance sum to 1.

    Parameters
    ----------
    logits : torch tensor, array_like of shape (n, m) or (n, k'), or what ``torch.topk`` returns
        All logits; those of a shortlist, with `labels`; or values and indices together.
    labels : torch tensor or array_like of int, shape (n, k'), optional
        The labels of a shortlist, padded with -1.
    n_labels : int, optional
        Number of labels m, required with a shortlist.
    top : int, optional
        Keep only this number of most probable labels of each instance. Default: with dense logits, every label is a
        candidate.

    Returns
    -------
    csr_array of shape (n, m)
        In single precision, unless the logits are in double precision.

    Examples
    --------
    >>> from tailwise.models.adapters import from_logits
    >>> from_logits([[0.0, -4.0, 2.0]], top=2).toarray().round(2)
    array([[0.5 , 0.  , 0.88]])
    >>> from_logits([[2.0, 0.0]], [[2, 0]], n_labels=3).toarray().round(2)
    array([[0.5 , 0.  , 0.88]])
    """
    if labels is None and _is_topk(logits):
        logits, labels = logits.values, logits.indices
    scores = read_scores(logits, "logits")
    if labels is None:
        return from_dense(scores, sigmoid, top)
    return from_shortlist(sigmoid(scores), as_array(labels, "labels"), n_labels, top)


def _is_topk(logits: Any) -> bool:
    """Whether this is the named tuple of ``torch.topk``; sparse tensors have methods with the same names."""
    return isinstance(logits, tuple) and hasattr(logits, "values") and hasattr(logits, "indices")


def read_scores(scores: Any, name: str) -> NDArray:
    """Check dense scores (n, m), which may be infinite but not NaN."""
    array = as_numbers(scores, name)
    if not isinstance(array, np.ndarray) or array.ndim != 2 or 0 in array.shape:
        msg = f"{name} must be a dense matrix with at least one row and one column. Got shape {array.shape}."
        raise InputError(msg)
    if np.isnan(array).any():
        i, j = np.argwhere(np.isnan(array))[0]
        msg = f"{name} must not contain NaN. Got nan in row {i}, column {j}. Check whether the training diverged."
        raise InputError(msg)
    return array


def from_shortlist(
    probabilities: NDArray, labels: NDArray, n_labels: int | None, top: int | None = None
) -> sp.csr_array:
    """Convert probabilities (n, k') and their labels (n, k'), padded with -1."""
    if n_labels is None:
        msg = "n_labels must be given with a shortlist, which does not determine it. Got None."
        raise InputError(msg)
    check_n_labels(n_labels)
    if labels.shape != probabilities.shape:
        msg = f"labels must have the shape of the scores, {probabilities.shape}. Got {labels.shape}."
        raise InputError(msg)
    is_used = labels != -1
    check_labels(labels[is_used], n_labels)
    return own_csr(Candidates.of((labels.astype(np.int64), probabilities), n_labels=n_labels, top=top))


def sigmoid(logits: NDArray) -> NDArray:
    """Compute the logistic function, in single precision unless the input is in double precision."""
    return expit(logits.astype(np.float64 if logits.dtype.itemsize > 4 else np.float32, copy=False))
