"""Nearest rows by inner product: blocks of rows that stay in the cache, and frequent features as bytes.

Features are numbered by frequency, the most frequent is 0. The first ones are heads: each row has a byte for each of
them, rounded up. Other features have postings in each block of rows. A block is compared with many queries before the
next one is fetched: postings are added to the sums of its rows, bytes of heads are added up for 64 rows at a time, and
rows whose sum of both, an upper bound, exceeds the nearest rows so far are listed with their products. In the first
block, the rows of the largest bounds come first, as they rule out most others. In the end, the products of listed rows
are computed once more in double precision.
"""

from typing import NamedTuple

import numpy as np

from tailwise.kernels.compiling import bundle, kernel, part, step
from tailwise.kernels.lanes import WIDE, lowest_bit, mask_above, mask_reaching, prefetch
from tailwise.kernels.node_training import Matrix
from tailwise.kernels.top_k import kth_largest

STEP = np.float32(1 / 32767)  # values of postings are rounded to such steps, but none to 0
NONE = -1
LINE = 16  # numbers of four bytes that are fetched at once
STRIPS = 16  # that a block is cut into; rows at the same place of all strips are compared


@bundle
class Postings(NamedTuple):
    """Unit rows, by row and by feature."""

    rows: Matrix  # with ascending features, so frequent ones come first
    block_starts: np.ndarray  # int64 (blocks,): the first posting of each block
    starts: np.ndarray  # int32 (blocks, features that occur + 1): postings of a feature, counted from there
    packed: (
        np.ndarray
    )  # int32 (postings,): the value in STEPs times 2**16, plus the row, counted from the block's first
    tops: np.ndarray  # float32 (heads,): the largest absolute value of each
    head_starts: np.ndarray  # int64 (rows + 1,)
    heads: np.ndarray  # int32 (entries of heads,): by row, the value in STEPs times 2**16, plus the number of the head
    codes: np.ndarray  # uint8 (groups of WIDE rows, heads, WIDE): absolute values in parts of 255 of tops, rounded up


@bundle
class HeadQueries(NamedTuple):
    """Heads of queries in whole numbers: the sum of factors times codes, times the unit, is at least their product."""

    splits: np.ndarray  # int64 (queries,): where the features of a query begin that are no heads
    factors: np.ndarray  # uint16 (features of all queries,), at most 255
    units: np.ndarray  # float32 (queries,)
    slacks: np.ndarray  # float32 (queries,): more than twice the error of a product with rounded postings
    floors: np.ndarray  # float32 (queries,): bounds of rows without a positive product are not above; 0 if none is < 0


@bundle
class SearchRoom(NamedTuple):
    """Room of a thread, for a number of queries at a time."""

    ranges: np.ndarray  # int64 (longest query, 2): postings of its features
    sums: np.ndarray  # float32 (rows of a block,): products without heads
    bounds: np.ndarray  # float32 (rows of a block,): at least the whole products
    maxima: np.ndarray  # float32 (rows of a block / STRIPS,): the largest bound at each place of the strips
    query: np.ndarray  # float32 (features,): the query at hand, 0 between queries
    heaps: np.ndarray  # float32 (queries, r): largest products so far, the least first
    sizes: np.ndarray  # int64 (queries,): rows listed
    listed: np.ndarray  # int32 (queries, more than 2 r): rows that may be among the nearest
    values: np.ndarray  # float32 (queries, as many): their products, within the slack


@part
def add_postings(queries, first, last, postings, block, ranges, sums):
    """Add features of a query to the sums of the rows of a block that have them."""
    starts, base, n = postings.starts[block], postings.block_starts[block], 0
    packed = postings.packed[base:]  # once, not for each posting: a write to sums might change what postings hold
    for e in range(first, last):
        f = np.uint32(queries.columns[e])
        if f >= starts.size - 1:
            break  # this feature and all later ones do not occur
        ranges[n, 0], ranges[n, 1] = starts[f], starts[f + np.uint32(1)]  # looked up before, so that none waits
        prefetch(packed, starts[f])
        n += 1
    for x in range(n):
        v = queries.values[first + x] * STEP
        for s in range(np.uint64(ranges[x, 0]), np.uint64(ranges[x, 1])):
            posting = packed[s]
            sums[np.uint16(posting)] += v * np.float32(posting >> 16)


@part
def write_query(queries, first, last, query):
    """Write some values of a query to the places of their features."""
    for e in range(first, last):
        query[queries.columns[e]] = queries.values[e]


@part
def clear_query(queries, first, last, query):
    """Write zeros to the places of some features of a query."""
    for e in range(first, last):
        query[queries.columns[e]] = 0.0


