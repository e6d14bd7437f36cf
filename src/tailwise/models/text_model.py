"""A classifier of texts: a transformer after LightXML, or a bag of words and embeddings."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from tailwise.errors import InputError
from tailwise.inputs.checks import check_size
from tailwise.models.encoders import import_torch
from tailwise.models.features import check_n_jobs, check_random, read_labels
from tailwise.models.label_tree import _as_csr
from tailwise.models.model import SavedModel
from tailwise.models.text_model_checks import check_text_parameters
from tailwise.models.text_model_file import pack_text_model, unpack_text_model
from tailwise.utilities import LabelPriors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.models.model_file import Packed


class TextModel(ClassifierMixin, SavedModel, BaseEstimator):
    r"""Estimates label probabilities of texts by a network.

    Without an encoder, an instance x has a vector of length 1: the sum of the vectors of its terms, weighted by TF-IDF,
    plus a linear map of its embedding, followed by a residual block. Labels have vectors :math:`v_j`, and

    .. math:: \eta_j(x) = \sigma\bigl(a \operatorname{logit}(c\, s_j) + b\bigr),\qquad
        s_j = \operatorname{softmax}_j(\tau\, v_j \cdot h(x)),

    where c is the mean number of labels, and a and b are fitted on held-out rows. Training compares the true labels
    with those of the batch and random ones, corrected for how often each is drawn. This takes minutes on a CPU.

    With an encoder it is LightXML: the first tokens of the last five layers of a transformer, and one linear layer for
    few labels; for many, labels in balanced clusters, of which the best are searched,

    .. math:: \eta_j(x) = \sigma(c_{g(j)} \cdot h(x) + b_{g(j)})\,\sigma\bigl(e_j \cdot W h(x)\bigr).

    Parameters
    ----------
    encoder : path, str or dict, optional
        A folder or the name of a transformer to fine-tune; or the sizes of a new one with random weights: a dict with
        any of ``layers``, ``size``, ``heads`` and ``vocabulary``. Default: no transformer.
    embeddings : path, str or callable, optional
        The model of :class:`Embeddings` for texts, used beside TF-IDF if there is no encoder.
    cache : path, optional
        The folder in which embeddings are kept.
    max_length : int
        Number of tokens after which texts are cut off.
    size : int
        Length of the vectors of instances and labels, without an encoder.
    bottleneck : int
        Length of the vectors of labels in clusters, with an encoder.
    cluster_size : int
        Largest number of labels of a cluster.
    cluster_from : int
        Number of labels from which clusters are used.
    shortlist : int
        Number of clusters whose labels are scored.
    dropout : float, optional
        Share of vectors left out while training; by default 0.2, with an encoder 0.5.
    epochs : int, optional
        Largest number of passes over the training rows; by default 10, with an encoder 20.
    patience : int
        Training stops after this number of consecutive epochs without a gain on the held-out rows.
    validation : float
        Share of the training rows held out for that, and for a and b; 0 for none.
    batch_size : int, optional
        By default 512, with an encoder 16.
    negatives : int
        Number of random labels that each batch is compared with, without an encoder.
    learning_rate : float, optional
        By default 0.002, with an encoder 0.0001.
    averaging : (int, int), optional
        First epoch of weight averaging, and the number of batches between two averages; with an encoder only.
    checkpoint : path, optional
        A file that is written after each epoch; the same training resumes from it.
    device : str, optional
        Where to compute: "cpu", "cuda", ...; by default a GPU if there is one.
    n_jobs : int, optional
        Number of threads; None or -1 for all cores.
    random_state : int, RandomState instance or None
        Seed of the training.
    progress : bool
        Whether to show progress bars on standard error.

    Attributes
    ----------
    n_features_in_, n_labels_ : int
        Numbers of features (1 for texts) and labels.
    priors_ : LabelPriors
        Training frequencies of the labels, with their names if Y had any.
    history_ : list of float
        Precision at 5 on the held-out rows after each epoch; empty without held-out rows.

    Notes
    -----
    Needs torch, and for transformers also transformers: ``pip install 'tailwise[text]'``. X is a list of texts; without
    an encoder it may also be a sparse matrix, a dense one, or :class:`SideBySide`. Labels without training rows have
    vectors, too, but are hardly ever found. Half precision is used on a GPU.

    Examples
    --------
    >>> import numpy as np, tailwise as tw
    >>> texts = ["label tree", "tall tree", "long tail", "fat tail"] * 5
    >>> Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]] * 5)
    >>> model = tw.TextModel(size=8, epochs=5, validation=0).fit(texts, Y)
    >>> model.predict_proba(["old tree"], top=1).indices
    array([0], dtype=int32)
    """

    kind: ClassVar[str] = "text"

    def __init__(
        self,
        encoder: Any = None,
        *,
        embeddings: Any = None,
        cache: str | os.PathLike[str] | None = None,
        max_length: int = 128,
        size: int = 256,
        bottleneck: int = 300,
        cluster_size: int = 100,
        cluster_from: int = 100_000,
        shortlist: int = 32,
        dropout: float | None = None,
        epochs: int | None = None,
        patience: int = 3,
        validation: float = 0.1,
        batch_size: int | None = None,
        negatives: int = 2000,
        learning_rate: float | None = None,
        averaging: tuple[int, int] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        device: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        progress: bool = False,
    ) -> None:
        self.encoder = encoder
        self.embeddings = embeddings
        self.cache = cache
        self.max_length = max_length
        self.size = size
        self.bottleneck = bottleneck
        self.cluster_size = cluster_size
        self.cluster_from = cluster_from
        self.shortlist = shortlist
        self.dropout = dropout
        self.epochs = epochs
        self.patience = patience
        self.validation = validation
        self.batch_size = batch_size
        self.negatives = negatives
        self.learning_rate = learning_rate
        self.averaging = averaging
        self.checkpoint = checkpoint
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, Y: Any) -> TextModel:
        """Train the network.

        Parameters
        ----------
        X : list of str, sparse matrix, array_like or SideBySide
            Texts, or features of n instances.
        Y : array_like or sparse matrix of shape (n, m)
            0/1 matrix of the labels; the columns of a DataFrame are their names.

        Returns
        -------
        TextModel
            This estimator.
        """
        self.check_parameters()
        import_torch()
        before = self.__dict__.copy()
        try:
            self._fit(X, Y)
        except BaseException:  # also Ctrl-C: a model fitted before stays usable
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    def _fit(self, X: Any, Y: Any) -> None:
        from tailwise.models.text_model_fitting import fit_bag, fit_transformer, limited_threads

        seed = int(check_random(self.random_state).randint(2**31 - 1))
        labels, names, output_type = read_labels(Y, len(X) if isinstance(X, (list, tuple)) else X.shape[0])
        if not labels.nnz:
            msg = "Y must have at least one positive. Got none. Check its columns."
            raise InputError(msg)
        with limited_threads(check_n_jobs(self.n_jobs)):
            (fit_bag if self.encoder is None else fit_transformer)(self, X, labels, seed)
        self.n_labels_ = labels.shape[1]
        self.priors_ = LabelPriors.from_labels(labels).with_names(names)
        self._output_type = output_type

    def predict_proba(self, X: Any, top: int = 100) -> sp.csr_array:
        """Estimate the probabilities of the most probable labels.

        Parameters
        ----------
        X : list of str, sparse matrix, array_like or SideBySide
            Texts or features, as in `fit`.
        top : int
            Labels per instance; at most m are used.

        Returns
        -------
        csr_array of float32, shape (n, m)
            At most ``top`` stored entries per row, with ascending labels.
        """
        check_is_fitted(self)
        from tailwise.models.text_model_fitting import limited_threads, predict_bag, predict_transformer

        top = min(check_size("top", top, 1), self.n_labels_)
        predict = predict_bag if self.groups_ is None and self.tokenizer_ is None else predict_transformer
        with limited_threads(check_n_jobs(self.n_jobs)):
            labels, values = predict(self, X, top)
        return _as_csr(labels.astype(np.int32), values.astype(np.float32), self.n_labels_)

    def predict(self, X: Any, k: int | None = None) -> Any:
        """Predict the k most probable labels of each instance; without k, those with probability 1/2 or more.

        Returns
        -------
        csr_array or ndarray of shape (n, m)
            A 0/1 matrix, sparse or dense like Y in `fit`, and of the dtype of a dense Y.
        """
        check_is_fitted(self)
        found = self.predict_proba(X, 100 if k is None else check_size("k", k, 1, self.n_labels_))
        found.data = np.ones_like(found.data) if k is not None else (found.data >= 0.5).astype(np.float32)
        found.eliminate_zeros()
        chosen = found.astype(np.int8)
        return chosen if self._output_type is None else chosen.toarray().astype(self._output_type)

    @classmethod
    def from_lightxml(
        cls,
        checkpoint: str | os.PathLike[str],
        encoder: Any,
        *,
        groups: Any = None,
        priors: Any = None,
        **parameters: Any,
    ) -> TextModel:
        """Load a checkpoint of LightXML.

        Parameters
        ----------
        checkpoint : path
            The file with the weights, a ``state_dict`` that torch saved; only tensors are read.
        encoder : path or str
            The folder or name of the transformer that it was trained from, for its sizes and its tokenizer.
        groups : sequence of sequences of int, optional
            The labels of each cluster, as LightXML keeps them; None for a model without clusters.
        priors : LabelPriors or 0/1 matrix, optional
            Training frequencies of the labels, or the training labels; a checkpoint does not hold them. Without them
            the model predicts, but has no ``priors_`` and cannot be saved.
        **parameters
            Parameters of the model, for instance ``shortlist`` and ``max_length``.
        """
        import_torch()
        from tailwise.models.lightxml_checkpoint import load_lightxml

        return load_lightxml(cls, checkpoint, encoder, groups, priors, parameters)

    @property
    def classes_(self) -> NDArray:
        """The labels, 0 to m - 1."""
        if not hasattr(self, "n_labels_"):
            msg = "TextModel has no classes_ before fit."
            raise AttributeError(msg)
        return np.arange(self.n_labels_)

    @property
    def reads_texts_(self) -> bool:
        """Whether it was fitted on texts, not on features."""
        check_is_fitted(self)
        return self.features_ is not None or self.tokenizer_ is not None

    def check_parameters(self) -> None:
        """Refuse invalid parameters."""
        check_text_parameters(self)

    def pack(self) -> Packed:
        """Take the fitted model apart."""
        check_is_fitted(self)
        if not hasattr(self, "priors_"):
            msg = (
                "A model must know the frequencies of its labels to be saved. It was loaded without them. "
                "Use from_lightxml(..., priors=training_labels)."
            )
            raise InputError(msg)
        return pack_text_model(self)

    @classmethod
    def unpack(cls, packed: Packed) -> TextModel:
        """Put a model together again."""
        import_torch()
        return unpack_text_model(cls, packed)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")

    def _more_tags(self) -> dict[str, Any]:  # before scikit-learn 1.6
        return {"multilabel": True, "multioutput_only": True, "binary_only": True, "requires_y": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags
