"""The candidates as kernels see them, by instance and by label; checks, sums and top k that read every entry once."""

from typing import NamedTuple

import numpy as np

from tailwise.kernels.compiling import bundle, kernel, part, step
from tailwise.kernels.top_k import LANES, bar_of_top, insert

# Room for ranges of sizes that wait: each halving leaves one.
STACK = 256
# Candidates for which phi is kept: more would take more memory than the cache of a core has.
MOST_KEPT = 2048


@bundle
class Rows(NamedTuple):
    """CSR rows of (label, probability), labels ascending within a row."""

    indptr: np.ndarray  # int64 (n + 1,)
    labels: np.ndarray  # int32 (nnz,)
    values: np.ndarray  # float32 or float64 (nnz,)


@kernel
def find_odd_probability(values, smallest):
    """Position of the first value that is neither 0 nor from smallest to 1 (NaN included), or -1."""
    n_bad = 0
    for x in range(values.size):  # counts them all: without an early exit the loop is vectorised
        n_bad += not ((values[x] >= smallest or values[x] == 0.0) and values[x] <= 1.0)
    if n_bad == 0:
        return -1
    x = 0
    while (values[x] >= smallest or values[x] == 0.0) and values[x] <= 1.0:
        x += 1
    return x


@kernel
def find_disorder(indptr, labels):
    """Position of the first label not above its left neighbour in the same row, or -1."""
    n_falls = 0
    for x in range(np.uint64(1), np.uint64(labels.size)):  # over all rows at once, which is vectorised
        n_falls += labels[x] <= labels[x - np.uint64(1)]
    for i in range(1, indptr.size - 1):
        x = indptr[i]
        n_falls -= 0 < x < labels.size and indptr[i - 1] < x and labels[x] <= labels[x - 1]
    if n_falls == 0:
        return -1
    for i in range(indptr.size - 1):
        for x in range(indptr[i] + 1, indptr[i + 1]):
            if labels[x] <= labels[x - 1]:
                return x
    return -1


@step
def _sort_between(labels, values, start, stop):
    """Sort the entries of a row by label: Shell's sort, which needs no memory and is quick for short rows."""
    gap = np.int64(1)
    while 3 * gap < stop - start:
        gap = 3 * gap + 1
    while gap > 0:
        for x in range(start + gap, stop):
            label, value, y = labels[x], values[x], x
            while y - gap >= start and labels[y - gap] > label:
                labels[y], values[y] = labels[y - gap], values[y - gap]
                y -= gap
            labels[y], values[y] = label, value
        gap //= 3


@kernel
def sort_row_labels(indptr, labels, values, first, last):
    """Sort the entries of the rows from first to last - 1 by label.

    Shapes: indptr (n + 1,), labels (nnz,), values (nnz,).
    Reads: indptr. Writes: labels, values.
    """
    for i in range(first, last):
        _sort_between(labels, values, indptr[i], indptr[i + 1])


@part
def find_label(labels, start, stop, label):
    """The first place from start to stop whose label is not below this one."""
    while start < stop:
        middle = (start + stop) // 2
        if labels[middle] < label:
            start = middle + 1
        else:
            stop = middle
    return start


@part
def part_of_row(rows, i, first, last, n_labels):
    """Where the labels first to last, of all n, stand in row i."""
    start, stop = rows.indptr[i], rows.indptr[i + 1]
    if first > 0:
        start = find_label(rows.labels, start, stop, first)
    if last < n_labels:
        stop = find_label(rows.labels, start, stop, last)
    return start, stop


@kernel
def sum_by_label(rows, sums, first, last):
    """Add up the probabilities of each label from first to last, in the order of the rows.

    Shapes: sums (m,). Writes: sums, on top of what it holds. Assumes: labels ascend within each row.
    """
    labels, values = rows.labels, rows.values
    for i in range(rows.indptr.size - 1):
        start, stop = part_of_row(rows, i, first, last, sums.size)
        for x in range(np.uint64(start), np.uint64(stop)):
            sums[np.uint32(labels[x])] += values[x]


