"""Logits of neural networks, as torch tensors or arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from tailwise.errors import InputError
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.matrices import as_array, as_numbers
from tailwise.models.adapters.shortlists import check_labels, check_n_labels, from_dense, own_csr

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

__all__ = ["from_logits", "sigmoid"]


def from_logits(
    logits: Any, labels: Any = None, *, n_labels: int | None = None, top: int | None = None
) -> sp.csr_array:
    r"""Logits z, one per label, as a CSR of probabilities :math:`\sigma(z) = 1 / (1 + e^{-z})`.

    For networks trained with one binary cross-entropy per label (``BCEWithLogitsLoss``). Logits of a softmax are
    none of these: its probabilities of one instance sum to 1.

    Parameters
    ----------
    logits : torch tensor, array_like of shape (n, m) or (n, k'), or what ``torch.topk`` returns
        All logits; those of a shortlist, with `labels`; or values and indices together.
    labels : torch tensor or array_like of int, shape (n, k'), optional
        The labels that a shortlist speaks of; -1 pads a row.
    n_labels : int, optional
        Number of labels m, needed with a shortlist.
    top : int, optional
        Keep only the most probable labels of each instance. Without it, dense logits make every label a candidate.

    Returns
    -------
    csr_array of shape (n, m)
        In single precision, unless the logits are in double.

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
    """Whether this is what ``torch.topk`` returns: a tuple with names (sparse tensors have methods of these names)."""
    return isinstance(logits, tuple) and hasattr(logits, "values") and hasattr(logits, "indices")


def read_scores(scores: Any, name: str) -> NDArray:
    """Dense scores (n, m) of real numbers; infinite ones are certain, NaN is refused."""
    array = as_numbers(scores, name)
    if not isinstance(array, np.ndarray) or array.ndim != 2 or 0 in array.shape:
        msg = f"{name} must be a dense matrix with at least one row and one column. Got shape {array.shape}."
        raise InputError(msg)
    if np.isnan(array).any():
        i, j = np.argwhere(np.isnan(array))[0]
        msg = f"{name} must be numbers. Got nan in row {i}, column {j}. Has the model diverged?"
        raise InputError(msg)
    return array


def from_shortlist(
    probabilities: NDArray, labels: NDArray, n_labels: int | None, top: int | None = None
) -> sp.csr_array:
    """Probabilities (n, k') with their labels (n, k'), -1 as padding."""
    if n_labels is None:
        msg = "n_labels must be given with labels of a shortlist, which do not tell it. Got None."
        raise InputError(msg)
    check_n_labels(n_labels)
    if labels.shape != probabilities.shape:
        msg = f"labels must have the shape of their scores, {probabilities.shape}. Got {labels.shape}."
        raise InputError(msg)
    is_used = labels != -1
    check_labels(labels[is_used], n_labels)
    return own_csr(Candidates.of((labels.astype(np.int64), probabilities), n_labels=n_labels, top=top))


def sigmoid(logits: NDArray) -> NDArray:
    """The logistic function, in single precision for what is not double."""
    return expit(logits.astype(np.float64 if logits.dtype.itemsize > 4 else np.float32, copy=False))
