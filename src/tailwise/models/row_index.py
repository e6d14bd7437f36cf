"""The nearest training rows of queries by cosine: rows of length 1, by row and by feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tailwise.engines import Threads
from tailwise.kernels.lanes import LANES
from tailwise.kernels.nearest import NONE, Postings, SearchRoom, add_products, find_nearest
from tailwise.kernels.node_training import Matrix
from tailwise.models.job_sharing import share_jobs

LEVELS = 16
LEAST_SHARE = 5  # a feature of more than a fifth of the rows has a column, which is added this much faster:
COLUMN_SPEED = 10  # numbers of a column for each posting
CHUNK = 32  # queries of a job
MOST_SCORES = 2**24  # of a block of queries and all rows
SLACK = 1e-4  # more than single precision loses in a product of rows of length 1


class Nearest(NamedTuple):
    """The nearest training rows of each query, best first; ties by the smaller row number."""

    rows: NDArray  # int32 (n, r), padded with -1
    cosines: NDArray  # float64 (n, r), padded with 0


@dataclass(frozen=True, eq=False)
class UnitRows:
    """Rows whose product is their cosine: sparse ones, dense ones, or both, then each part has its share of length."""

    sparse: sp.csr_array | None  # float32, canonical
    dense: NDArray | None  # float32 (n, d)

    @property
    def n_rows(self) -> int:
        part = self.dense if self.sparse is None else self.sparse
        assert part is not None
        return part.shape[0]

    def take(self, rows: slice) -> UnitRows:
        """Return some rows."""
        return UnitRows(
            None if self.sparse is None else self.sparse[rows], None if self.dense is None else self.dense[rows]
        )

    @staticmethod
    def stack(parts: list[UnitRows]) -> UnitRows:
        """Return the rows of all parts, one below the other."""
        sparse = None if parts[0].sparse is None else sp.csr_array(sp.vstack([p.sparse for p in parts], format="csr"))
        return UnitRows(sparse, None if parts[0].dense is None else np.concatenate([p.dense for p in parts]))


class RowIndex:
    """Training rows, and their postings if they are sparse."""

    def __init__(self, rows: UnitRows) -> None:
        self.rows = rows
        self.numbers: NDArray | None = None  # of features, by frequency
        self.postings: Postings | None = None
        if rows.sparse is not None:
            self.numbers = _number_features(rows.sparse)
            self.postings = _list_postings(_renumber(rows.sparse, self.numbers), is_alone=rows.dense is None)

    def search(self, queries: UnitRows, r: int, offset: int, threads: Threads) -> Nearest:
        """Find the r rows of largest positive cosine with each query; `offset` is added to row numbers."""
        found = Nearest(np.full((queries.n_rows, r), NONE, np.int32), np.zeros((queries.n_rows, r)))
        if queries.dense is None:
            self._search_postings(queries, found, offset, threads)
        else:
            self._search_scores(queries, found, offset, threads)
        return found

    def _search_postings(self, queries: UnitRows, found: Nearest, offset: int, threads: Threads) -> None:
        postings, sparse = self.postings, queries.sparse
        assert postings is not None
        assert sparse is not None
        ordered, r, n = as_matrix(_renumber(sparse, self.numbers)), found.rows.shape[1], queries.n_rows
        longest, size = int(np.diff(ordered.indptr).max(initial=0)) + 1, postings.lengths.shape[1]

        def make_room() -> SearchRoom:
            sums, query, rests = (np.zeros(each, np.float32) for each in (size, sparse.shape[1], longest))
            left, listed = np.zeros(longest, np.int64), np.zeros(size, np.int32)
            return SearchRoom(sums, query, rests, left, np.zeros(r, np.float32), listed, np.zeros(size, np.float32))

        def work(first: int, room: SearchRoom) -> None:
            find_nearest(ordered, postings, r, offset, room, *found, first, min(n, first + CHUNK))

        share_jobs(threads, range(0, n, CHUNK), make_room, work)

    def _search_scores(self, queries: UnitRows, found: Nearest, offset: int, threads: Threads) -> None:
        """Score all rows in single precision, blocks of queries at a time, and the best rows once more in double."""
        block = max(1, MOST_SCORES // max(1, self.rows.n_rows))
        for first in range(0, queries.n_rows, block):
            part = queries.take(slice(first, first + block))
            scores = self._score(part, threads)
            for i, row in enumerate(scores):
                near = _list_best(row, found.rows.shape[1])
                cosines = self._cosines(part, i, near)
                best = np.lexsort((near, -cosines))[: found.rows.shape[1]]
                best = best[cosines[best] > 0.0]
                found.rows[first + i, : best.size] = near[best] + offset
                found.cosines[first + i, : best.size] = cosines[best]

    def _score(self, queries: UnitRows, threads: Threads) -> NDArray:
        assert queries.dense is not None
        assert self.rows.dense is not None
        scores = np.ascontiguousarray(queries.dense @ self.rows.dense.T)
        if queries.sparse is not None and self.postings is not None:
            matrix, by_feature = as_matrix(_renumber(queries.sparse, self.numbers)), self.postings.by_feature
            threads.split(queries.n_rows, lambda first, last: add_products(matrix, by_feature, scores, first, last))
        return scores

    def _cosines(self, queries: UnitRows, i: int, near: NDArray) -> NDArray:
        """Compute cosines of a query with some rows in double precision."""
        assert queries.dense is not None
        assert self.rows.dense is not None
        cosines = np.einsum("ij,j->i", self.rows.dense[near].astype(np.float64), queries.dense[i].astype(np.float64))
        if queries.sparse is not None and self.rows.sparse is not None:
            own = self.rows.sparse[near].astype(np.float64)
            cosines += own @ queries.sparse[[i]].astype(np.float64).toarray()[0]
        return cosines


def merge_nearest(parts: list[Nearest]) -> Nearest:
    """Return the nearest rows of several indexes, whose row numbers ascend from part to part."""
    if len(parts) == 1:
        return parts[0]
    r = max(part.rows.shape[1] for part in parts)
    rows, cosines = (np.concatenate(each, axis=1) for each in zip(*parts, strict=True))
    order = np.argsort(-cosines, axis=1, kind="stable")[:, :r]
    return Nearest(np.take_along_axis(rows, order, axis=1), np.take_along_axis(cosines, order, axis=1))


def as_matrix(csr: sp.csr_array) -> Matrix:
    """Return the arguments of kernels."""
    return Matrix(csr.indptr.astype(np.int64), csr.indices.astype(np.int32, copy=False), csr.data)


def _list_best(scores: NDArray, r: int) -> NDArray:
    """List the rows that may be among the r best."""
    if scores.size <= r:
        return np.arange(scores.size)
    return np.flatnonzero(scores >= np.partition(scores, scores.size - r)[scores.size - r] - SLACK)


def _number_features(rows: sp.csr_array) -> NDArray:
    """Number the features by frequency, the most frequent first."""
    order = np.argsort(-np.bincount(rows.indices, minlength=rows.shape[1]), kind="stable")
    numbers = np.empty(order.size, np.int32)
    numbers[order] = np.arange(order.size)
    return numbers


def _renumber(rows: sp.csr_array, numbers: NDArray | None) -> sp.csr_array:
    """Return rows with other numbers of the features, ascending in each row."""
    assert numbers is not None
    renumbered = sp.csr_array((rows.data.copy(), numbers[rows.indices], rows.indptr), shape=rows.shape)
    renumbered.has_sorted_indices = False
    renumbered.sort_indices()
    return renumbered


def _list_postings(rows: sp.csr_array, *, is_alone: bool) -> Postings:
    """List the postings of rows with numbered features; frequent ones get columns if no dense features are added."""
    n, by_feature = rows.shape[0], rows.tocsc()
    width, sizes = -(-n // LANES) * LANES, np.diff(by_feature.indptr).astype(np.int64)
    n_columns = int((sizes * LEAST_SHARE > n).sum()) if is_alone else 0
    columns = np.zeros((n_columns, width), np.float32)
    columns[:, :n] = by_feature[:, :n_columns].toarray().T
    costs = np.concatenate([np.full(n_columns, width // COLUMN_SPEED), sizes[n_columns:]])
    levels, lengths = _measure_levels(rows, sizes)
    typical = lengths[:, :n].mean(axis=1) if n else np.zeros(LEVELS, np.float32)
    others = _without_first(by_feature, n_columns)
    return Postings(as_matrix(rows), as_matrix(others), columns, costs, levels, typical, lengths)


def _without_first(by_feature: sp.csc_array, n_columns: int) -> sp.csc_array:
    """Return the columns of a matrix as they are, but the first ones empty."""
    left = by_feature[:, n_columns:]
    indptr = np.concatenate([np.zeros(n_columns, left.indptr.dtype), left.indptr])
    return sp.csc_array((left.data, left.indices, indptr), shape=by_feature.shape)


def _measure_levels(rows: sp.csr_array, sizes: NDArray) -> tuple[NDArray, NDArray]:
    """Return the level of each feature, and the length of each row on features of a level and those above."""
    n, before = rows.shape[0], np.cumsum(sizes[::-1])[::-1] - sizes  # postings of rarer features
    levels = np.minimum(before * LEVELS // max(int(sizes.sum()), 1), LEVELS - 1).astype(np.uint8)
    lengths = np.zeros((LEVELS, -(-n // LANES) * LANES), np.float32)
    numbers, squares = np.repeat(np.arange(n), np.diff(rows.indptr)), np.square(rows.data, dtype=np.float64)
    of_entries, above = levels[rows.indices], np.zeros(n)
    for level in range(LEVELS - 1, -1, -1):
        here = of_entries == level
        above += np.bincount(numbers[here], squares[here], n)
        lengths[level, :n] = np.sqrt(above)
    return levels, lengths
