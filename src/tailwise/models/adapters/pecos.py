"""Predictions of PECOS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tailwise.errors import InputError
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.checks import check_choice
from tailwise.inputs.matrices import canonical_csr
from tailwise.inputs.paths import load_if_path
from tailwise.models.adapters.shortlists import own_csr

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["from_pecos"]

KINDS = ("probabilities", "log-probabilities")


def from_pecos(predictions: Any, *, kind: str = "probabilities") -> sp.csr_array:
    """What ``predict`` of a PECOS model (XLinearModel, XTransformer) gives, as a CSR of probabilities.

    PECOS multiplies, along the path to a label, what its ``post_processor`` makes of the margins z (PECOS 1.2):
    ``sigmoid`` gives 1 / (1 + exp(-z)) and is meant as a probability; ``l3-hinge``, the default, and its kin give
    exp(-max(0, 1 - z)^3), between 0 and 1, which only ranks: fit a :class:`tailwise.Calibrator` to it first.
    ``log-sigmoid`` and ``log-l3-hinge`` add the logarithms of these. ``noop`` gives margins, which are neither.

    Parameters
    ----------
    predictions : sparse matrix of shape (n, m), or path
        As ``predict`` gives (columns in no order within a row) or as ``pecos.xmc.xlinear.predict -o FILE`` writes.
    kind : {"probabilities", "log-probabilities"}
        The second for ``post_processor="log-sigmoid"`` and the other logarithms.

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
        msg = f"predictions must be the sparse matrix that predict gives. Got {type(predictions).__name__}."
        raise InputError(msg)
    csr = canonical_csr(matrix, "predictions")
    values = csr.data if kind == "probabilities" else _exponentiate(csr.data)
    return own_csr(_check(sp.csr_array((values, csr.indices, csr.indptr), shape=csr.shape)))


def _exponentiate(values: NDArray) -> NDArray:
    if values.size and values.max() > 0:
        msg = (
            f"predictions must be at most 0 where kind='log-probabilities'. Got {values.max():g}. "
            "Use kind='probabilities' for any post_processor but log-sigmoid and its kin."
        )
        raise InputError(msg)
    return np.exp(values)


def _check(csr: sp.csr_array) -> Candidates:
    if csr.nnz and not (csr.data.min() >= 0 and csr.data.max() <= 1):
        msg = (
            f"predictions must lie in [0, 1]. Got values from {csr.data.min():g} to {csr.data.max():g}. "
            "Predict with post_processor='sigmoid' or 'l3-hinge', or give kind='log-probabilities' for 'log-sigmoid'."
        )
        raise InputError(msg)
    return Candidates.of(csr)