@kernel
def survey_labels(rows, largest, sizes, first, last):
    """The largest probability of each label from first to last, and the number of its candidates.

    Shapes: largest, sizes (m,). Writes: both, on top of what they hold. Assumes: labels ascend within each row.
    """
    labels, values = rows.labels, rows.values
    for i in range(rows.indptr.size - 1):
        start, stop = part_of_row(rows, i, first, last, sizes.size)
        for x in range(np.uint64(start), np.uint64(stop)):
            j = np.uint32(labels[x])
            largest[j] = max(largest[j], values[x])
            sizes[j] += 1


@kernel
def pick_entries(rows, positions, labels, values, first, last):
    """The labels that instances first to last have, and their probabilities, close together in memory.

    Shapes: positions, labels, values (n, k), positions within the row, -1 for none. Writes: labels, values; -1 and 0
    for none.
    """
    for i in range(first, last):
        for c in range(positions.shape[1]):
            x = rows.indptr[i] + positions[i, c]
            has_label = positions[i, c] >= 0
            labels[i, c] = rows.labels[x] if has_label else -1
            values[i, c] = rows.values[x] if has_label else 0.0


@kernel
def find_positions(rows, labels, positions):
    """Where each label of a selection stands in its row of candidates.

    Shapes: labels, positions (n, k). Writes: positions, -1 for an empty slot or a label that is no candidate.
    """
    for i in range(labels.shape[0]):
        row = rows.labels[rows.indptr[i] : rows.indptr[i + 1]]
        for c in range(labels.shape[1]):
            x = np.searchsorted(row, labels[i, c])
            positions[i, c] = x if x < row.size and row[x] == labels[i, c] else -1


@bundle
class Excluded(NamedTuple):
    """Pairs of instance and label that must not be selected; without pairs, indptr is (1,)."""

    indptr: np.ndarray  # int64 (n + 1,)
    labels: np.ndarray  # int32 (pairs,), ascending within a row
    is_barred: np.ndarray  # bool (m,): labels that are excluded for all instances; empty if there are none


@step
def is_excluded(excluded, i, j):
    if excluded.is_barred.size > 0 and excluded.is_barred[j]:
        return True
    if i + 1 >= excluded.indptr.size:
        return False
    first, last = excluded.indptr[i], excluded.indptr[i + 1]
    end = last
    while first < last:
        middle = (first + last) // 2
        if excluded.labels[middle] < j:
            first = middle + 1
        else:
            last = middle
    return first < end and excluded.labels[first] == j


@kernel
def mark_excluded(indptr, labels, excluded, marks):
    """Which labels are excluded for their instance.

    Shapes: labels, marks (nnz,), labels from indptr[i] to indptr[i + 1] being of instance i, negative ones of none.
    Writes: marks.
    """
    for i in range(indptr.size - 1):
        for x in range(indptr[i], indptr[i + 1]):
            marks[x] = labels[x] >= 0 and is_excluded(excluded, i, labels[x])


@bundle
class Columns(NamedTuple):
    """CSC columns of (instance, place in its row, probability), instances ascending within a column."""

    indptr: np.ndarray  # int64 (m + 1,)
    instances: np.ndarray  # int32 (nnz,)
    positions: np.ndarray  # uint16 (nnz,), or int32 where rows are longer than that can tell
    values: np.ndarray  # float32 or float64 (nnz,)


@kernel
def scatter(rows, ends, columns, first, last):
    """Put the candidates of labels first to last into the columns, of those labels that have room there.

    Shapes: ends (m,), where each column starts. Writes: columns, except for indptr; ends. Assumes: room for all
    candidates of a label, or for none.
    """
    instances, positions, values = columns.instances, columns.positions, columns.values
    for i in range(rows.indptr.size - 1):
        start, stop = part_of_row(rows, i, first, last, ends.size)
        for x in range(start, stop):
            j = rows.labels[x]
            if columns.indptr[j] < columns.indptr[j + 1]:
                y = ends[j]
                instances[y] = i
                positions[y] = x - rows.indptr[i]
                values[y] = rows.values[x]
                ends[j] = y + 1


