"""The contents of a file in any format, as returned by readers and passed to writers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tailwise.datasets.formats.disk import input_errors_of
from tailwise.errors import FileError, InputError
from tailwise.inputs.chosen import EMPTY, Chosen
from tailwise.inputs.ids import Ids
from tailwise.inputs.label_names import LabelNames
from tailwise.inputs.matrices import build_csr

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Contents", "ranks_of"]


@dataclass(frozen=True, eq=False)
class Contents:
    """The parts of a file; None for parts that it does not have.

    Attributes
    ----------
    matrix : csr_array of shape (n, m)
        Labels (ones), probabilities or scores; canonical.
    features : csr_array of shape (n, d) or None
        The features of the same instances.
    ranking : ndarray of shape (n, k) or None
        The labels of each instance, best first, with -1 for an empty slot; as stored in the file, not checked.
    ranks : ndarray of int32, shape (nnz,) or None
        The rank of each entry of ``matrix`` within its row, 0 for the best; another way to store a ranking.
    scores : ndarray of shape (nnz,) or None
        For a selection, whose matrix holds ones: the score of each entry, for formats that list labels with scores.
    label_names, instance_names : LabelNames, Ids, or None
        The names of the columns, and the ids of the rows; a tuple or list of these is converted.
    is_open : bool
        Whether there may be more labels than columns, because the file lists labels without stating their number.
    messages : tuple of str
        Which columns of a file were read, if they have names other than instance, label and probability.
    repeated : str
        The first pair that a file without values lists several times; it counts once, but not in a selection.
    """

    matrix: sp.csr_array
    features: sp.csr_array | None = None
    ranking: NDArray | None = None
    ranks: NDArray | None = None
    scores: NDArray | None = None
    label_names: LabelNames | None = None
    instance_names: Ids | None = None
    is_open: bool = False
    messages: tuple[str, ...] = ()
    repeated: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "instance_names", Ids.of(self.instance_names))

    def widened(self, n_labels: int | None, source: Any) -> Contents:
        """Extend to `n_labels` columns if the file does not state the number of labels."""
        n, m = self.matrix.shape
        if n_labels is None or not self.is_open or self.label_names is not None:
            return self
        if m > n_labels:
            msg = f"{source} must hold labels below {n_labels}, the number of labels. Got {m - 1}."
            raise FileError(msg)
        matrix = self.matrix
        wide = build_csr(matrix.data, matrix.indices, matrix.indptr, (n, n_labels))
        return replace(self, matrix=wide, is_open=False)

    def renumbered(self, names: LabelNames, source: Any) -> Contents:
        """Put the labels in the order of `names`, matching them by name."""
        if self.label_names is None or np.array_equal(self.label_names.values, names.values):
            return replace(self, label_names=names)
        numbers = names.positions_of(self.label_names)
        is_missing = (numbers < 0) & (np.bincount(self.matrix.indices, minlength=numbers.size) > 0)
        if is_missing.any():
            came = self.label_names.ids[int(np.argmax(is_missing))]
            msg = f"{source} must only use the {len(names):,} label names given. Got {came!r}. Add the missing names."
            raise FileError(msg)
        rows = np.repeat(np.arange(self.matrix.shape[0]), np.diff(self.matrix.indptr))
        columns = numbers[self.matrix.indices]
        order = np.lexsort((columns, rows))
        shape = self.matrix.shape[0], len(names)
        matrix = build_csr(self.matrix.data[order], columns[order], self.matrix.indptr, shape)
        ranks = None if self.ranks is None else self.ranks[order]
        return replace(self, matrix=matrix, ranks=ranks, ranking=None, label_names=names, is_open=False)

    def in_order_of(self, names: Ids | None, source: Any) -> Contents:
        """Put the instances in the order of `names`, matching them by name; unchanged if either has no names."""
        if self.instance_names is None or names is None or self.instance_names == names:
            return self
        try:
            rows = self.instance_names.positions_of(names.check_unique())
        except InputError:
            rule = f"{source} and the file it is used with must list each instance once. One of them repeats a name."
        else:
            if (rows >= 0).all():
                return self.at_rows(rows)
            missing = names[int(np.argmax(rows < 0))]
            rule = f"{source} must list the same instances as the file it is used with. {missing!r} is missing."
        msg = f"{rule} Write both files for the same instances."
        raise FileError(msg)

    def at_rows(self, rows: NDArray) -> Contents:
        """Return these rows, in this order."""
        counts = np.diff(self.matrix.indptr)[rows]
        starts = np.concatenate([[0], np.cumsum(counts)])[:-1]
        entries = np.repeat(self.matrix.indptr[rows] - starts, counts) + np.arange(counts.sum())
        return replace(
            self,
            matrix=self.matrix[rows],
            features=None if self.features is None else self.features[rows],
            ranking=None if self.ranking is None else self.ranking[rows],
            ranks=None if self.ranks is None else self.ranks[entries],
            scores=None if self.scores is None else self.scores[entries],
            instance_names=None if self.instance_names is None else self.instance_names.take(rows),
        )

    def ranked(self, source: Any) -> Contents:
        """Fill in ``ranks`` of a selection that has only a ``ranking``, so that every writer keeps the order."""
        if self.ranking is None or self.ranks is not None or (self.matrix.data != 1).any():
            return self
        return replace(self, ranks=ranks_of(self._chosen(source)))

    def chosen(self, source: Any) -> Chosen:
        """Return the contents as a selection, ranked if the file stores an order."""
        return self._chosen(source).with_ids(self.instance_names, self.label_names)

    def _chosen(self, source: Any) -> Chosen:
        if self.repeated:
            msg = f"{source} must hold each label of an instance once. {self.repeated} Remove the duplicates first."
            raise FileError(msg)
        with input_errors_of():
            if self.ranks is not None:
                return Chosen(self.ranked_labels(), self.matrix.shape[1])
            unranked = Chosen.of(self.matrix, name=f"the selection in {source}")
            if self.ranking is None:
                return unranked
            ranked = Chosen.from_labels(self.ranking, self.matrix.shape[1], name=f"labels in {source}")
        if ranked.shape != unranked.shape or (ranked.to_csr() != unranked.to_csr()).nnz:
            msg = (
                f"{source} must hold the same selection in its matrix and in its array 'labels'. They differ. "
                "Write it again."
            )
            raise FileError(msg)
        return ranked

    @property
    def values(self) -> NDArray:
        """The score of each entry, for formats that list labels with scores."""
        return self.matrix.data if self.scores is None else self.scores

    def ranked_labels(self) -> NDArray:
        """Return the labels of each row in the order of ``ranks``, as an array (n, k) padded with -1."""
        assert self.ranks is not None
        counts = np.diff(self.matrix.indptr)
        labels = np.full((counts.size, max(1, int(counts.max()))), EMPTY, dtype=np.int32)
        labels[np.repeat(np.arange(counts.size), counts), self.ranks] = self.matrix.indices
        return labels

    def best_first(self) -> NDArray:
        """Return the positions of the entries, row by row and best first: by rank, or by value and then label."""
        matrix = self.matrix
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        if self.ranks is not None:
            return np.lexsort((self.ranks, rows))
        return np.lexsort((matrix.indices, -self.values.astype(np.float64), rows))

    def rows(self, first: int, last: int) -> Contents:
        """Return the instances from first to last - 1."""
        return self.at_rows(np.arange(first, min(last, self.matrix.shape[0])))


def ranks_of(chosen: Chosen) -> NDArray:
    """Return the rank of each entry of the matrix of a ranked selection."""
    is_used = chosen.labels != EMPTY
    rows, places = np.nonzero(is_used)
    return places[np.lexsort((chosen.labels[is_used], rows))].astype(np.int32)
