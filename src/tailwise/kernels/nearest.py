"""Nearest rows by inner product: postings of rare features first, until bounds leave few rows to compare in full.

Features are numbered by frequency, the most frequent is 0, and are in levels by the number of their postings. Without
the features of a level and those above, what a row can still gain is at most the length of the query on the features
left times the length of the row on them.
"""

from typing import NamedTuple

import numpy as np

from tailwise.kernels.compiling import bundle, kernel, part, step
from tailwise.kernels.lanes import LANES, any_above
from tailwise.kernels.node_training import Matrix

SLACK = np.float32(1e-5)  # more than single precision loses in a sum of products of unit rows
# Rows are compared when what a typical row can still gain is below the first number, and again at this part of it.
FIRST_CHECK, NEXT_CHECK = np.float32(0.06), np.float32(0.75)
PRODUCT_COST = 300  # postings that can be added while a row is fetched and compared, and the next level halves the rows
CHECK_COST = 10_000  # postings that can be added while the rows of the largest sums are compared
NONE, ZERO = -1, np.float32(0.0)


@bundle
class Postings(NamedTuple):
    """Unit rows, by row and by feature."""

    rows: Matrix  # with ascending features, so frequent ones come first
    by_feature: Matrix  # its columns are row numbers; empty for features with a column of their own
    columns: np.ndarray  # float32 (most frequent features, n rounded up to LANES)
    sizes: np.ndarray  # int64 (features,): what it costs to add a feature, in postings
    levels: np.ndarray  # uint8 (features,): higher for features with more postings
    typical: np.ndarray  # float32 (levels,): mean of the lengths
    lengths: np.ndarray  # float32 (levels, n rounded up to LANES): of each row on features of this level or higher


@bundle
class SearchRoom(NamedTuple):
    """Room of a thread."""

    sums: np.ndarray  # float32 (n rounded up to LANES,): products with the features so far
    query: np.ndarray  # float32 (features,): the query at hand, 0 between queries
    rests: np.ndarray  # float32 (longest query + 1,): length of the query on its first features
    left: np.ndarray  # int64 (longest query + 1,): postings of its first features
    heap: np.ndarray  # float32 (r,)
    listed: np.ndarray  # int32 (n rounded up to LANES,): rows to compare in full
    values: np.ndarray  # float32 (n rounded up to LANES,): their products


@step
def measure_rests(queries, first, last, postings, room):
    """The length of the query on its first features, and what it costs to add them, for each number of them."""
    squares, n_left = 0.0, 0
    room.rests[0], room.left[0] = 0.0, 0
    for e in range(first, last):
        v = np.float64(queries.values[e])
        squares += v * v
        n_left += postings.sizes[queries.columns[e]]
        room.rests[e + 1 - first], room.left[e + 1 - first] = np.sqrt(squares), n_left


@part
def product(rows, row, query):
    """The product of a row with the query, in double precision and always in the same order."""
    total = 0.0
    for e in range(rows.indptr[row], rows.indptr[row + 1]):
        total += np.float64(rows.values[e]) * query[np.uint32(rows.columns[e])]
    return total


@part
def rest_of_product(rows, row, query, n_left):
    """The product of a row with the query on the features below `n_left`."""
    total = ZERO
    for e in range(rows.indptr[row], rows.indptr[row + 1]):
        if rows.columns[e] >= n_left:
            break
        total += rows.values[e] * query[np.uint32(rows.columns[e])]
    return total


@step
def rth_largest(sums, heap, r):
    """The r-th largest positive sum; 0 if there are fewer."""
    heap[:r] = 0.0
    for start in range(0, sums.size, LANES):
        if any_above(sums, sums, start, ZERO, heap[0]):
            for x in range(start, start + LANES):
                if sums[x] > heap[0]:
                    sift(heap, r, sums[x])
    return heap[0]


@step
def sift(heap, r, value):
    """Replace the least number of a heap."""
    at = 0
    while 2 * at + 1 < r:
        child = 2 * at + 1
        if child + 1 < r and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= value:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = value


@step
def list_within(room, lengths, rest, least, most):
    """List the rows that can exceed a number; their count, or `most` + 1 as soon as there are more."""
    n, sums = 0, room.sums
    for start in range(0, sums.size, LANES):
        if not any_above(sums, lengths, start, rest, least):
            continue
        for x in range(start, start + LANES):
            if sums[x] + rest * lengths[x] > least:
                if n == most:
                    return most + 1
                room.listed[n] = x
                n += 1
    return n


