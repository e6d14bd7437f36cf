"""Predictions of napkinXC."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tailwise.models.adapters.shortlists import from_pairs

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["from_napkinxc"]


def from_napkinxc(predictions: Any, n_labels: int) -> sp.csr_array:
    """What ``predict_proba`` of a napkinXC model (PLT, HSM, BR, OVR) gives, as a CSR of probabilities.

    Parameters
    ----------
    predictions : list of lists of (int, float)
        For each instance its (label, probability) pairs, as napkinXC 0.7 gives: in any order, in any number; a row may
        be empty where a threshold was set. Labels are the column numbers of the Y that it was fitted on.
    n_labels : int
        Number of labels m; the lists do not tell it.

    Returns
    -------
    csr_array of shape (n, m)

    Examples
    --------
    >>> from tailwise.models.adapters import from_napkinxc
    >>> from_napkinxc([[(2, 0.8), (0, 0.5)], []], n_labels=3).toarray()
    array([[0.5, 0. , 0.8],
           [0. , 0. , 0. ]])
    """
    return from_pairs(predictions, n_labels, "predict_proba(X, top_k=100)")
