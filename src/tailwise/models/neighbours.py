"""`Neighbours`: label shares among the nearest training rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tailwise.engines import Threads
from tailwise.errors import InputError
from tailwise.inputs.checks import check_size, is_integer
from tailwise.inputs.label_names import LabelNames
from tailwise.inputs.table_columns import is_table
from tailwise.inputs.tags import are_tags, list_tags, place_tags
from tailwise.inputs.wide_tables import names_of_columns
from tailwise.models.features import (
    check_feature_names,
    check_labels,
    check_n_jobs,
    check_number,
    check_random,
    read_labels,
    unit_rows,
)
from tailwise.models.model import SavedModel
from tailwise.models.model_file import Packed
from tailwise.models.row_index import Nearest, RowIndex, UnitRows, merge_nearest
from tailwise.models.side_by_side import SideBySide
from tailwise.models.top_entries import keep_top
from tailwise.models.tree_file import describe_fit, plain_parameters, restore_fit
from tailwise.utilities import LabelPriors

LONGEST = 1.0 + 1e-5  # of rows of length 1, after rounding


class Neighbours(SavedModel, BaseEstimator):
    r"""Nearest neighbours: labels of the training instances most like an instance, by cosine.

    With the ``n_neighbours`` training rows N(x) of largest positive cosine,

    .. math:: \eta_j(x) = \sum_{i \in N(x)} w_i\, y_{ij}, \qquad
        w_i = \frac{\exp(\cos(x, x_i) / \tau)}{\sum_{l \in N(x)} \exp(\cos(x, x_l) / \tau)}.

    The search is exact. Sparse rows are found by their features, those of few rows first, until bounds rule out nearly
    all other rows; dense rows by matrix products; with both, :math:`\cos = (1 - u) \cos_{sparse} + u \cos_{dense}`,
    where u is ``dense_weight``. A rare label is remembered by its few instances, where a classifier learns little.

    Parameters
    ----------
    n_neighbours : int
        Number of neighbours; ties go to the earlier training row.
    temperature : float
        :math:`\tau` above: small values trust the nearest rows only.
    dense_weight : float
        Share u of dense features, from 0 to 1, if X is :class:`SideBySide`.
    n_jobs : int, optional
        Number of threads; None or -1 for all cores. Results do not depend on it.
    random_state : int, RandomState instance or None
        Not used: nothing is random. All models have it.
    progress : bool
        Not used: fitting takes no time.

    Attributes
    ----------
    n_features_in_, n_labels_ : int
        Numbers of features and labels.
    n_instances_ : int
        Number of training rows remembered.
    dense_weight_ : float
        ``dense_weight`` when the model was fitted; later changes of the parameter need another ``fit``.
    priors_ : LabelPriors
        Training frequencies of the labels, with their names if Y had any.

    Notes
    -----
    A row with no neighbour, for instance an empty one, gets the training frequencies of the most frequent labels.

    Examples
    --------
    >>> import numpy as np, tailwise as tw
    >>> model = tw.Neighbours(n_neighbours=2).fit(np.eye(3), np.eye(3))
    >>> model.predict_proba([[1.0, 0.1, 0.0]]).toarray().round(2)
    array([[1., 0., 0.]], dtype=float32)
    >>> model.partial_fit([[1.0, 0.1, 0.0]], [[0, 1, 1]]).n_instances_
    4
    >>> rows, weights = model.explain([[1.0, 0.1, 0.0]], 2)
    >>> rows
    array([3], dtype=int32)
    """

    kind = "neighbours"

    def __init__(
        self,
        n_neighbours: int = 30,
        *,
        temperature: float = 0.05,
        dense_weight: float = 0.5,
        n_jobs: int | None = None,
        random_state: Any = 0,
        progress: bool = False,
    ) -> None:
        self.n_neighbours = n_neighbours
        self.temperature = temperature
        self.dense_weight = dense_weight
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, Y: Any) -> Neighbours:
        """Remember the training instances.

        Parameters
        ----------
        X : array_like, sparse matrix or SideBySide of shape (n, features)
            Features; rows are scaled to length 1.
        Y : array_like or sparse matrix of shape (n, m)
            0/1 matrix of the labels; the columns of a DataFrame are their names.

        Returns
        -------
        Neighbours
            This estimator.
        """
        self.check_parameters()
        share = float(self.dense_weight)
        widths, rows = _read(X, share)
        labels, names, output_type = read_labels(Y, rows.n_rows)
        self.widths_, self.n_features_in_, self.n_labels_ = widths, sum(widths), labels.shape[1]
        self._output_type, self.dense_weight_ = output_type, share
        self.labels_, self.indexes_ = labels.astype(np.float32), [RowIndex(rows)]
        self._count(names)
        check_feature_names(self, X, reset=True)
        return self

    def partial_fit(self, X: Any, Y: Any) -> Neighbours:
        """Remember further instances, with the labels and features of `fit`; earlier row numbers stay."""
        if not hasattr(self, "indexes_"):
            return self.fit(X, Y)
        rows = self._check(X)
        names = self.priors_.label_names
        if names is not None and are_tags(Y):
            Y = place_tags(list_tags(Y), names)[0]
        labels = check_labels(Y, rows.n_rows)
        if labels.shape[1] != self.n_labels_:
            msg = f"Y must have the {self.n_labels_} labels of fit. Got {labels.shape[1]}. Use fit for other labels."
            raise InputError(msg)
        self._check_names(Y)
        parts = [index.rows for index in self.indexes_]
        n_kept = len(parts)
        while n_kept and parts[n_kept - 1].n_rows <= rows.n_rows:  # so that there are few, and large ones stay
            n_kept -= 1
            rows = UnitRows.stack([parts[n_kept], rows])
        self.indexes_ = [*self.indexes_[:n_kept], RowIndex(rows)]
        self.labels_ = sp.csr_array(sp.vstack([self.labels_, labels.astype(np.float32)], format="csr"))
        self._count(names)
        return self

    def predict_proba(self, X: Any, top: int = 100) -> sp.csr_array:
        """Estimate the probabilities of the most probable labels among those of the neighbours.

        Parameters
        ----------
        X : array_like, sparse matrix or SideBySide of shape (n, features)
            Features.
        top : int
            Largest number of labels per instance.

        Returns
        -------
        csr_array of float32, shape (n, m)
            At most ``top`` stored entries per row, with ascending labels.
        """
        check_size("top", top, 1)
        found = self.search(X)
        votes = self._weights(found) @ self.labels_
        alone = np.flatnonzero(found.rows[:, 0] < 0)
        if alone.size:
            votes = votes + self._priors_of(alone, found.rows.shape[0], top)
        np.minimum(votes.data, 1.0, out=votes.data)  # shares of single precision can sum to a little more
        return keep_top(votes, top)

    def search(self, X: Any) -> Nearest:
        """Find the nearest training rows of each instance.

        Returns
        -------
        Nearest
            ``rows`` (-1 for none) and ``cosines``, best first, with ``n_neighbours`` columns, or one for each training
            row if there are fewer.
        """
        check_is_fitted(self)
        self.check_parameters()
        queries = self._check(X)
        found, offset, r = [], 0, int(min(self.n_neighbours, self.n_instances_))
        with Threads(check_n_jobs(self.n_jobs), name="n_jobs") as threads:
            for index in self.indexes_:
                found.append(index.search(queries, r, offset, threads))
                offset += index.rows.n_rows
        return merge_nearest(found)

    def explain(self, x: Any, label: int | str) -> tuple[NDArray, NDArray]:
        r"""Return the training rows behind a label of one instance, and their weights :math:`w_i`, best first.

        Parameters
        ----------
        x : array_like, sparse matrix or SideBySide of shape (1, features)
            The instance.
        label : int or str
            The column of the label, or its name if the labels have names; the weights of the rows that have it sum to
            its probability.

        Returns
        -------
        rows, weights : ndarray
            Row numbers in the order of training, and weights.
        """
        found = self.search(x)
        if found.rows.shape[0] != 1:
            msg = f"x must be one instance, a matrix with one row. Got {found.rows.shape[0]} rows. Use X[[i]]."
            raise InputError(msg)
        column = self._column_of(label)
        rows = found.rows[0][found.rows[0] >= 0]
        weights = self._weights(found).data[: rows.size]
        has_label = self.labels_[rows][:, [column]].toarray().ravel() > 0
        return rows[has_label], weights[has_label]

    def check_parameters(self) -> None:
        """Refuse invalid parameters, as `fit` does."""
        check_size("n_neighbours", self.n_neighbours, 1)
        check_number("temperature", self.temperature, above=True)
        check_number("dense_weight", self.dense_weight, above=False)
        if self.dense_weight > 1:
            msg = f"dense_weight must be at most 1. Got {self.dense_weight!r}."
            raise InputError(msg)
        check_n_jobs(self.n_jobs)
        check_random(self.random_state)

    def pack(self) -> Packed:
        """Take the fitted estimator apart, for `save` and for models that contain it."""
        check_is_fitted(self)
        rows = UnitRows.stack([index.rows for index in self.indexes_])
        arrays = {"counts": self.priors_.counts, **_parts_of("labels", self.labels_)}
        arrays |= {} if rows.sparse is None else _parts_of("sparse", rows.sparse)
        arrays |= {} if rows.dense is None else {"dense": rows.dense}
        parameters = {**self.get_params(), "dense_weight": self.dense_weight_}  # with which the rows were scaled
        header = {"parameters": plain_parameters(parameters), **describe_fit(self), "widths": self.widths_}
        return Packed(self.kind, self.VERSION, header, arrays)

    @classmethod
    def unpack(cls, packed: Packed) -> Neighbours:
        """Put an estimator together again."""
        header, arrays = packed.header, packed.arrays
        model = cls(**header["parameters"])
        cls(**{**header["parameters"], "n_jobs": None}).check_parameters()  # n_jobs may be from a larger machine
        restore_fit(model, header, arrays["counts"])
        model.dense_weight_ = float(model.dense_weight)
        model.widths_, n = tuple(header["widths"]), int(header["n_instances"])
        if len(model.widths_) != 2 or sum(model.widths_) != model.n_features_in_:
            msg = f"the header has widths {header['widths']!r:.60}"
            raise InputError(msg)
        model.labels_ = _matrix_of("labels", arrays, (n, model.n_labels_))
        if (model.labels_.data != 1.0).any():  # shares of other values could be negative
            msg = "some values of labels are not 1"
            raise InputError(msg)
        sparse = _matrix_of("sparse", arrays, (n, model.widths_[0])) if model.widths_[0] else None
        dense = arrays["dense"] if model.widths_[1] else None
        if dense is not None and (dense.shape != (n, model.widths_[1]) or dense.dtype != np.float32):
            msg = f"the array dense has shape {dense.shape}"
            raise InputError(msg)
        if dense is not None and not (np.abs(dense) <= LONGEST).all():
            msg = "some values of dense are those of no rows of length 1"
            raise InputError(msg)
        model.indexes_, model.n_instances_ = [RowIndex(UnitRows(sparse, dense))], n
        return model

    def _column_of(self, label: Any) -> int:
        names = self.priors_.label_names
        column: Any = names.number_of(label) if names is not None and isinstance(label, str) else label
        if not is_integer(column) or not 0 <= column < self.n_labels_:
            named = "" if names is None else ", or one of their names"
            msg = f"label must be an integer from 0 to {self.n_labels_ - 1}{named}. Got {label!r}."
            raise InputError(msg)
        return int(column)

    def _check(self, X: Any) -> UnitRows:
        check_feature_names(self, X, reset=False)
        widths, rows = _read(X, self.dense_weight_)
        if sum(widths) != self.n_features_in_:
            msg = f"X has {sum(widths)} features, but Neighbours is expecting {self.n_features_in_} features as input."
            raise InputError(msg)
        if widths == self.widths_:
            return rows
        if 0 not in widths or 0 not in self.widths_:
            msg = f"X must have {self.widths_[0]} sparse and {self.widths_[1]} dense features. Got {widths}."
            raise InputError(msg)
        if self.widths_[0]:  # dense queries of sparse rows
            return UnitRows(sp.csr_array(rows.dense), None)
        assert rows.sparse is not None
        return UnitRows(None, rows.sparse.toarray())

    def _weights(self, found: Nearest) -> sp.csr_array:
        """Return the weight of each neighbour, (n, training rows); rows sum to 1, or to 0 without neighbours."""
        is_found = found.rows >= 0
        weights = np.exp((found.cosines - found.cosines[:, :1]) / float(self.temperature)) * is_found
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
        indptr = np.concatenate([[0], np.cumsum(is_found.sum(axis=1))])
        shape = (found.rows.shape[0], self.n_instances_)
        return sp.csr_array((weights[is_found].astype(np.float32), found.rows[is_found], indptr), shape=shape)

    def _priors_of(self, alone: NDArray, n: int, top: int) -> sp.csr_array:
        """Return rows with the training frequencies of the most frequent labels."""
        counts = self.priors_.counts
        best = np.argsort(-counts, kind="stable")[: min(top, counts.size)]
        best = np.sort(best[counts[best] > 0])
        sizes = np.zeros(n, np.int64)
        sizes[alone] = best.size
        values = np.tile((counts[best] / self.n_instances_).astype(np.float32), alone.size)
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        return sp.csr_array((values, np.tile(best, alone.size), indptr), shape=(n, counts.size))

    def _check_names(self, Y: Any) -> None:
        """Refuse a table whose columns are other labels than those of `fit`, or the same in another order."""
        known = self.priors_.label_names
        if known is None or not is_table(Y):
            return
        names = list(names_of_columns(list(Y.columns)) or ())
        other = next((j for j, (old, new) in enumerate(zip(known, names, strict=False)) if old != new), None)
        if other is not None:
            msg = (
                f"Y must have the columns of fit, in the same order. Got {names[other]!r} in place of "
                f"{known[other]!r}. Reorder them, or use fit for other labels."
            )
            raise InputError(msg)

    def _count(self, names: LabelNames | None) -> None:
        self.n_instances_ = self.labels_.shape[0]
        self.priors_ = LabelPriors.from_labels(self.labels_).with_names(names)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "indexes_")


def _read(X: Any, share: float) -> tuple[tuple[int, int], UnitRows]:
    """Check features and scale them; return the numbers of sparse and dense ones, too."""
    if not isinstance(X, SideBySide):
        rows = unit_rows(X)
        is_sparse = sp.issparse(rows)
        widths = (rows.shape[1], 0) if is_sparse else (0, rows.shape[1])
        return widths, UnitRows(rows if is_sparse else None, None if is_sparse else rows)
    sparse, dense = unit_rows(X.sparse), unit_rows(X.dense)
    parts = UnitRows(sparse * np.float32(np.sqrt(1.0 - share)), dense * np.float32(np.sqrt(share)))
    return (sparse.shape[1], dense.shape[1]), parts


def _parts_of(name: str, matrix: sp.csr_array) -> dict[str, NDArray]:
    values = matrix.data.astype(np.float32, copy=False)
    indptr, columns = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False)
    return {f"{name}/indptr": indptr, f"{name}/columns": columns, f"{name}/values": values}


def _matrix_of(name: str, arrays: dict[str, NDArray], shape: tuple[int, int]) -> sp.csr_array:
    """Build a matrix from mapped arrays; raises a ValueError if they do not fit together."""
    indptr, columns, values = (arrays[f"{name}/{part}"] for part in ("indptr", "columns", "values"))
    matrix = sp.csr_array((values, columns, indptr), shape=shape)
    matrix.check_format(full_check=True)
    if not matrix.has_canonical_format or not (np.abs(values) <= LONGEST).all():  # NaN is refused, too
        msg = f"some values of {name} are those of no rows of length 1, or stand in wrong places"
        raise InputError(msg)
    return matrix
