"""Probabilities of multi-label classifiers with the interface of scikit-learn."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tailwise.errors import InputError
from tailwise.inputs.candidates import Candidates
from tailwise.models.adapters.shortlists import from_dense, own_csr


def from_sklearn(model: Any, X: Any, *, top: int | None = None, **options: Any) -> sp.csr_array:
    """Call ``predict_proba`` of a fitted multi-label classifier, and convert the result to a CSR matrix.

    All forms that scikit-learn classifiers return are supported (1.4 to 1.9): an array (n, m) of label probabilities
    (``OneVsRestClassifier``, ``ClassifierChain``, ``MLPClassifier``); a list of m arrays (n, classes) with the list
    ``classes_`` (``MultiOutputClassifier``, forests, trees, nearest neighbours), of which the column of class 1 is used
    (a label that was never 1 in training has probability 0, one that was always 1 has probability 1); a sparse matrix
    (:class:`tailwise.LabelTree`); or a pipeline or grid search of any of these.

    Parameters
    ----------
    model : estimator
        A fitted model with ``predict_proba``.
    X : array_like or sparse matrix
        The input of the model.
    top : int, optional
        Keep only this number of most probable labels of each instance. Also passed to models with such a parameter.
    **options
        Passed to ``predict_proba``.

    Returns
    -------
    csr_array of shape (n, m)
        Labels are the columns of the Y used in fit.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from tailwise.models.adapters import from_sklearn
    >>> X, Y = np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 0]])
    >>> from_sklearn(KNeighborsClassifier(2).fit(X, Y), [[0.4], [4.4]]).toarray()
    array([[1. , 0.5, 0. ],
           [0. , 0.5, 0. ]])
    """
    if not hasattr(model, "predict_proba"):
        msg = (
            f"model must have predict_proba. Got {type(model).__name__}, which has not. Choose a base estimator with "
            "probabilities, or wrap it in sklearn.calibration.CalibratedClassifierCV."
        )
        raise InputError(msg)
    if top is not None and "top" in inspect.signature(model.predict_proba).parameters:
        options["top"] = top
    predicted = model.predict_proba(X, **options)
    if sp.issparse(predicted):
        return own_csr(Candidates.of(predicted, top=top))
    if isinstance(predicted, list):
        predicted = _take_positive_class(predicted, getattr(model, "classes_", None))
    return from_dense(np.asarray(predicted), np.asarray, top)


def _take_positive_class(predicted: list[NDArray], classes: Any) -> NDArray:
    """Extract the probabilities of class 1, (n, m), from one array (n, classes) per label."""
    if not isinstance(classes, list) or len(classes) != len(predicted):
        msg = (
            f"model must have classes_, one array of classes for each of its {len(predicted)} labels. Got "
            f"{classes!r:.80}. Convert its predictions to an array (n, m) and use that instead."
        )
        raise InputError(msg)
    positive = np.zeros((predicted[0].shape[0], len(predicted)))
    for j, (probabilities, known) in enumerate(zip(predicted, classes, strict=True)):
        strange = np.setdiff1d(known, (0, 1))
        if strange.size:
            msg = f"model must be fitted on labels of 0 and 1. Got class {strange[0]!r} of label {j}."
            raise InputError(msg)
        column = np.flatnonzero(np.asarray(known) == 1)
        if column.size:
            positive[:, j] = probabilities[:, column[0]]
    return positive
