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
        self.postings = None if rows.sparse is None else _list_postings(rows.sparse)

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
        ordered, r, n = _by_level(sparse, postings), found.rows.shape[1], queries.n_rows
        longest, size = int(np.diff(ordered.indptr).max(initial=0)) + 1, postings.lengths.shape[1]

        def make_room() -> SearchRoom:
            sums, query, rests = (np.zeros(each, np.float32) for each in (size, sparse.shape[1], longest))
            return SearchRoom(
                sums, query, rests, np.zeros(longest, np.int64), np.zeros(r, np.float32), np.zeros(size, np.int32)
            )

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
            matrix, by_feature = as_matrix(queries.sparse), self.postings.by_feature
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


def _by_level(queries: sp.csr_array, postings: Postings) -> Matrix:
    """Return the queries with the features of few postings first."""
    rows = np.repeat(np.arange(queries.shape[0]), np.diff(queries.indptr))
    order = np.lexsort((np.diff(postings.by_feature.indptr)[queries.indices], rows))
    matrix = as_matrix(queries)
    return Matrix(matrix.indptr, matrix.columns[order], matrix.values[order])


def _list_postings(rows: sp.csr_array) -> Postings:
    n, by_feature = rows.shape[0], rows.tocsc()
    sizes = np.diff(by_feature.indptr).astype(np.int64)
    order = np.argsort(sizes, kind="stable")
    so_far = np.cumsum(sizes[order])
    levels = np.empty(sizes.size, np.uint8)
    levels[order] = np.minimum(np.maximum(so_far - 1, 0) * LEVELS // max(so_far[-1], 1), LEVELS - 1)
    lengths = np.zeros((LEVELS, -(-n // LANES) * LANES), np.float32)
    numbers, squares = np.repeat(np.arange(n), np.diff(rows.indptr)), np.square(rows.data, dtype=np.float64)
    of_entries = levels[rows.indices]
    above = np.zeros(n)
    for level in range(LEVELS - 1, -1, -1):
        here = of_entries == level
        above += np.bincount(numbers[here], squares[here], n)
        lengths[level, :n] = np.sqrt(above)
    typical = lengths[:, :n].mean(axis=1) if n else np.zeros(LEVELS, np.float32)
    return Postings(as_matrix(rows), as_matrix(by_feature), levels, typical, lengths)
