"""The nearest training rows of queries by cosine: rows of length 1, by row and by feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tailwise.engines import Threads
from tailwise.kernels.lanes import WIDE
from tailwise.kernels.nearest import NONE, STEP, STRIPS, HeadQueries, Postings, SearchRoom, add_products, find_nearest
from tailwise.kernels.node_training import Matrix
from tailwise.models.job_sharing import share_jobs

HEAD_SHARE = 8  # a feature of more than this part of the rows is a head
MOST_CODE, TINY = 255, 1e-30
# Sums of factors and codes must not exceed 16 bits often: the length of a query on heads is scaled to this.
MOST_SUM = 220
BLOCK, MOST_ROWS = 8192, 2**16  # rows of a block that stays in the cache; rows that 16 bits can number
MOST_QUERIES = 2048  # of a job: each block is fetched once for all of them
LISTED, MOST_LISTED = 4, 2**22  # rows listed for each neighbour wanted; rows listed for all queries of a job
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
        self._is_signed = False  # whether a value is negative
        self._step_error = 0.0  # the largest change of a value by rounding
        if rows.sparse is not None:
            data = rows.sparse.data
            self._is_signed = bool(data.min(initial=0.0) < 0.0)
            self._step_error = float(np.abs(_count_steps(data) * STEP - data).max(initial=0.0))
            self.numbers = _number_features(rows.sparse)
            self.postings = _list_postings(_renumber(rows.sparse, self.numbers), is_alone=rows.dense is None)

    def search(self, queries: UnitRows, r: int, offset: int, threads: Threads) -> Nearest:
        """Find the r rows of largest positive cosine with each query; `offset` is added to row numbers."""
        found = Nearest(np.full((queries.n_rows, r), NONE, np.int32), np.zeros((queries.n_rows, r)))
        if queries.dense is None:
            self._search_postings(queries, found, threads)
        else:
            self._search_scores(queries, found, threads)
        found.rows[found.rows != NONE] += offset
        return found

    def _search_postings(self, queries: UnitRows, found: Nearest, threads: Threads) -> None:
        postings, sparse = self.postings, queries.sparse
        assert postings is not None
        assert sparse is not None
        ordered, (n, r) = as_matrix(_renumber(sparse, self.numbers)), found.rows.shape
        slacks, n_each = _measure_slacks(ordered, self._step_error), _share_queries(n, r, threads.workers)
        is_signed = self._is_signed or ordered.values.min(initial=0.0) < 0.0
        heads = _scale_heads(ordered, postings.tops, slacks, -slacks if is_signed else np.zeros_like(slacks))

        def work(first: int, room: SearchRoom) -> None:
            find_nearest(ordered, heads, postings, room, *found, first, min(n, first + n_each))

        share_jobs(
            threads, range(0, n, n_each), lambda: _make_room(postings, ordered, sparse.shape[1], n_each, r), work
        )

    def _search_scores(self, queries: UnitRows, found: Nearest, threads: Threads) -> None:
        """Score all rows in single precision, blocks of queries at a time, and the best rows once more in double."""
        block = max(1, MOST_SCORES // max(1, self.rows.n_rows))
        for first in range(0, queries.n_rows, block):
            part = queries.take(slice(first, first + block))
            scores, slacks = self._score(part, threads)
            for i, row in enumerate(scores):
                near = _list_best(row, found.rows.shape[1], slacks[i])
                cosines = self._cosines(part, i, near)
                best = np.lexsort((near, -cosines))[: found.rows.shape[1]]
                best = best[cosines[best] > 0.0]
                found.rows[first + i, : best.size] = near[best]
                found.cosines[first + i, : best.size] = cosines[best]

    def _score(self, queries: UnitRows, threads: Threads) -> tuple[NDArray, NDArray]:
        """Return products of queries with all rows, and more than twice their error."""
        assert queries.dense is not None
        assert self.rows.dense is not None
        scores = np.ascontiguousarray(queries.dense @ self.rows.dense.T)
        if queries.sparse is None or self.postings is None:
            return scores, np.full(queries.n_rows, SLACK)
        matrix, postings = as_matrix(_renumber(queries.sparse, self.numbers)), self.postings
        threads.split(
            queries.n_rows,
            lambda first, last: add_products(matrix, postings, _ranges_of(matrix), scores, first, last),
        )
        return scores, _measure_slacks(matrix, self._step_error)

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


def _list_best(scores: NDArray, r: int, slack: float) -> NDArray:
    """List the rows that may be among the r best."""
    if scores.size <= r:
        return np.arange(scores.size)
    return np.flatnonzero(scores >= np.partition(scores, scores.size - r)[scores.size - r] - slack)


def _number_features(rows: sp.csr_array) -> NDArray:
    """Number the features by frequency, the most frequent first."""
    order = np.argsort(-np.bincount(rows.indices, minlength=rows.shape[1]), kind="stable")
    numbers = np.empty(order.size, np.int32)
    numbers[order] = np.arange(order.size)
    return numbers


def _renumber(rows: sp.csr_array, numbers: NDArray | None) -> sp.csr_array:
    """Return rows with other numbers of the features, ascending in each row."""
    assert numbers is not None
    renumbered = sp.csr_array((rows.data, numbers[rows.indices], rows.indptr), shape=rows.shape)
    return renumbered.tocsc().tocsr()  # which sorts in linear time


def _list_postings(rows: sp.csr_array, *, is_alone: bool) -> Postings:
    """List the postings of rows with numbered features; frequent ones are heads if no dense features are added."""
    n, sizes = rows.shape[0], np.bincount(rows.indices, minlength=rows.shape[1])
    n_heads = min(int((sizes * HEAD_SHARE > n).sum()), MOST_ROWS) if is_alone else 0
    n_used = int((sizes > 0).sum())
    n_left = rows.nnz - int(sizes[:n_heads].sum())
    size = _size_block(n, n_used, n_left)
    n_blocks = -(-n // size)
    starts, block_starts = np.zeros((n_blocks, n_used + 1), np.int32), np.zeros(n_blocks, np.int64)
    packed, n_filled = np.empty(n_left, np.int32), 0
    is_head, tops = rows.indices < n_heads, np.zeros(n_heads, np.float32)
    np.maximum.at(tops, rows.indices[is_head], np.abs(rows.data[is_head]))
    heads = _pack(rows.data[is_head], rows.indices[is_head])
    head_starts = np.concatenate([[0], np.cumsum(is_head)])[rows.indptr]
    codes = np.zeros((n_blocks, size // WIDE, n_heads, WIDE), np.uint8)
    for block in range(n_blocks):
        part = rows[block * size : (block + 1) * size]
        codes[block] = _encode_heads(part[:, :n_heads], tops, size)
        by_feature = part[:, n_heads:n_used].tocsc()
        last = n_filled + by_feature.nnz
        packed[n_filled:last] = _pack(by_feature.data, by_feature.indices)
        starts[block, n_heads:], block_starts[block] = by_feature.indptr, n_filled
        n_filled = last
    groups = codes.reshape(n_blocks * size // WIDE, n_heads, WIDE)
    return Postings(as_matrix(rows), block_starts, starts, packed, tops, head_starts, heads, groups)


def _pack(values: NDArray, numbers: NDArray) -> NDArray:
    """Return values in steps times 2**16, plus numbers below that."""
    return _count_steps(values).astype(np.int32) * 2**16 + numbers.astype(np.int32, copy=False)


def _count_steps(values: NDArray) -> NDArray:
    """Round values to steps, but none to zero: the bound of a row is above zero where its product is."""
    steps = np.rint(values / STEP)
    return np.where(steps == 0.0, np.sign(values), steps)


def _encode_heads(rows: sp.csr_array, tops: NDArray, size: int) -> NDArray:
    """Return absolute values as bytes, (groups, heads, WIDE), rounded up."""
    codes = np.zeros((size, tops.size), np.uint8)
    shares = np.abs(rows.data) / np.maximum(tops[rows.indices], TINY)
    codes[np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr)), rows.indices] = _round_up(shares * MOST_CODE)
    return codes.reshape(size // WIDE, WIDE, tops.size).transpose(0, 2, 1)


def _scale_heads(queries: Matrix, tops: NDArray, slacks: NDArray, floors: NDArray) -> HeadQueries:
    """Return the heads of queries in whole numbers, rounded up."""
    starts = queries.indptr[:-1]
    is_head = queries.columns < tops.size
    before = np.concatenate([[0], np.cumsum(is_head)])
    counts = before[queries.indptr[1:]] - before[starts]
    numbers = np.repeat(np.arange(starts.size), counts)
    values = np.abs(queries.values[is_head]).astype(np.float64)
    worths = values * tops[queries.columns[is_head]]
    largest = np.full(starts.size, TINY)
    np.maximum.at(largest, numbers, worths)
    lengths = np.sqrt(np.bincount(numbers, values**2, starts.size))
    scales = np.minimum(MOST_CODE / largest, MOST_SUM / np.maximum(lengths, TINY))
    factors = np.zeros(queries.columns.size, np.uint16)
    factors[is_head] = _round_up(worths * scales[numbers])
    units = (1 / (scales * MOST_CODE)).astype(np.float32)
    return HeadQueries(starts + counts, factors, units, slacks, floors)


def _measure_slacks(queries: Matrix, step_error: float) -> NDArray:
    """Return more than twice what rounding postings to steps, and sums in single precision, change in products."""
    numbers = np.repeat(np.arange(queries.indptr.size - 1), np.diff(queries.indptr))
    sizes = np.bincount(numbers, np.abs(queries.values), queries.indptr.size - 1)
    return (2 * step_error * sizes + SLACK).astype(np.float32)


def _ranges_of(queries: Matrix) -> NDArray:
    """Return room for the postings of a query."""
    return np.zeros((int(np.diff(queries.indptr).max(initial=0)), 2), np.int64)


def _make_room(postings: Postings, queries: Matrix, n_features: int, n_queries: int, r: int) -> SearchRoom:
    block, n_listed = postings.codes.shape[0] * WIDE // max(1, postings.starts.shape[0]), LISTED * r + WIDE
    sums, bounds, maxima, query = (np.zeros(size, np.float32) for size in (block, block, block // STRIPS, n_features))
    heaps, values = (np.zeros((n_queries, size), np.float32) for size in (r, n_listed))
    sizes, listed = np.zeros(n_queries, np.int64), np.zeros((n_queries, n_listed), np.int32)
    return SearchRoom(_ranges_of(queries), sums, bounds, maxima, query, heaps, sizes, listed, values)


def _round_up(numbers: NDArray) -> NDArray:
    """Round up to whole numbers of at most a byte; those that exceed it by rounding errors, too."""
    return np.minimum(np.ceil(numbers), MOST_CODE)


def _share_queries(n: int, r: int, workers: int) -> int:
    """Choose the queries of a job, so that all threads get as many jobs."""
    most = max(1, min(MOST_QUERIES, MOST_LISTED // (LISTED * r)))
    return max(1, -(-n // (workers * max(1, -(-n // (workers * most))))))


def _size_block(n: int, n_features: int, n_postings: int) -> int:
    """Choose the rows of a block: few, so that they stay in the cache, but not many blocks of few postings."""
    size = min(BLOCK, -(-max(n, 1) // WIDE) * WIDE)
    while size < min(n, MOST_ROWS) and -(-n // size) * n_features > n_postings:
        size *= 2
    return size
