"""Probabilities of scikit-learn's multi-label classifiers, and of all that follow its contract."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tailwise.errors import InputError
from tailwise.inputs.candidates import Candidates
from tailwise.models.adapters.shortlists import from_dense, own_csr

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["from_sklearn"]


def from_sklearn(model: Any, X: Any, *, top: int | None = None, **options: Any) -> sp.csr_array:
    """What ``predict_proba`` of a fitted multi-label classifier gives for X, as a CSR of probabilities.

    Every form that scikit-learn's classifiers know is read (scikit-learn 1.4 to 1.9): an array (n, m) of the
    probabilities of each label (``OneVsRestClassifier``, ``ClassifierChain``, ``MLPClassifier``); a list of m arrays
    (n, classes) with the list ``classes_`` beside it (``MultiOutputClassifier``, forests, trees, nearest neighbours),
    of which the column of class 1 is taken (a label that was never 1 in training has no such column and probability 0,
    one that was always 1 has probability 1); a sparse matrix (:class:`tailwise.LabelTree`); a pipeline or a grid search
    around any of these.

    Parameters
    ----------
    model : estimator
        Fitted, with ``predict_proba``.
    X : array_like or sparse matrix
        What the model takes.
    top : int, optional
        Keep only the most probable labels of each instance; also passed on to a model that knows the word.
    **options
        Passed on to ``predict_proba``.

    Returns
    -------
    csr_array of shape (n, m)
        Labels are the columns of the Y that the model was fitted on.

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
            f"model must have predict_proba. Got {type(model).__name__}, which has not. Choose a base estimator that "
            "gives probabilities, or wrap it in sklearn.calibration.CalibratedClassifierCV."
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
    """From one array (n, classes) per label, the probabilities of class 1 as one array (n, m)."""
    if not isinstance(classes, list) or len(classes) != len(predicted):
        msg = (
            f"model must have classes_, one array of classes for each of its {len(predicted)} labels. Got "
            f"{classes!r:.80}. Wrap what it predicts into an array (n, m) and pass that on instead."
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
