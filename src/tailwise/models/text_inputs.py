"""What text models take: texts, or sparse and dense features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tailwise.errors import InputError
from tailwise.inputs.matrices import canonical_csr, check_matrix
from tailwise.inputs.texts import are_texts, check_texts
from tailwise.models.embeddings import Embeddings
from tailwise.models.side_by_side import SideBySide
from tailwise.models.text_features import TextFeatures

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.models.text_model import TextModel

Parts = tuple[sp.csr_array | None, "NDArray | None"]


def check_texts_for(model: TextModel, X: Any) -> list[str]:
    """Return texts; refuse features, which a transformer cannot read."""
    if hasattr(X, "shape") and not are_texts(X):
        msg = f"X must be a list of texts for a model with an encoder. Got {type(X).__name__}. Pass the texts."
        raise InputError(msg)
    return check_texts(X, "X")


def read_rows(model: TextModel, X: Any, *, reset: bool) -> Parts:
    """Return sparse and dense features of texts or matrices; with `reset` learn what texts need."""
    is_text = (isinstance(X, (list, tuple)) and not (X and isinstance(X[0], (list, tuple)))) or are_texts(X)
    if is_text:
        return _read_texts(model, check_texts(X, "X"), reset=reset)
    if not reset and model.features_ is not None:
        msg = f"X must be a list of texts, as in fit. Got {type(X).__name__}. Pass the texts."
        raise InputError(msg)
    parts = _split(X)
    widths = [0 if part is None else part.shape[1] for part in parts]
    if reset:
        model.features_, model.widths_, model.n_features_in_ = None, widths, sum(widths)
    elif widths != model.widths_:
        came, wanted = (f"{each[0]} sparse and {each[1]} dense ones" for each in (widths, model.widths_))
        msg = f"X must have the features of fit, {wanted}. Got {came}. Use the same features."
        raise InputError(msg)
    return parts


def _read_texts(model: TextModel, texts: list[str], *, reset: bool) -> Parts:
    if reset:
        model.features_ = TextFeatures().fit(texts)
        model.n_features_in_ = 1
    elif model.features_ is None:
        msg = f"X must have the {model.n_features_in_} features of fit. Got texts. Pass features, or fit on texts."
        raise InputError(msg)
    dense = None
    if model.embeddings is not None:
        options: dict[str, Any] = {"cache": model.cache, "max_length": model.max_length, "device": model.device}
        dense = Embeddings(model.embeddings, progress=bool(model.progress), **options).transform(texts)
    sparse = model.features_.transform(texts)
    if reset:
        model.widths_ = [sparse.shape[1], 0 if dense is None else dense.shape[1]]
    return sparse, dense


def _split(X: Any) -> Parts:
    if isinstance(X, SideBySide):
        return canonical_csr(X.sparse, "X").astype(np.float32), _finite(X.dense)
    check_matrix(X, "X")
    if sp.issparse(X):
        return _finite_rows(canonical_csr(X, "X").astype(np.float32)), None
    array = np.asarray(X)
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        msg = f"X must be a list of texts or a matrix of numbers. Got shape {array.shape} of {array.dtype}."
        raise InputError(msg)
    return None, _finite(array)


def _finite_rows(matrix: sp.csr_array) -> sp.csr_array:
    _finite(matrix.data)
    return matrix


def _finite(array: NDArray) -> NDArray:
    if not np.isfinite(array).all():
        msg = "X must be finite. Got NaN or infinity. Replace such values, for instance by 0."
        raise InputError(msg)
    return array.astype(np.float32, copy=False)
