"""`OnTexts`: a model together with the features of texts that it was trained on."""

from __future__ import annotations

import os
from typing import Any

import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from tailwise.errors import InputError
from tailwise.inputs.texts import are_texts, check_texts
from tailwise.models.embeddings import Embeddings
from tailwise.models.ensemble import Ensemble
from tailwise.models.features import check_n_jobs, check_random
from tailwise.models.model import SavedModel, unpack_member
from tailwise.models.model_file import Packed
from tailwise.models.side_by_side import SideBySide
from tailwise.models.text_feature_file import pack_features, unpack_features
from tailwise.models.text_features import TextFeatures
from tailwise.models.text_features import check_parameters as check_features
from tailwise.models.tree_file import plain_parameters

NOT_SAVED = ("cache", "device", "progress")  # of embeddings: they belong to the machine


class OnTexts(SavedModel, BaseEstimator):
    r"""A model on the features of texts: texts in, probabilities out, everything in one file.

    The texts become TF-IDF features (:class:`TextFeatures`) and, with `embeddings`, dense vectors beside them
    (:class:`SideBySide`). The vocabulary is learned in :meth:`fit` and saved with the model, so that new texts can be
    predicted wherever the file is.

    Parameters
    ----------
    model : Model, optional
        The model to train on the features; by default an :class:`Ensemble`.
    features : TextFeatures, optional
        How texts become features; by default ``TextFeatures()``.
    embeddings : Embeddings, str, path or callable, optional
        The encoder of dense vectors, or its name; by default none.
    n_jobs : int, optional
        Number of threads; None or -1 for all cores. Results do not depend on it.
    random_state : int, RandomState instance or None
        Seed of the model.
    progress : bool
        Whether to show progress bars on standard error.

    Attributes
    ----------
    model_ : Model
        The fitted model, which takes features.
    features_ : TextFeatures
        The fitted features.
    n_features_in_ : int
        1: a text for each instance.
    n_labels_, priors_
        As for all models.

    Examples
    --------
    >>> import numpy as np, tailwise as tw
    >>> texts = ["label tree", "tall tree", "long tail", "fat tail"] * 5
    >>> Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]] * 5)
    >>> model = tw.OnTexts(tw.LabelTree()).fit(texts, Y)
    >>> model.predict_proba(["old tree"], top=1).indices
    array([0], dtype=int32)
    """

    kind = "on-texts"

    def __init__(
        self,
        model: Any = None,
        *,
        features: TextFeatures | None = None,
        embeddings: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        progress: bool = False,
    ) -> None:
        self.model = model
        self.features = features
        self.embeddings = embeddings
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, Y: Any) -> OnTexts:
        """Learn the vocabulary, then train the model.

        Parameters
        ----------
        X : list of str
            The training texts.
        Y : array_like, sparse matrix or list of lists of names
            The labels, as the model takes them.

        Returns
        -------
        OnTexts
            This estimator.
        """
        self.check_parameters()
        texts = read_text_rows(X)
        features = clone(TextFeatures() if self.features is None else self.features).fit(texts)
        own = {"n_jobs": self.n_jobs, "random_state": self.random_state, "progress": self.progress}
        model = clone(self.inner()).set_params(**own).fit(self._make_rows(features, texts), Y)
        self.features_, self.model_ = features, model
        self.n_features_in_, self.n_labels_, self.priors_ = 1, model.n_labels_, model.priors_
        return self

    def predict_proba(self, X: Any, top: int = 100, **options: Any) -> sp.csr_array:
        """Estimate the probabilities of the most probable labels; options are those of the model, such as `beam`."""
        check_is_fitted(self)
        self.model_.set_params(n_jobs=self.n_jobs)
        return self.model_.predict_proba(self.transform(X), top, **options)

    def transform(self, X: Any) -> Any:
        """Return the features of texts that the model sees: CSR, or :class:`SideBySide` with embeddings."""
        check_is_fitted(self)
        return self._make_rows(self.features_, read_text_rows(X))

    def check_parameters(self) -> None:
        """Refuse invalid parameters, as `fit` does."""
        check_n_jobs(self.n_jobs)
        check_random(self.random_state)
        if self.features is not None:
            check_features(self.features)
        if self.embeddings is not None:
            self._encoder().fit()
        if not hasattr(self.inner(), "check_parameters"):
            msg = f"model must be a model of tailwise. Got {type(self.model).__name__}. Use LabelTree(), for instance."
            raise InputError(msg)
        self.inner().check_parameters()

    @property
    def reads_texts_(self) -> bool:
        """True: it was fitted on texts."""
        return True

    def pack(self) -> Packed:
        """Take the fitted estimator apart, for `save` and for models that contain it."""
        check_is_fitted(self)
        inner = self.model_.pack()
        words, arrays = pack_features(self.features_)
        own = plain_parameters({name: getattr(self, name) for name in ("n_jobs", "random_state", "progress")})
        header = {
            "parameters": own,
            "features": words,
            "embeddings": None if self.embeddings is None else _plain_encoder(self._encoder()),
            "model": {**inner.header, "kind": inner.kind, "version": inner.version},
        }
        text_arrays = {f"features/{name}": array for name, array in arrays.items()}
        return Packed(self.kind, self.VERSION, header, {**text_arrays, **inner.with_prefix("model")})

    @classmethod
    def unpack(cls, packed: Packed) -> OnTexts:
        """Put an estimator together again."""
        header = packed.header
        arrays = {
            name.removeprefix("features/"): array
            for name, array in packed.arrays.items()
            if name.startswith("features/")
        }
        features = unpack_features(header["features"], arrays)
        inner = unpack_member(packed.part("model", header["model"]))
        encoder = header["embeddings"]
        parts = {"features": clone(features), "embeddings": None if encoder is None else Embeddings(**encoder)}
        model = cls(clone(inner), **parts, **header["parameters"])
        model.features_, model.model_ = features, inner
        model.n_features_in_, model.n_labels_, model.priors_ = 1, inner.n_labels_, inner.priors_
        if encoder is None and features.n_features_out_ != inner.n_features_in_:
            msg = f"the model has {inner.n_features_in_} features, its vocabulary {features.n_features_out_}"
            raise InputError(msg)
        return model

    def inner(self) -> Any:
        """Return the unfitted model that takes features."""
        return Ensemble() if self.model is None else self.model

    def _encoder(self) -> Embeddings:
        given = self.embeddings
        return given if isinstance(given, Embeddings) else Embeddings(given)

    def _make_rows(self, features: TextFeatures, texts: list[str]) -> Any:
        if self.embeddings is None:
            return features.transform(texts)
        encoder = clone(self._encoder()).set_params(progress=bool(self.progress))
        if encoder.model is None:
            msg = (
                "embeddings must be an encoder. The model was trained with a function, which its file cannot hold. "
                "Set it again: model.set_params(embeddings=function)."
            )
            raise InputError(msg)
        return SideBySide(features.transform(texts), encoder.transform(texts))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")


def read_text_rows(X: Any) -> list[str]:
    """Return texts; refuse features, of which a model on texts knows nothing."""
    if hasattr(X, "shape") and not are_texts(X):
        came = f"{type(X).__name__} of shape {X.shape}"
        msg = (
            f"X must be a list of texts, one for each instance. Got {came}. Pass the texts; features are for model_, "
            "the model inside."
        )
        raise InputError(msg)
    return check_texts(X, "X")


def _plain_encoder(encoder: Embeddings) -> dict[str, Any]:
    """Return the parameters as JSON values; a function, which no file can hold, as None."""
    given = encoder.get_params(deep=False)
    model = given["model"]
    named = os.fspath(model) if isinstance(model, (str, os.PathLike)) else None
    return {**{name: value for name, value in given.items() if name not in NOT_SAVED}, "model": named}