@bundle
class Workbench(NamedTuple):
    """Room for the candidates of one label; each thread has its own."""

    instances: np.ndarray  # int32 (largest column,)
    places: np.ndarray  # int64: where they stand in the columns
    values: np.ndarray  # float64: probabilities
    logs: np.ndarray  # float64: log 1/(1-e), for coverage
    prices: np.ndarray  # float64
    net: np.ndarray  # float64: h(e) - price
    spare: np.ndarray  # float64
    is_member: np.ndarray  # bool: of the set that is looked at
    is_best: np.ndarray  # bool: of the best set so far
    ranges: np.ndarray  # float64 (STACK, 6): what is still to be searched, see kernels/workbench.py
    found: np.ndarray  # float64 (8,): see kernels/workbench.py
    weights: np.ndarray  # float64 (R,): of the nodes, for sets of some size
    powers: np.ndarray  # float64 (R,)
    phis: np.ndarray  # float64 (R, MOST_KEPT): phi of every candidate at the nodes of a block


def make_workbench(largest_column, n_nodes):
    """Room for the candidates of the largest column, and for nodes."""
    c = max(1, largest_column)
    return Workbench(
        np.empty(c, np.int32),
        np.empty(c, np.int64),
        np.empty(c),
        np.empty(c),
        np.empty(c),
        np.empty(c),
        np.empty(c),
        np.empty(c, np.bool_),
        np.empty(c, np.bool_),
        np.empty((STACK, 6)),
        np.empty(8),
        np.empty(n_nodes),
        np.empty(n_nodes),
        np.empty((n_nodes, min(c, MOST_KEPT))),
    )


@part
def take_largest(numbers, first, last, budget, i, gains, lanes, chosen):
    """Put the positions, from `first` on, of the largest numbers into row i of chosen, best first.

    Only lanes (every 16th number) that reach the first bar are looked at.
    """
    size, bar = 0, bar_of_top(numbers, first, last, budget, lanes)
    for y in range(min(LANES, last - first)):
        if budget > LANES or lanes[y] >= bar:
            for x in range(first + y, last, LANES):
                if not numbers[x] < bar:  # so that slots are taken even by what is no number
                    insert(gains, chosen, i, size, budget, np.float64(numbers[x]), np.int32(x - first))
                    size = min(size + 1, budget)
                    bar = numbers[first + chosen[i, budget - 1]] if size == budget else bar


@part
def fill_lines(rows, slopes, offsets, i, lines):
    """Write slope_j * eta + offset_j of the candidates of instance i; returns how many there are."""
    labels, values, start = rows.labels, rows.values, np.uint64(rows.indptr[i])
    size = rows.indptr[i + 1] - rows.indptr[i]
    for x in range(np.uint64(size)):
        j = np.uint32(labels[start + x]) if slopes.size > 1 else np.uint32(0)
        lines[x] = slopes[j] * values[start + x] + offsets[j]
    return size


@step
def select_rows(rows, slopes, offsets, budgets, gains, lanes, lines, line_lanes, chosen, first, last):
    is_plain = slopes.size == 1 and slopes[0] == 1.0 and offsets[0] == 0.0
    for i in range(first, last):
        if budgets[i] > 0 and is_plain:  # no arithmetic
            take_largest(rows.values, rows.indptr[i], rows.indptr[i + 1], budgets[i], i, gains, lanes, chosen)
        elif budgets[i] > 0:
            size = fill_lines(rows, slopes, offsets, i, lines)
            take_largest(lines, 0, size, budgets[i], i, gains, line_lanes, chosen)
        for c in range(budgets[i], chosen.shape[1]):
            chosen[i, c] = -1


@kernel
def select_by_line(rows, slopes, offsets, budgets, chosen, first, last):
    """For each instance from first to last the labels of largest slope_j * eta + offset_j.

    Shapes: slopes, offsets (m,), or (1,) for all labels alike; budgets (n,), at most the row's size; chosen (n, k).
    Writes: chosen, positions within the row, best first, -1 after the budget.
    """
    longest = 0
    for i in range(first, last):
        longest = max(longest, rows.indptr[i + 1] - rows.indptr[i])
    gains, lanes = np.empty(chosen.shape[1]), np.empty(LANES, rows.values.dtype)
    lines, line_lanes = np.empty(longest), np.empty(LANES)
    select_rows(rows, slopes, offsets, budgets, gains, lanes, lines, line_lanes, chosen, first, last)
