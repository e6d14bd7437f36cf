"""Predictions of PECOS."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tailwise.errors import InputError
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.checks import check_choice
from tailwise.inputs.matrices import canonical_csr
from tailwise.inputs.paths import load_if_path
from tailwise.models.adapters.shortlists import own_csr

KINDS = ("probabilities", "log-probabilities")


def from_pecos(predictions: Any, *, kind: str = "probabilities") -> sp.csr_array:
    """Convert the output of ``predict`` of a PECOS model (XLinearModel, XTransformer) to probabilities.

    PECOS applies its ``post_processor`` to the margins z and multiplies the results along the path to a label (PECOS
    1.2). ``sigmoid`` is 1 / (1 + exp(-z)), a probability. ``l3-hinge``, the default, and its variants are
    exp(-max(0, 1 - z)^3), between 0 and 1, which only rank labels: calibrate them with a :class:`tailwise.Calibrator`
    first. ``log-sigmoid`` and ``log-l3-hinge`` add the logarithms of these. Margins, from ``noop``, are not supported.

    Parameters
    ----------
    predictions : sparse matrix of shape (n, m), or path
        What ``predict`` returns (columns may be unsorted) or ``pecos.xmc.xlinear.predict -o FILE`` writes.
    kind : {"probabilities", "log-probabilities"}
        Use the second for ``post_processor="log-sigmoid"`` and other logarithms.

    Returns
    -------
    csr_array of shape (n, m)

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from tailwise.models.adapters import from_pecos
    >>> predictions = sp.csr_matrix((np.array([0.75, 0.5]), np.array([2, 0]), np.array([0, 2])), shape=(1, 3))
    >>> from_pecos(predictions).toarray()
    array([[0.5 , 0.  , 0.75]])
    """
    check_choice("kind", kind, KINDS)
    matrix = load_if_path(predictions)
    if not sp.issparse(matrix):
        msg = f"predictions must be the sparse matrix that predict returns. Got {type(predictions).__name__}."
        raise InputError(msg)
    csr = canonical_csr(matrix, "predictions")
    values = csr.data if kind == "probabilities" else _exponentiate(csr.data)
    return own_csr(_check(sp.csr_array((values, csr.indices, csr.indptr), shape=csr.shape)))


def _exponentiate(values: NDArray) -> NDArray:
    if values.size and values.max() > 0:
        msg = (
            f"predictions must be at most 0 with kind='log-probabilities'. Got {values.max():g}. "
            "Use kind='probabilities' unless the post_processor begins with 'log-'."
        )
        raise InputError(msg)
    return np.exp(values)


def _check(csr: sp.csr_array) -> Candidates:
    if csr.nnz and not (csr.data.min() >= 0 and csr.data.max() <= 1):
        msg = (
            f"predictions must lie in [0, 1]. Got values from {csr.data.min():g} to {csr.data.max():g}. "
            "Predict with post_processor='sigmoid' or 'l3-hinge', or use kind='log-probabilities' for 'log-sigmoid'."
        )
        raise InputError(msg)
    return Candidates.of(csr)