@part
def product(rows, row, query):
    """The product of a row with the query, in double precision and always in the same order."""
    total = 0.0
    for e in range(np.uint64(rows.indptr[row]), np.uint64(rows.indptr[row + 1])):
        total += np.float64(rows.values[e]) * query[np.uint32(rows.columns[e])]
    return total


@part
def head_term(entry, query):
    """What one head of a row adds to the product, in STEPs."""
    return query[np.uint16(entry)] * np.float32(entry >> 16)


@part
def head_product(postings, row, query):
    """The product of a row with the query on heads, as four sums that do not wait for each other."""
    heads, a, b, c, d = postings.heads, np.float32(0.0), np.float32(0.0), np.float32(0.0), np.float32(0.0)
    first, last = np.uint64(postings.head_starts[row]), np.uint64(postings.head_starts[row + 1])
    whole = last - (last - first) % np.uint64(4)
    for e in range(first, whole, np.uint64(4)):
        a += head_term(heads[e], query)
        b += head_term(heads[e + np.uint64(1)], query)
        c += head_term(heads[e + np.uint64(2)], query)
        d += head_term(heads[e + np.uint64(3)], query)
    for e in range(whole, last):
        a += head_term(heads[e], query)
    return ((a + b) + (c + d)) * STEP


@step
def sift(heap, value):
    """Replace the least number of a heap."""
    at = 0
    while 2 * at + 1 < heap.size:
        child = 2 * at + 1
        if child + 1 < heap.size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= value:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = value


@step
def drop_far(at, slack, room):
    """Drop listed rows that cannot be among the nearest; returns the number of the others."""
    n, least = 0, room.heaps[at, 0] - slack
    for x in range(room.sizes[at]):
        if room.values[at, x] >= least:
            room.listed[at, n], room.values[at, n] = room.listed[at, x], room.values[at, x]
            n += 1
    room.sizes[at] = n
    return n


@step
def fetch_listed(at, rows, room):
    """Begin to fetch the listed rows all at once, as each may be anywhere in memory."""
    for x in range(room.sizes[at]):
        first, last = rows.indptr[room.listed[at, x]], rows.indptr[room.listed[at, x] + 1]
        for e in range(first, last, LINE):
            prefetch(rows.columns, e)
            prefetch(rows.values, e)


@part
def is_nearer(value, row, other_value, other_row):
    """Whether a row comes before another one; ties by the smaller row."""
    return value > other_value or (value == other_value and row < other_row)


@step
def keep_nearest(queries, i, at, heads, postings, room, rows, cosines):
    """Sort the listed rows of largest product into rows and cosines, (r,); ties by the smaller row; their number.

    Assumes: the heads of the query are in room.query, and nothing else.
    """
    r, size, n_listed = cosines.size, 0, drop_far(at, heads.slacks[i], room)
    fetch_listed(at, postings.rows, room)
    write_query(queries, heads.splits[i], queries.indptr[i + 1], room.query)
    for x in range(n_listed):
        row = room.listed[at, x]
        value = product(postings.rows, row, room.query)
        if value <= 0.0 or (size == r and not is_nearer(value, row, cosines[r - 1], rows[r - 1])):
            continue
        place = min(size, r - 1)
        while place > 0 and is_nearer(value, row, cosines[place - 1], rows[place - 1]):
            rows[place], cosines[place] = rows[place - 1], cosines[place - 1]
            place -= 1
        rows[place], cosines[place] = row, value
        size = min(size + 1, r)
    clear_query(queries, heads.splits[i], queries.indptr[i + 1], room.query)
    return size


@step
def make_place(queries, i, at, heads, postings, room, rows, cosines):
    """Drop rows from a full list: those that cannot be among the nearest, or, if these are few, all but r rows."""
    if 2 * drop_far(at, heads.slacks[i], room) > room.listed.shape[1]:
        n = keep_nearest(queries, i, at, heads, postings, room, rows, cosines)
        for x in range(n):
            room.listed[at, x], room.values[at, x] = rows[x], cosines[x]
        room.sizes[at] = n


@step
def list_row(queries, i, at, heads, row, value, postings, room, rows, cosines):
    """Add a row to those listed for a query."""
    if room.sizes[at] == room.listed.shape[1]:
        make_place(queries, i, at, heads, postings, room, rows, cosines)
    room.listed[at, room.sizes[at]], room.values[at, room.sizes[at]] = row, value
    room.sizes[at] += 1
    if value > room.heaps[at, 0]:
        sift(room.heaps[at], value)


