"""Predictions of Omikuji."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp

from tailwise.models.adapters.shortlists import from_pairs


def from_omikuji(predictions: Any, n_labels: int) -> sp.csr_array:
    """Convert the output of ``Model.predict`` of Omikuji, called for each instance, to a CSR matrix.

    The scores of Omikuji 0.5 lie in [0, 1] for either loss. Those of the logistic loss are probabilities; those of the
    hinge loss, the default, only rank labels: calibrate them with a :class:`tailwise.Calibrator` first.

    Parameters
    ----------
    predictions : list of lists of (int, float)
        ``[model.predict(features, top_k=100) for features in instances]``: the (label, score) pairs of each instance.
    n_labels : int
        Number of labels m, which the lists do not determine.

    Returns
    -------
    csr_array of shape (n, m)

    Examples
    --------
    >>> from tailwise.models.adapters import from_omikuji
    >>> from_omikuji([[(2, 0.75), (0, 0.5)], [(1, 1.0)]], n_labels=3).toarray()
    array([[0.5 , 0.  , 0.75],
           [0.  , 1.  , 0.  ]])
    """
    return from_pairs(predictions, n_labels, "[model.predict(features, top_k=100) for features in instances]")
