"""What an evaluation reads: true labels, a selection and priors, checked against each other."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tailwise.errors import InputError
from tailwise.inputs.chosen import EMPTY, Chosen
from tailwise.inputs.matrices import as_array, canonical_csr
from tailwise.inputs.priors import LabelPriors

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

    from tailwise.datasets import Contents, LabelNames

__all__ = ["left_out", "read_filter", "read_priors", "read_probabilities", "read_selection", "read_truth"]


class Truth(NamedTuple):
    """The true labels, and the file they came from where they did."""

    matrix: sp.csr_array
    contents: Contents | None = None
    path: Any = None
    names: LabelNames | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape

    def load_like(self, path: Any, *, same_instances: bool = True) -> Contents:
        """A file of the same labels, in the same order; and of the same instances, or of others."""
        from tailwise.datasets import load_contents, load_like

        if self.contents is not None:
            return load_like(path, self.contents, self.path, self.names, same_instances=same_instances)
        return load_contents(path, n_labels=self.shape[1])

    def widened(self, n_labels: int) -> Truth:
        """With as many labels, where the file lists fewer and does not say how many there are."""
        if self.contents is None or not self.contents.is_open or n_labels <= self.shape[1]:
            return self
        contents = self.contents.widened(n_labels, self.path)
        matrix = self.matrix.copy()
        matrix.resize(contents.matrix.shape)
        return self._replace(matrix=matrix, contents=contents)


def read_truth(truth: Any, label_names: Any = None) -> Truth:
    """The true labels as a canonical CSR without stored zeros."""
    if isinstance(truth, Chosen):
        msg = f"truth must be a 0/1 matrix of true labels. Got a {type(truth).__name__}. truth comes before selection."
        raise InputError(msg)
    if not isinstance(truth, (str, PathLike)):
        return Truth(_check_truth(truth))
    from tailwise.datasets import LabelNames, load_all_labels
    from tailwise.datasets.formats.read_write import as_labels

    names = LabelNames.of(label_names)
    contents = load_all_labels(truth, label_names=names)
    return Truth(_check_truth(as_labels(contents.matrix, truth)), contents, truth, names)


def _check_truth(truth: Any) -> sp.csr_array:
    csr = canonical_csr(truth, "truth")
    wrong = (csr.data != 0) & (csr.data != 1)
    if wrong.any():
        msg = (
            f"truth must hold only 0 and 1. Got {csr.data[wrong][0]:g}. "
            "Give the true labels, not probabilities or scores; truth > 0 makes counts 0 and 1."
        )
        raise InputError(msg)
    if (csr.data == 0).any():
        # A copy first: the arrays may be the user's own.
        csr = csr.copy()
        csr.eliminate_zeros()
    return csr


def read_selection(selection: Any, truth: Truth) -> tuple[Truth, Chosen]:
    """The chosen labels, for as many instances and labels as the true ones; both, for either may say how many."""
    if isinstance(selection, (str, PathLike)):
        selection = truth.load_like(selection).chosen(selection)
    if isinstance(selection, Chosen):
        truth = truth.widened(selection.n_labels)
    n, m = truth.shape
    return truth, Chosen.of(selection, m, n_instances=n, like="truth")


def read_priors(priors: Any, truth: Truth) -> LabelPriors | None:
    """The training frequencies of as many labels as the true ones, where given."""
    if priors is None:
        return None
    if isinstance(priors, (str, PathLike)):
        from tailwise.datasets.formats.prior_files import is_priors_file, load_priors
        from tailwise.datasets.formats.read_write import as_labels

        is_counted = is_priors_file(priors)
        if is_counted:
            priors = load_priors(priors)
        else:
            priors = as_labels(truth.load_like(priors, same_instances=False).matrix, priors)
    n_labels = truth.shape[1]
    label_priors = LabelPriors.from_labels(priors)
    if label_priors.n_labels != n_labels:
        msg = f"priors covers {label_priors.n_labels} labels, truth has {n_labels}. Give the priors of the same labels."
        raise InputError(msg)
    return label_priors


def read_probabilities(probabilities: Any, truth: Truth) -> Any:
    """The probabilities as they are given, or those of a file, for the instances and labels of the true ones."""
    if isinstance(probabilities, (str, PathLike)):
        return truth.load_like(probabilities).matrix
    return probabilities


def read_filter(filter: Any, truth: Truth) -> NDArray | None:
    """The pairs (instance, label) to leave out, as ascending numbers instance * m + label."""
    if filter is None:
        return None
    if isinstance(filter, (str, PathLike)):
        from tailwise.datasets.catalogue.filters import is_text_filter, load_filter, pairs_of

        filter = load_filter(filter) if is_text_filter(filter) else pairs_of(truth.load_like(filter).matrix)
    pairs = as_array(filter, "filter")
    if pairs.size == 0:
        return np.zeros(0, dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        msg = f"filter must be pairs (instance, label), an integer array of shape (pairs, 2). Got shape {pairs.shape}."
        raise InputError(msg)
    n, m = truth.shape
    for name, column, size in (("instance", pairs[:, 0], n), ("label", pairs[:, 1], m)):
        if column.min() < 0 or column.max() >= size:
            came = column.min() if column.min() < 0 else column.max()
            msg = f"filter must hold {name} numbers from 0 to {size - 1}. Got {came}. Is it of another data set?"
            raise InputError(msg)
    return np.unique(pairs[:, 0].astype(np.int64) * m + pairs[:, 1].astype(np.int64))


def left_out(truth: sp.csr_array, chosen: Chosen, keys: NDArray) -> tuple[sp.csr_array, Chosen]:
    """Both without the pairs of a filter; the labels chosen after one that goes move up."""
    n, m = truth.shape
    rows = np.repeat(np.arange(n, dtype=np.int64), np.diff(truth.indptr))
    kept = truth.copy()
    kept.data = np.where(np.isin(rows * m + truth.indices, keys), 0, truth.data)
    kept.eliminate_zeros()
    labels = chosen.labels
    is_out = np.isin(np.arange(n, dtype=np.int64)[:, None] * m + labels, keys) & (labels != EMPTY)
    fewer = Chosen.from_labels(np.where(is_out, EMPTY, labels), m)
    return kept, Chosen(fewer.labels, m, is_ranked=chosen.is_ranked)
