"""Checks of the features, labels and parameters of a label tree."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, check_random_state

from tailwise.errors import InputError
from tailwise.inputs.checks import check_choice, check_size, check_workers, is_integer
from tailwise.inputs.label_names import LabelNames
from tailwise.inputs.matrices import as_indicator, check_matrix
from tailwise.inputs.table_columns import is_table
from tailwise.inputs.tags import are_tags, list_tags, place_tags
from tailwise.inputs.texts import are_texts
from tailwise.inputs.wide_tables import names_of_columns
from tailwise.kernels.node_training import Matrix

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.models.label_tree import LabelTree

TREES = ("k-means", "random", "huffman")
LOSSES = ("logistic", "squared-hinge")
LARGEST_SEED = 2**32 - 1  # of numpy's RandomState, which scikit-learn estimators use


def check_features(estimator: LabelTree, features: Any, *, reset: bool) -> Matrix:
    """Convert features to float32 CSR rows; with `reset` store their number, otherwise check it."""
    refuse_texts(features)
    check_matrix(features, "X")
    options = {"accept_sparse": "csr", "dtype": np.float32}
    try:
        matrix = _validate(estimator, features, reset=reset, **options)
    except TypeError:  # values that are not numbers, for which scikit-learn requires a TypeError
        raise
    except ValueError as error:
        raise InputError(str(error)) from error
    csr = sp.csr_array(matrix)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    values = _unit_rows(csr) if estimator.normalise else csr.data
    return Matrix(csr.indptr.astype(np.int64), csr.indices.astype(np.int32, copy=False), values)


def refuse_texts(X: Any) -> None:
    """Refuse texts where features are expected, with what to do about it."""
    if are_texts(X):
        msg = (
            "X must hold features for this model. Got texts. "
            "Use tailwise.OnTexts(model), which makes features of texts, or tailwise.TextFeatures."
        )
        raise InputError(msg)


def _unit_rows(csr: sp.csr_array) -> NDArray:
    """Return the values with every row scaled to length 1; empty rows stay empty."""
    squares = sp.csr_array((np.square(csr.data, dtype=np.float64), csr.indices, csr.indptr), shape=csr.shape)
    lengths = np.sqrt(squares @ np.ones(csr.shape[1]))
    lengths[lengths == 0.0] = 1.0
    return (csr.data / np.repeat(lengths, np.diff(csr.indptr))).astype(np.float32)


def unit_rows(features: Any) -> Any:
    """Convert features to float32 rows of length 1, CSR or dense as they are; refuse NaN and infinity."""
    refuse_texts(features)
    check_matrix(features, "X")
    try:
        matrix = check_array(features, accept_sparse="csr", dtype=np.float32)
    except TypeError:
        raise
    except ValueError as error:
        raise InputError(str(error)) from error
    if not sp.issparse(matrix):
        lengths = np.sqrt(np.square(matrix, dtype=np.float64).sum(axis=1, keepdims=True))
        return (matrix / np.where(lengths == 0.0, 1.0, lengths)).astype(np.float32)
    csr = sp.csr_array(matrix).copy()
    csr.sum_duplicates()
    csr.data = _unit_rows(csr)
    csr.eliminate_zeros()
    return csr


class Labels(NamedTuple):
    """Labels of training instances: a 0/1 matrix, their names if any, and the dtype of predictions, None for CSR."""

    matrix: sp.csr_array
    names: LabelNames | None
    output_type: np.dtype | None


def read_labels(labels: Any, n_instances: int) -> Labels:
    """Read a 0/1 matrix, a table whose columns are names, or a list of names for each instance."""
    if are_tags(labels):
        placed, found = place_tags(list_tags(labels))
        return Labels(check_labels(placed, n_instances), found, None)
    matrix = check_labels(labels, n_instances)
    names = names_of_columns(list(labels.columns)) if is_table(labels) else None
    return Labels(matrix, names, None if sp.issparse(labels) else np.asarray(labels).dtype)


def check_labels(labels: Any, n_instances: int) -> sp.csr_array:
    """Convert a 0/1 matrix with one row per instance to CSR without stored zeros."""
    if labels is None:
        msg = "requires y to be passed, but the target y is None: Y must be a 0/1 matrix of shape (n, m)."
        raise InputError(msg)
    check_matrix(labels, "Y")
    matrix = labels if sp.issparse(labels) else _as_dense(labels)
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        msg = (
            f"Y must be a 0/1 matrix of shape (n, m), one column per label. Got shape {matrix.shape}. "
            "Use sklearn.preprocessing.MultiLabelBinarizer for lists of labels."
        )
        raise InputError(msg)
    if matrix.shape[0] != n_instances:
        msg = f"X and Y must have the same number of rows. Got {n_instances} and {matrix.shape[0]}."
        raise InputError(msg)
    return as_indicator(matrix, "Y", "Use (Y > 0) for counts or scores.")


def check_parameters(estimator: LabelTree) -> None:
    """Refuse invalid parameters."""
    if isinstance(estimator.tree, str):
        check_choice("tree", estimator.tree, TREES)
    check_choice("loss", estimator.loss, LOSSES)
    if not isinstance(estimator.normalise, (bool, np.bool_)):
        msg = f"normalise must be True or False. Got {estimator.normalise!r}."
        raise InputError(msg)
    check_n_jobs(estimator.n_jobs)
    check_random(estimator.random_state)
    check_size("arity", estimator.arity, 2)
    check_size("leaf_size", estimator.leaf_size, 1)
    check_size("n_trees", estimator.n_trees, 1)
    check_size("max_epochs", estimator.max_epochs, 1)
    if estimator.C is not None:
        check_number("C", estimator.C, above=True)
    if estimator.threshold is not None:
        check_number("threshold", estimator.threshold, above=False)
    check_number("positive_weight", estimator.positive_weight, above=True)
    check_number("tolerance", estimator.tolerance, above=False)
    if estimator.n_trees > 1 and not (isinstance(estimator.tree, str) and estimator.tree != "huffman"):
        msg = f"n_trees must be 1 for a Huffman or user-defined tree, as all would be equal. Got {estimator.n_trees}."
        raise InputError(msg)


def check_random(random_state: Any) -> np.random.RandomState:
    """Return the generator for a seed, or the one given."""
    try:
        return check_random_state(random_state)
    except ValueError as error:
        msg = (
            f"random_state must be an integer from 0 to {LARGEST_SEED}, a RandomState, or None. Got {random_state!r}. "
            "Use another seed, for instance 0."
        )
        raise InputError(msg) from error


def check_n_jobs(n_jobs: Any) -> int | None:
    """Return the number of threads for :class:`tailwise.engines.Threads`: None for all cores."""
    if n_jobs is None or (is_integer(n_jobs) and n_jobs == -1):
        return None
    if not is_integer(n_jobs) or n_jobs < 1:
        msg = f"n_jobs must be an integer of at least 1, or -1 or None for all cores. Got {n_jobs!r}."
        raise InputError(msg)
    check_workers(n_jobs, "n_jobs")
    return int(n_jobs)


def check_number(name: str, value: Any, *, above: bool) -> None:
    """Refuse what is not a finite number of at least 0, or above it."""
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or value < 0 or (above and value == 0):
        msg = f"{name} must be a finite number {'above' if above else 'of at least'} 0. Got {value!r}."
        raise InputError(msg)


def check_feature_names(estimator: Any, features: Any, *, reset: bool) -> None:
    """Remember the names of the columns of a table, or compare them with those of `fit`, as scikit-learn does."""
    if not reset and not is_table(features) and not hasattr(estimator, "feature_names_in_"):
        return
    try:
        from sklearn.utils.validation import validate_data
    except ImportError:  # before scikit-learn 1.6
        check: Any = estimator._check_feature_names
    else:

        def check(X: Any, *, reset: bool) -> Any:
            return validate_data(estimator, X, skip_check_array=True, reset=reset)

    try:
        check(features, reset=reset)
    except ValueError as error:
        raise InputError(str(error)) from error


def _validate(estimator: LabelTree, features: Any, **options: Any) -> Any:
    try:
        from sklearn.utils.validation import validate_data
    except ImportError:  # before scikit-learn 1.6
        return estimator._validate_data(features, **options)
    return validate_data(estimator, features, **options)


def _as_dense(labels: Any) -> NDArray:
    try:
        matrix = np.asarray(labels)
    except ValueError as error:
        msg = "Y must be a matrix with rows of equal length. Got different lengths. Use MultiLabelBinarizer for lists."
        raise InputError(msg) from error
    if matrix.dtype.kind not in "fiub":
        msg = f"Y must hold only 0 and 1. Got an array of dtype {matrix.dtype}. Use MultiLabelBinarizer for names."
        raise InputError(msg)
    return matrix