@step
def find_bar(bounds, maxima, r):
    """A number that at least r of the bounds reach, and usually few more; infinity if r is large."""
    for y in range(maxima.size):
        maxima[y] = -np.inf
    for start in range(np.uint64(0), np.uint64(bounds.size), np.uint64(maxima.size)):
        for y in range(np.uint64(maxima.size)):
            maxima[y] = max(maxima[y], bounds[start + y])
    return kth_largest(maxima, maxima.size, r) if r <= maxima.size else np.float32(np.inf)


@step
def list_marked(queries, i, at, heads, postings, first_row, start, left, least, room, rows, cosines):
    """List those of 64 rows that are marked by a bit and may be among the nearest; returns what others must exceed."""
    n_rows = postings.rows.indptr.size - 1
    while left != np.uint64(0):
        place = start + lowest_bit(left)
        left &= left - np.uint64(1)
        if first_row + place >= n_rows:
            break
        if room.bounds[place] > least:
            value = room.sums[place] + head_product(postings, first_row + place, room.query)
            if value > least:
                list_row(queries, i, at, heads, first_row + place, value, postings, room, rows, cosines)
                least = max(room.heaps[at, 0] - heads.slacks[i], heads.floors[i])
    return least


@step
def list_first(queries, i, at, heads, postings, size, least, room, rows, cosines):
    """List rows of the first block: before all others those of the largest bounds, which rule out most of them."""
    bar = find_bar(room.bounds, room.maxima, cosines.size)
    for start in range(0, size, WIDE):
        left = mask_reaching(room.bounds, start, bar)
        least = list_marked(queries, i, at, heads, postings, 0, start, left, least, room, rows, cosines)
    for start in range(0, size, WIDE):
        left = mask_reaching(room.bounds, start, least) & ~mask_reaching(room.bounds, start, bar)
        least = list_marked(queries, i, at, heads, postings, 0, start, left, least, room, rows, cosines)


@step
def list_block(queries, i, at, heads, postings, block, room, rows, cosines):
    """List the rows of a block that may be among the nearest."""
    first_row, n_rows = block * room.sums.size, postings.rows.indptr.size - 1
    first, last, unit = queries.indptr[i], heads.splits[i], heads.units[i]
    size = min(room.sums.size, n_rows - first_row)
    least = max(room.heaps[at, 0] - heads.slacks[i], heads.floors[i])
    write_query(queries, first, last, room.query)
    for start in range(0, size, WIDE):
        codes = postings.codes[(first_row + start) // WIDE]
        left = mask_above(
            queries.columns, heads.factors, first, last, codes, room.sums, start, unit, least, room.bounds
        )
        if block > 0:
            least = list_marked(queries, i, at, heads, postings, first_row, start, left, least, room, rows, cosines)
    if block == 0:
        list_first(queries, i, at, heads, postings, size, least, room, rows, cosines)
    clear_query(queries, first, last, room.query)


@kernel
def find_nearest(queries, heads, postings, room, found_rows, found_cosines, first, last):
    """Find the r rows of largest positive product with each query.

    Shapes: found_rows, found_cosines (queries, r), filled with NONE and 0.
    Reads: queries from `first` to before `last`, unit rows with ascending features.
    Writes: their rows of found_rows and found_cosines, best first, ties by the smaller row number.
    """
    room.heaps[:] = 0.0
    room.sizes[:] = 0
    for block in range(postings.starts.shape[0]):
        for i in range(first, last):
            room.sums[:] = 0.0
            add_postings(queries, heads.splits[i], queries.indptr[i + 1], postings, block, room.ranges, room.sums)
            list_block(queries, i, i - first, heads, postings, block, room, found_rows[i], found_cosines[i])
    for i in range(first, last):
        write_query(queries, queries.indptr[i], heads.splits[i], room.query)
        keep_nearest(queries, i, i - first, heads, postings, room, found_rows[i], found_cosines[i])
        clear_query(queries, queries.indptr[i], heads.splits[i], room.query)


@kernel
def add_products(queries, postings, ranges, scores, first, last):
    """Add the products of sparse queries and rows to scores, for queries from `first` to before `last`.

    Shapes: scores (queries, n); ranges int64 (longest query, 2), for the kernel's own use; postings without heads.
    Reads: queries, postings. Writes: rows of scores.
    """
    n_blocks = postings.starts.shape[0]
    size = postings.codes.shape[0] * WIDE // max(n_blocks, 1)
    for block in range(n_blocks):
        for i in range(first, last):
            sums = scores[i, block * size : (block + 1) * size]
            add_postings(queries, queries.indptr[i], queries.indptr[i + 1], postings, block, ranges, sums)
