"""Selections in any supported form, converted to one padded array of labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import scipy.sparse as sp

from tailwise.errors import InputError
from tailwise.inputs.chosen_tables import labels_of, to_frame
from tailwise.inputs.lookups import find_row
from tailwise.inputs.matrices import as_array, as_indicator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.inputs.ids import Ids
    from tailwise.inputs.label_names import LabelNames

__all__ = ["EMPTY", "Chosen"]

EMPTY = -1


class Chosen:
    """The labels chosen for each instance.

    Attributes
    ----------
    labels : ndarray of int32, shape (n, k)
        One row per instance, padded at its end with :data:``EMPTY`` (-1) if it has fewer labels.
    n_labels : int
        Number of labels m.
    is_ranked : bool
        Whether the order within a row is meaningful (best first). A 0/1 matrix has no order.
    instance_ids, label_names : Ids, LabelNames or None
        The ids of the instances and labels, if known.
    """

    instance_ids: Ids | None = None
    label_names: LabelNames | None = None
    library = ""  # of the table that they were chosen from

    def __init__(self, labels: NDArray, n_labels: int, *, is_ranked: bool = True) -> None:
        self.labels = labels
        self.n_labels = int(n_labels)
        self.is_ranked = is_ranked

    @classmethod
    def of(
        cls,
        selection: Any,
        n_labels: int | None = None,
        *,
        n_instances: int | None = None,
        name: str = "selection",
        like: str = "the rest",
    ) -> Chosen:
        """Check and convert any supported form of a selection.

        Parameters
        ----------
        selection : Chosen, ndarray or sparse matrix
            A Selection; an integer array ``(n, k)`` of labels with -1 for an empty slot; or a 0/1 matrix ``(n, m)``,
            sparse, boolean, or integer if m is known.
        n_labels : int, optional
            Number of labels m. Required for an array of labels, checked for every other form.
        n_instances : int, optional
            Number of instances n, checked if given.
        name, like : str
            Names for error messages: of this parameter, and of the one that determines the sizes.
        """
        if isinstance(selection, Chosen):
            chosen = selection
        else:
            array = as_array(selection, name)
            if _is_indicator(array, n_labels, name):
                chosen = _from_indicator(array, name)
            else:
                chosen = cls.from_labels(array, n_labels, name=name)
        _check_sizes(chosen, n_instances, n_labels, name, like)
        return chosen

    @classmethod
    def from_labels(cls, labels: NDArray, n_labels: int | None, *, name: str = "selection") -> Chosen:
        """Check and convert an array that is known to hold labels; see :meth:`of`."""
        _check_labels(labels, n_labels, name)
        # Empty slots move to the end of their row; the other labels keep their order.
        order = np.argsort(labels == EMPTY, axis=1, kind="stable")
        labels = np.take_along_axis(labels, order, axis=1).astype(np.int32)
        _refuse_repeated(labels, name)
        assert n_labels is not None
        return Chosen(labels, n_labels)

    def with_ids(self, instance_ids: Ids | None, label_names: LabelNames | None, library: str = "") -> Chosen:
        """Return the same labels with these ids."""
        chosen = Chosen(self.labels, self.n_labels, is_ranked=self.is_ranked)
        chosen.instance_ids, chosen.label_names, chosen.library = instance_ids, label_names, library
        return chosen

    @property
    def n_instances(self) -> int:
        return self.labels.shape[0]

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_instances, self.n_labels

    def to_csr(self) -> sp.csr_array:
        """Return the selection as a 0/1 matrix of shape (n, m)."""
        used = self.labels != EMPTY
        ordered = np.sort(np.where(used, self.labels, np.iinfo(np.int32).max), axis=1)
        counts = used.sum(axis=1)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        indices = ordered[np.arange(self.labels.shape[1]) < counts[:, None]]
        return sp.csr_array((np.ones(indices.size, dtype=np.int8), indices, indptr), shape=self.shape)

    def to_frame(self, library: str | None = None) -> Any:
        """Return a table with a row for each label that was chosen.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, optional
            Default: the library that the input came from, else the first of these that is installed.

        Returns
        -------
        DataFrame or Table
            ``instance``, ``rank`` (1 for the best), ``label``, ``name`` (if labels have titles) and, for a Selection,
            ``probability`` and ``gain``. Instances and labels are ids of the type they came in, or numbers if they
            have no ids.
        """
        return to_frame(self, library or self.library, self._numbers_by_slot())

    def to_dict(self) -> dict[Any, list[Any]]:
        """Return the labels of each instance, best first; by ids, or by numbers if there are none."""
        instances = self.instance_ids or range(self.n_instances)
        return {instance: labels_of(self, row) for row, instance in enumerate(instances)}

    def __getitem__(self, instance: Any) -> list[Any]:
        """Return the labels of one instance, by its id, or by its number if there are no ids."""
        return labels_of(self, find_row(instance, self.n_instances, self.instance_ids))

    def __iter__(self) -> NoReturn:
        msg = (
            f"A {type(self).__name__} cannot be iterated over, which could mean instances or labels. Use "
            "to_dict().items() for ids, to_frame() for a table, or labels for an array."
        )
        raise TypeError(msg)

    def __repr__(self) -> str:
        n, k = self.labels.shape
        return f"Chosen({n:,} instances, at most {k} of {self.n_labels:,} labels)"

    def _numbers_by_slot(self) -> dict[str, NDArray | None]:
        """More columns of the table."""
        return {}


def _is_indicator(array: Any, n_labels: int | None, name: str) -> bool:
    """Whether an array is a 0/1 matrix rather than an array of labels; refuse what could be either."""
    if sp.issparse(array) or array.dtype == bool:
        return True
    is_wide = array.ndim == 2 and array.shape[1] == n_labels and array.dtype.kind in "iu" and array.size > 0
    if not is_wide or array.min() < 0 or array.max() > 1:
        return False
    # Three or more slots with only 0 and 1 in them would repeat a label, so they cannot be a ranking.
    m = array.shape[1]
    if m <= 2 and (np.sort(array, axis=1) == np.arange(m)).all():
        msg = (
            f"{name} is an integer array of 0 and 1 for {m} labels, which could be an array of labels or a 0/1 "
            "matrix. Give a 0/1 matrix as sparse or boolean; give an array of labels with an extra column of -1."
        )
        raise InputError(msg)
    return True


def _check_sizes(chosen: Chosen, n_instances: int | None, n_labels: int | None, name: str, like: str) -> None:
    sizes = (("instances", n_instances, chosen.n_instances), ("labels", n_labels, chosen.n_labels))
    wrong = [(what, size, came) for what, size, came in sizes if size is not None and size != came]
    if not wrong:
        return
    rule = " and ".join(f"{size} {what}" for what, size, _ in wrong)
    came = " and ".join(str(came) for _, _, came in wrong)
    is_transposed = chosen.shape == (n_labels, n_instances)
    remedy = " One of the two is transposed; use its transpose (.T)." if is_transposed else ""
    if not is_transposed and n_instances not in (None, chosen.n_instances):
        remedy = " Give the ids of both, to match them by id."
    msg = f"{name} must have the {rule} of {like}. Got {came}.{remedy}"
    raise InputError(msg)


def _from_indicator(matrix: Any, name: str) -> Chosen:
    remedy = "If these are probabilities, choose labels with select (tailwise select) first."
    csr = as_indicator(matrix, name, remedy)
    counts = np.diff(csr.indptr)
    labels = np.full((csr.shape[0], max(1, int(counts.max()))), EMPTY, dtype=np.int32)
    labels[np.arange(labels.shape[1]) < counts[:, None]] = csr.indices
    return Chosen(labels, csr.shape[1], is_ranked=False)


def _check_labels(labels: NDArray, n_labels: int | None, name: str) -> None:
    if labels.ndim != 2 or labels.dtype.kind not in "iu" or labels.size == 0:
        msg = (
            f"{name} must be an integer array of shape (n, k) or a 0/1 matrix (sparse or boolean). "
            f"Got shape {labels.shape} and dtype {labels.dtype}."
        )
        raise InputError(msg)
    if n_labels is None:
        msg = f"{name} is an array of labels, which does not determine the number of labels. Give n_labels."
        raise InputError(msg)
    if labels.min() < EMPTY or labels.max() >= n_labels:
        came = labels.min() if labels.min() < EMPTY else labels.max()
        msg = f"{name} must hold labels from 0 to {n_labels - 1}, or -1 for an empty slot. Got {came}."
        raise InputError(msg)


def _refuse_repeated(labels: NDArray, name: str) -> None:
    ordered = np.sort(labels, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != EMPTY)
    if twice.any():
        i, c = np.argwhere(twice)[0]
        came = f"Instance {i} holds label {ordered[i, c]} twice."
        remedy = " Give a 0/1 matrix as sparse or boolean." if labels.min() >= 0 and labels.max() <= 1 else ""
        msg = f"{name} must hold each label of an instance once. {came}{remedy}"
        raise InputError(msg)
