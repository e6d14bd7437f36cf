"""Out-of-fold predictions by cross-validation."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone

from tailwise.errors import InputError
from tailwise.inputs.checks import is_integer
from tailwise.inputs.matrices import as_array
from tailwise.inputs.texts import are_texts, text_rows
from tailwise.models.adapters import from_sklearn
from tailwise.models.folds import draw_folds
from tailwise.models.side_by_side import SideBySide
from tailwise.progress import track


def predict_out_of_fold(
    estimator: Any, X: Any, Y: Any, folds: int, seed: int, options: dict[str, Any], *, progress: bool = False
) -> sp.csr_array:
    """Predict each fold by a copy of the estimator that is trained on the others; rows keep their order.

    Folds are drawn at random from `seed`, and `options` are passed to ``predict_proba``.
    """
    X, Y = _as_rows(X, "X"), _as_rows(Y, "Y")
    parts = _draw_checked(X.shape[0], Y.shape[0], folds, seed)
    predicted = []
    for part in track(parts, title="cross-validation", unit="folds", shown=progress):
        others = np.setdiff1d(np.arange(X.shape[0]), part, assume_unique=True)
        model = clone(estimator).fit(X[others], Y[others])
        predicted.append(from_sklearn(model, X[part], **options))
    order = np.argsort(np.concatenate(parts))
    return sp.csr_array(sp.vstack(predicted, format="csr"))[order]


def _as_rows(matrix: Any, name: str) -> Any:
    """Convert to an array whose rows can be indexed."""
    if isinstance(matrix, SideBySide):
        return matrix
    if are_texts(matrix):
        return text_rows(matrix)
    array = as_array(matrix, name)
    if array.ndim == 0:
        msg = f"{name} must have one row per instance. Got {matrix!r:.80}."
        raise InputError(msg)
    return sp.csr_array(array) if sp.issparse(array) else array


def _draw_checked(n_features_rows: int, n_instances: int, folds: int, seed: int) -> list[NDArray]:
    if n_features_rows != n_instances:
        msg = f"X must have the {n_instances} instances of Y. Got {n_features_rows}."
        raise InputError(msg)
    if not is_integer(folds) or not 2 <= folds <= n_instances:
        msg = f"folds must be an integer between 2 and {n_instances}, the number of instances. Got {folds!r}."
        raise InputError(msg)
    return draw_folds(n_instances, int(folds), seed)
