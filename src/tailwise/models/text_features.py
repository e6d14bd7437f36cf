"""Features of texts: weighted counts of words, and of parts of words."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from tailwise.errors import InputError
from tailwise.inputs.checks import check_choice, check_size, is_integer
from tailwise.inputs.texts import check_texts
from tailwise.models.text_feature_file import load_features_file, save_features_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

WORD = r"(?u)\b\w+\b"
# From this number of texts on, a word must occur in at least this number of them.
LEAST_BY_SIZE = ((10_000, 3), (1_000, 2), (0, 1))
LARGEST_TABLE = 2**30


class TextFeatures(TransformerMixin, BaseEstimator):
    r"""TF-IDF features of texts such as titles and abstracts.

    A term t that occurs :math:`c > 0` times in a text, and in :math:`n_t` of the n training texts, has the value

    .. math:: (1 + \ln c)\,\Bigl(\ln\frac{1 + n}{1 + n_t} + 1\Bigr),

    and every row is scaled to length 1. Nothing is downloaded; the language matters for `stop_words` only.

    Parameters
    ----------
    words : (int, int) or None
        Shortest and longest sequence of words that is a term: (1, 1) for words, (1, 2) for pairs, too. None for no
        words.
    characters : (int, int), optional
        Shortest and longest sequence of characters within words that is a term, for instance (3, 5), which helps with
        compounds and misspellings. Default: none.
    min_df : int or "auto"
        Number of training texts that a term must occur in; "auto" is 3 from 10,000 texts on, 2 from 1,000 on, else 1.
        Not used with `hashing`.
    max_features : int, optional
        Number of terms of each kind to keep, the most frequent ones.
    sublinear : bool
        Whether to use :math:`1 + \ln c` instead of c.
    lowercase : bool
        Whether to ignore case.
    stop_words : list of str or "english", optional
        Words to leave out.
    hashing : int, optional
        Number of columns of a table into which terms are hashed, for streams: no vocabulary is kept, and
        :meth:`partial_fit` adds texts to the counts. Terms can collide; 2**18 or more is usual.

    Attributes
    ----------
    n_texts_ : int
        Number of training texts.
    settings_ : dict
        The parameters when it was fitted; later changes need another ``fit``.
    n_features_out_ : int
        Number of columns.
    document_counts_ : ndarray of shape (features,)
        Number of training texts that each term occurs in.

    Examples
    --------
    >>> import tailwise as tw
    >>> features = tw.TextFeatures().fit(["the label tree", "the long tail of labels"])
    >>> features.get_feature_names_out().tolist()
    ['label', 'labels', 'long', 'of', 'tail', 'the', 'tree']
    >>> features.transform(["a tree"]).toarray().round(1)
    array([[0., 0., 0., 0., 0., 0., 1.]], dtype=float32)
    """

    def __init__(
        self,
        *,
        words: tuple[int, int] | None = (1, 1),
        characters: tuple[int, int] | None = None,
        min_df: int | str = "auto",
        max_features: int | None = None,
        sublinear: bool = True,
        lowercase: bool = True,
        stop_words: Any = None,
        hashing: int | None = None,
    ) -> None:
        self.words = words
        self.characters = characters
        self.min_df = min_df
        self.max_features = max_features
        self.sublinear = sublinear
        self.lowercase = lowercase
        self.stop_words = stop_words
        self.hashing = hashing

    def fit(self, X: Any, y: Any = None) -> TextFeatures:
        """Learn the terms and how many texts they occur in.

        Parameters
        ----------
        X : list of str
            The training texts.
        y : object
            Not used.
        """
        check_parameters(self)
        texts, settings = check_texts(X, "X"), self.get_params()
        counters = list(self._counters(settings, len(texts)))
        try:
            counts = sp.hstack([counter.fit_transform(texts) for _, counter in counters], format="csr")
        except ValueError as error:  # no term is left
            msg = f"X must have terms that occur in {self._least(len(texts))} texts. {error} Set min_df=1."
            raise InputError(msg) from error
        self.terms_ = {kind: _terms_of(counter) for kind, counter in counters if self.hashing is None}
        self.settings_ = settings
        self._count(counts, 0, np.zeros(counts.shape[1], np.int64))
        return self

    def partial_fit(self, X: Any, y: Any = None) -> TextFeatures:
        """Add texts to the counts; needs `hashing`."""
        check_parameters(self)
        if getattr(self, "settings_", self.get_params())["hashing"] is None:
            msg = "partial_fit needs a table of fixed size, as new words would add columns. Use hashing=2**20, or fit."
            raise InputError(msg)
        texts = check_texts(X, "X")
        if not hasattr(self, "n_texts_"):
            return self.fit(texts)
        self._count(self._counts(texts), self.n_texts_, self.document_counts_)
        return self

    def transform(self, X: Any) -> sp.csr_array:
        """Return the features of texts, a float32 CSR array with rows of length 1; empty if no term is known."""
        check_is_fitted(self, "n_texts_")
        counts = self._counts(check_texts(X, "X")).astype(np.float32)
        if self.settings_["sublinear"]:
            counts.data = 1 + np.log(counts.data)
        rarity = np.log((1 + self.n_texts_) / (1 + self.document_counts_)) + 1
        counts.data *= rarity.astype(np.float32)[counts.indices]
        return sp.csr_array(normalize(counts, copy=False))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray:
        """Return the term of each column; hashed terms have numbers."""
        check_is_fitted(self, "n_texts_")
        if self.settings_["hashing"] is not None:
            return np.array([str(column) for column in range(self.n_features_out_)], dtype=object)
        return np.array([term for terms in self.terms_.values() for term in terms], dtype=object)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted features to a file (.npz) that :meth:`load` reads."""
        check_is_fitted(self, "n_texts_")
        save_features_file(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> TextFeatures:
        """Read features that :meth:`save` wrote; nothing is unpickled."""
        return load_features_file(cls, path)

    def _counters(self, settings: dict[str, Any], n_texts: int | None = None) -> Any:
        """Yield the kinds of terms and what counts them: the terms known, or those of n texts to learn from."""
        hashing = settings["hashing"]
        for kind in ("words", "characters"):
            if settings[kind] is None:
                continue
            is_word = kind == "words"
            options = {
                "analyzer": "word" if is_word else "char_wb",
                "token_pattern": WORD if is_word else None,
                "stop_words": settings["stop_words"] if is_word else None,
                "ngram_range": tuple(settings[kind]),
                "lowercase": settings["lowercase"],
            }
            if hashing is not None:
                yield kind, HashingVectorizer(n_features=hashing, norm=None, alternate_sign=False, **options)
                continue
            options["dtype"] = np.int64
            if n_texts is None:
                yield kind, CountVectorizer(vocabulary=self.terms_[kind], **options)
            else:
                yield kind, CountVectorizer(min_df=self._least(n_texts), max_features=self.max_features, **options)

    def _counts(self, texts: list[str]) -> sp.csr_matrix:
        return sp.hstack([counter.transform(texts) for _, counter in self._counters(self.settings_)], format="csr")

    def _count(self, counts: sp.csr_matrix, n_before: int, before: NDArray) -> None:
        self.n_texts_ = n_before + counts.shape[0]
        self.document_counts_ = before + np.bincount(counts.indices, minlength=counts.shape[1])
        self.n_features_out_ = counts.shape[1]

    def _least(self, n_texts: int) -> int:
        if self.min_df != "auto":
            return int(self.min_df)
        return next(least for size, least in LEAST_BY_SIZE if n_texts >= size)


def _terms_of(counter: Any) -> list[str]:
    return [str(term) for term in counter.get_feature_names_out()]


def check_parameters(features: TextFeatures) -> None:
    """Refuse invalid parameters."""
    for name in ("words", "characters"):
        _check_lengths(name, getattr(features, name))
    if features.words is None and features.characters is None:
        msg = "words or characters must be a pair of lengths. Got None for both. Use words=(1, 1)."
        raise InputError(msg)
    if isinstance(features.min_df, str):
        check_choice("min_df", features.min_df, ("auto",))
    else:
        check_size("min_df", features.min_df, 1)
    if features.max_features is not None:
        check_size("max_features", features.max_features, 1)
    if features.hashing is not None:
        check_size("hashing", features.hashing, 2, LARGEST_TABLE)
    if isinstance(features.stop_words, str):
        check_choice("stop_words", features.stop_words, ("english",))
    elif features.stop_words is not None:
        check_texts(features.stop_words, "stop_words")


def _check_lengths(name: str, lengths: Any) -> None:
    if lengths is None:
        return
    is_pair = isinstance(lengths, (tuple, list)) and len(lengths) == 2 and all(map(is_integer, lengths))
    if not is_pair or not 1 <= lengths[0] <= lengths[1]:
        msg = f"{name} must be a pair of lengths such as (1, 2), or None. Got {lengths!r}."
        raise InputError(msg)