@step
def finish_sums(postings, room, n_listed, n_left, r):
    """Add the features left to the sums of listed rows; the r-th largest of them, 0 if there are fewer."""
    room.heap[:r] = 0.0
    for x in range(n_listed):
        row = room.listed[x]
        value = room.sums[row] + rest_of_product(postings.rows, row, room.query, n_left)
        room.values[x] = value
        if value > room.heap[0]:
            sift(room.heap, r, value)
    return room.heap[0]


@step
def raise_least(postings, room, lengths, n_left, r, least):
    """A lower bound of the r-th largest product: the least one of r rows with the largest sums."""
    largest = rth_largest(room.sums, room.heap, r)
    n = list_within(room, lengths, ZERO, max(largest - SLACK, ZERO), 4 * r)
    if n < r or n > 4 * r:
        return least
    return max(least, finish_sums(postings, room, n, n_left, r))


@step
def keep_best(postings, room, n_listed, r, offset, rows, cosines):
    """Sort the r listed rows of largest product into a row of the result; ties by the smaller row number."""
    size = 0
    least = room.heap[0] - SLACK
    for x in range(n_listed):
        if room.values[x] < least:
            continue
        row = room.listed[x]
        value = product(postings.rows, row, room.query)
        if value <= 0.0 or (size == r and value <= cosines[r - 1]):
            continue
        at = min(size, r - 1)
        while at > 0 and cosines[at - 1] < value:
            rows[at], cosines[at] = rows[at - 1], cosines[at - 1]
            at -= 1
        rows[at], cosines[at] = row + offset, value
        size = min(size + 1, r)


@part
def add_postings(by_feature, f, v, sums):
    """Add a feature of the query to the sums of all rows that have it."""
    for s in range(by_feature.indptr[f], by_feature.indptr[f + 1]):
        sums[np.uint32(by_feature.columns[s])] += v * by_feature.values[s]


@step
def add_feature(postings, f, v, sums):
    """Add a feature of the query to the sums of all rows."""
    if f < postings.columns.shape[0]:
        column = postings.columns[f]
        for x in range(sums.size):
            sums[x] += v * column[x]
    else:
        add_postings(postings.by_feature, f, v, sums)


@step
def gather(queries, first, last, postings, room, r):
    """Add features, rare ones first, until few rows can be among the r nearest; list these, and finish their sums."""
    n = postings.rows.indptr.size - 1
    room.sums[:n] = 0.0
    room.sums[n:] = -2.0  # no rows
    least, limit = ZERO, FIRST_CHECK
    for e in range(last - 1, first, -1):
        f = queries.columns[e]
        add_feature(postings, f, queries.values[e], room.sums)
        level = postings.levels[queries.columns[e - 1]]
        rest, left = room.rests[e - first], room.left[e - first]
        gain = rest * postings.typical[level]
        if level == postings.levels[f] or gain > limit or left < n // 2 + CHECK_COST:
            continue
        limit = NEXT_CHECK * gain
        lengths = postings.lengths[level]
        least = raise_least(postings, room, lengths, f, r, least)
        most = left // PRODUCT_COST
        n_listed = list_within(room, lengths, rest, least - SLACK, most)
        if least > 0.0 and n_listed <= most:
            finish_sums(postings, room, n_listed, f, r)
            return n_listed
    if last > first:
        add_feature(postings, queries.columns[first], queries.values[first], room.sums)
    least = raise_least(postings, room, postings.lengths[0], 0, r, least)
    n_listed = list_within(room, postings.lengths[0], ZERO, least - SLACK, room.listed.size)
    finish_sums(postings, room, n_listed, 0, r)
    return n_listed


@kernel
def find_nearest(queries, postings, r, offset, room, found_rows, found_cosines, first, last):
    """Find the r rows of largest positive product with each query.

    Shapes: found_rows, found_cosines (queries, r), filled with NONE and 0.
    Reads: queries from `first` to before `last`, unit rows with ascending features.
    Writes: their rows of found_rows (plus `offset`) and found_cosines, best first, ties by the smaller row number.
    """
    for i in range(first, last):
        begin, end = queries.indptr[i], queries.indptr[i + 1]
        for e in range(begin, end):
            room.query[queries.columns[e]] = queries.values[e]
        measure_rests(queries, begin, end, postings, room)
        n_listed = gather(queries, begin, end, postings, room, r)
        keep_best(postings, room, n_listed, r, offset, found_rows[i], found_cosines[i])
        for e in range(begin, end):
            room.query[queries.columns[e]] = 0.0


@kernel
def add_products(queries, by_feature, scores, first, last):
    """Add the products of sparse queries and rows to scores, (queries, n), for queries from `first` to before `last`.

    Reads: queries, by_feature. Writes: rows of scores.
    """
    for i in range(first, last):
        for e in range(queries.indptr[i], queries.indptr[i + 1]):
            add_postings(by_feature, queries.columns[e], queries.values[e], scores[i])
