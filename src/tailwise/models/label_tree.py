"""`LabelTree`: a probabilistic label tree as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from tailwise.engines import Threads
from tailwise.errors import InputError
from tailwise.inputs.checks import check_size
from tailwise.inputs.matrices import as_dense, build_csr
from tailwise.kernels.node_training import Matrix
from tailwise.models.features import (
    check_features,
    check_n_jobs,
    check_parameters,
    check_random,
    read_labels,
)
from tailwise.models.model import SavedModel
from tailwise.models.model_file import Packed
from tailwise.models.plt_greedy import TreeSelection, select_on_tree
from tailwise.models.plt_search import Found
from tailwise.models.tree_ensemble import search_trees
from tailwise.models.tree_file import pack_tree, unpack_tree
from tailwise.models.tree_fitting import fit_trees
from tailwise.utilities import LabelPriors, Utility


class LabelTree(SavedModel, ClassifierMixin, BaseEstimator):
    r"""Probabilistic label tree: estimates probabilities of many labels from sparse features.

    The labels are the leaves of a tree. Each node v has a classifier for instances that reach its parent, which
    estimates the probability that they reach v; the probability of label j is the product along its path,

    .. math:: \eta_j(x) = \prod_{v \in \text{path}(j)} P(z_v = 1 \mid z_{\text{parent}(v)} = 1, x),\qquad
        z_v = 1 \text{ if } x \text{ has a label below } v.

    Finding the best labels of an instance takes only a small part of the tree, and the result is exact.

    Parameters
    ----------
    tree : {"k-means", "random", "huffman"} or array_like of int
        How to build the tree: with similar labels together (balanced spherical k-means on the mean features of their
        positives); at random; with frequent labels near the root; or from the parent of every node, labels first
        (:meth:`tailwise.models.Tree.from_parents`).
    arity : int
        Maximum number of children of an inner node above the lowest inner level.
    leaf_size : int
        Maximum number of labels below a node of the lowest inner level. Not used by Huffman trees.
    n_trees : int
        Number of trees whose probabilities are averaged.
    loss : {"logistic", "squared-hinge"}
        "logistic" gives probabilities. "squared-hinge" often ranks better; its scores, the logistic function of
        :math:`3 w \cdot x + 1` for each node, need a :class:`tailwise.Calibrator` to become probabilities.
    normalise : bool
        Whether to scale every feature row to length 1. Raw counts then train as well as TF-IDF, with the same C.
    C : float, optional
        Cost of an error, relative to half the squared norm of the weights; by default 10 for the logistic loss and 1
        for the squared hinge.
    positive_weight : float
        Factor of C for errors on positives. Values above 1 rank rare labels higher: 4, with ``C=0.5`` and the squared
        hinge, ranked best on library records.
    threshold : float, optional
        Weights with a smaller absolute value are dropped, which makes the model smaller and faster. By default 0.2 for
        the logistic loss and 0.1 for the squared hinge, whose weights are smaller.
    tolerance : float
        Training of a node stops when no dual variable changes by more than this fraction of C in an epoch.
    max_epochs : int
        Maximum number of epochs for a node.
    n_jobs : int, optional
        Number of threads; None or -1 for all cores. Results do not depend on it.
    random_state : int, RandomState instance or None
        Seed of the clustering and of the order of instances.
    progress : bool
        Whether to show a progress bar on standard error.

    Attributes
    ----------
    n_features_in_, n_labels_ : int
        Numbers of features and labels.
    priors_ : LabelPriors
        Training frequencies of the labels, with their names if Y had any.
    trees_ : list of FittedTree
        The trees and the weights of their nodes.

    Notes
    -----
    A label that does not occur in training, and every node with only such labels below it, has probability 1 / (n + 2)
    given its parent, which n instances reach. Instances without labels are used to train the children of the root.
    Empty feature rows are accepted; the biases determine their probabilities. Ctrl-C or an error during fit leaves the
    estimator unchanged. Paper: appendix on efficient inference with probabilistic label trees.

    Examples
    --------
    >>> import numpy as np, tailwise as tw
    >>> X = np.eye(4).repeat(5, axis=0)
    >>> Y = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 0]]).repeat(5, axis=0)
    >>> model = tw.LabelTree(leaf_size=2).fit(X, Y)
    >>> model.predict_proba(np.eye(4), top=2).toarray().round(1)
    array([[0.9, 0.1, 0. ],
           [0.9, 0.9, 0. ],
           [0. , 0. , 0.9],
           [0. , 0. , 0. ]], dtype=float32)
    >>> model.select(np.eye(4), "macro-recall", k=1).labels.ravel()
    array([0, 1, 2, 2], dtype=int32)
    """

    kind = "tree"

    def __init__(
        self,
        tree: Any = "k-means",
        *,
        arity: int = 128,
        leaf_size: int = 256,
        n_trees: int = 1,
        loss: str = "logistic",
        normalise: bool = True,
        C: float | None = None,
        positive_weight: float = 1.0,
        threshold: float | None = None,
        tolerance: float = 0.1,
        max_epochs: int = 20,
        n_jobs: int | None = None,
        random_state: Any = 0,
        progress: bool = False,
    ) -> None:
        self.tree = tree
        self.arity = arity
        self.leaf_size = leaf_size
        self.n_trees = n_trees
        self.loss = loss
        self.normalise = normalise
        self.C = C
        self.positive_weight = positive_weight
        self.threshold = threshold
        self.tolerance = tolerance
        self.max_epochs = max_epochs
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, Y: Any) -> LabelTree:
        """Build the trees and train their nodes.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n, features)
            Features; converted to single precision.
        Y : array_like, sparse matrix or list of lists of str
            0/1 matrix of the labels, of shape (n, m); the columns of a DataFrame are their names. Or the names of the
            labels of each instance.

        Returns
        -------
        LabelTree
            This estimator.
        """
        check_parameters(self)
        before = self.__dict__.copy()
        try:
            matrix = check_features(self, X, reset=True)
            labels, names, output_type = read_labels(Y, matrix.indptr.size - 1)
            seed = int(check_random(self.random_state).randint(2**31 - 1))
            with self._threads() as threads:
                self.trees_ = fit_trees(self, matrix, labels, seed, threads)
        except BaseException:  # also Ctrl-C: a model fitted before stays usable
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        self.n_labels_ = labels.shape[1]
        self.priors_ = LabelPriors.from_labels(labels).with_names(names)
        self._output_type = output_type
        return self

    def predict_proba(self, X: Any, top: int = 100, *, beam: int | None = None) -> sp.csr_array:
        """Estimate the probabilities of the most probable labels.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n, features)
            Features.
        top : int
            Labels per instance; at most m are used.
        beam : int, optional
            Beam width, the number of nodes kept per level: faster, but not exact. Default: exact search.

        Returns
        -------
        csr_array of float32, shape (n, m)
            ``top`` stored entries per row (a beam may find fewer), with ascending labels.
        """
        found = self.search(X, min(check_size("top", top, 1), self._fitted_labels()), beam=beam)
        return _as_csr(found.labels, found.probabilities.astype(np.float32), self.n_labels_)

    def predict(self, X: Any, k: int | None = None) -> Any:
        """Predict the k most probable labels of each instance; without k, those with probability 1/2 or more.

        Returns
        -------
        csr_array or ndarray of shape (n, m)
            A 0/1 matrix, sparse or dense like Y in `fit`, and of the dtype of a dense Y.
        """
        n_labels = self._fitted_labels()
        found = self._search_likely(X) if k is None else self.search(X, check_size("k", k, 1, n_labels))
        ones = np.ones(found.labels.shape, np.int8)
        if self._output_type is None:
            return _as_csr(found.labels, ones, n_labels)
        return _as_csr(found.labels, ones, n_labels).toarray().astype(self._output_type)

    def search(self, X: Any, k: int, *, beam: int | None = None, weights: Any = None) -> Found:
        r"""Find the k labels with the largest :math:`w_j \eta_j` for each instance, best first.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n, features)
            Features.
        k : int
            Labels per instance.
        beam : int, optional
            Beam width, the number of nodes kept per level: faster, but not exact. Default: exact search.
        weights : array_like of shape (m,), optional
            Non-negative weights w of the labels; by default all 1.

        Returns
        -------
        Found
            ``labels`` and ``probabilities`` of shape (n, k), and ``visited``, the number of nodes visited, of shape
            (n,).
        """
        n_labels = self._fitted_labels()
        check_size("k", k, 1, n_labels)
        beam = 0 if beam is None else check_size("beam", beam, 1)
        slopes = None if weights is None else _check_weights(weights, n_labels)
        matrix = self._features(X)
        with self._threads() as threads:
            return search_trees(self.trees_, matrix, int(k), threads, slopes=slopes, beam=beam)

    def select(
        self, X: Any, utility: Utility | str, k: int, *, method: str = "auto", top: int = 100, **options: Any
    ) -> TreeSelection:
        r"""Choose k labels for each instance to maximise a utility of the whole batch.

        Parameters
        ----------
        X : array_like or sparse matrix of shape (n, features)
            Features of the batch. The index of a DataFrame, unless it is 0, 1, 2, ..., gives the ids of the instances.
        utility : Utility or str
            What to maximise, as for :func:`tailwise.select`. Priors are those of the training labels.
        k : int
            Labels per instance.
        method : {"auto", "tree", ...}
            "tree" searches the tree for the labels with the largest gain, without a shortlist. For a utility that is
            linear in the predictions this is the exact optimum; for others, like macro-precision and coverage, it is
            the greedy selection, one instance after another. "auto" uses "tree" if it is exact, and otherwise passes
            the ``top`` most probable labels of each instance to :func:`tailwise.select`. All other methods are those of
            that function.
        top : int
            Length of the shortlist, if one is used.
        **options
            Options of :func:`tailwise.select`; with "tree", only ``seed`` (for the order of instances) and
            ``condition_positives``. By default p is the training prior times n, because the tree does not compute the
            probabilities of all labels.

        Returns
        -------
        TreeSelection
            A :class:`tailwise.Selection` with ``visited``, the number of nodes visited for each instance.
        """
        check_size("k", k, 1, self._fitted_labels())
        return select_on_tree(self, X, utility, int(k), method, top, options)

    @property
    def classes_(self) -> NDArray:
        """The labels, 0 to m - 1."""
        if not hasattr(self, "n_labels_"):
            msg = "LabelTree has no classes_ before fit."
            raise AttributeError(msg)
        return np.arange(self.n_labels_)

    def check_parameters(self) -> None:
        """Refuse invalid parameters, as `fit` does."""
        check_parameters(self)

    def pack(self) -> Packed:
        """Take the fitted estimator apart, for `save` and for models that contain it."""
        self._fitted_labels()
        return pack_tree(self)

    @classmethod
    def unpack(cls, packed: Packed) -> LabelTree:
        """Put an estimator together again."""
        return unpack_tree(cls, packed)

    def _fitted_labels(self) -> int:
        check_is_fitted(self)
        return self.n_labels_

    def _features(self, X: Any) -> Matrix:
        return check_features(self, X, reset=False)

    def _threads(self) -> Threads:
        return Threads(check_n_jobs(self.n_jobs), name="n_jobs")

    def _search_likely(self, X: Any) -> Found:
        """Find all labels with probability 1/2 or more, increasing k as needed."""
        matrix, k = self._features(X), min(16, self.n_labels_)
        with self._threads() as threads:
            while True:
                found = search_trees(self.trees_, matrix, k, threads)
                if k == self.n_labels_ or (found.probabilities[:, -1] < 0.5).all():
                    return found._replace(labels=np.where(found.probabilities >= 0.5, found.labels, -1))
                k = min(4 * k, self.n_labels_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "trees_")

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


def _as_csr(labels: NDArray, values: NDArray, n_labels: int) -> sp.csr_array:
    """Convert rows of labels, padded with -1, and their values to CSR with ascending labels."""
    order = np.argsort(labels, axis=1)  # only the padding has equal labels, and is dropped
    labels, values = np.take_along_axis(labels, order, axis=1), np.take_along_axis(values, order, axis=1)
    is_label = labels >= 0
    indptr = np.concatenate([[0], np.cumsum(is_label.sum(axis=1))])
    return build_csr(values[is_label], labels[is_label], indptr, (labels.shape[0], n_labels))


def _check_weights(weights: Any, n_labels: int) -> NDArray:
    array = as_dense(weights, "weights")
    if array.shape != (n_labels,) or not (np.isfinite(array).all() and (array >= 0).all()):
        came = (
            f"shape {array.shape}" if array.shape != (n_labels,) else f"values from {array.min():g} to {array.max():g}"
        )
        msg = f"weights must be {n_labels} finite numbers of at least 0, one per label. Got {came}."
        raise InputError(msg)
    return array
