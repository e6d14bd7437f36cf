"""Predictions of napkinXC."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp

from tailwise.models.adapters.shortlists import from_pairs


def from_napkinxc(predictions: Any, n_labels: int) -> sp.csr_array:
    """Convert the output of ``predict_proba`` of a napkinXC model (PLT, HSM, BR, OVR) to a CSR matrix.

    Parameters
    ----------
    predictions : list of lists of (int, float)
        The (label, probability) pairs of each instance, as napkinXC 0.7 returns them, in any order and number; a row
        may be empty if a threshold was set. Labels are column numbers of the Y used in fit.
    n_labels : int
        Number of labels m, which the lists do not determine.

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
