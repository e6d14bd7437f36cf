"""Candidates of several models, joined row by row and described for the regression that stacks them; the best kept."""

import numpy as np

from tailwise.kernels.compiling import kernel, part, step
from tailwise.kernels.top_k import kth_largest

NO_LABEL = 2**31 - 1
RUN = 32  # values that are sorted by insertion, before such runs are merged
FEW = 256  # values for each of which the larger ones are counted, many at once, instead


@part
def next_label(cursors, ends, labels):
    """The smallest label that any member has left; NO_LABEL if none has."""
    best = NO_LABEL
    for member in range(cursors.size):
        if cursors[member] < ends[member]:
            best = min(best, labels[cursors[member]])
    return best


@kernel
def join_rows(starts, labels, values, cursors, found_starts, found_labels, found_values):
    """Join the candidates of members, with the value that each of them gives to a pair, 0 for none.

    Shapes: starts int64 (members, n + 1), into labels int32 and values float32 (entries,) of all members, with
    ascending labels in each row; cursors int64 (members,); found_starts int64 (n + 1,); found_labels (entries,);
    found_values (members, entries), all 0. Writes: what is found, the number of pairs in found_starts[n].
    """
    n_found = 0
    found_starts[0] = 0
    for i in range(starts.shape[1] - 1):
        cursors[:] = starts[:, i]
        label = next_label(cursors, starts[:, i + 1], labels)
        while label != NO_LABEL:
            for member in range(cursors.size):
                at = cursors[member]
                if at < starts[member, i + 1] and labels[at] == label:
                    found_values[member, n_found] = values[at]
                    cursors[member] += 1
            found_labels[n_found] = label
            n_found += 1
            label = next_label(cursors, starts[:, i + 1], labels)
        found_starts[i + 1] = n_found


@step
def sort_run(values, order, first, last):
    """Sort places of values in order[first:last] by value, the largest first; equal ones stay as they are."""
    for y in range(first + 1, last):
        x, at = order[y], y
        while at > first and values[order[at - 1]] < values[x]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = x


@step
def merge_runs(values, order, first, middle, last, room):
    """Merge order[first:middle] and order[middle:last], both sorted; `room` is overwritten at the same places."""
    left, right = first, middle
    for y in range(first, last):
        if right == last or (left < middle and values[order[left]] >= values[order[right]]):
            room[y] = order[left]
            left += 1
        else:
            room[y] = order[right]
            right += 1
    for y in range(first, last):
        order[y] = room[y]


@step
def count_larger(kept, n, order, first, ranks):
    """Rank the first n of kept values, which stand at the places of order, by counting those before each of them."""
    for y in range(n):
        value, rank = kept[y], np.int32(0)
        for z in range(np.uint64(y)):
            rank += np.int32(kept[z] >= value)
        for z in range(np.uint64(y + 1), np.uint64(n)):
            rank += np.int32(kept[z] > value)
        ranks[order[y] - first] = rank


@step
def sort_and_rank(values, n_sorted, order, first, ranks):
    """Rank the first n_sorted places of order by their values."""
    for y in range(0, n_sorted, RUN):
        sort_run(values, order, y, min(y + RUN, n_sorted))
    size = RUN
    while size < n_sorted:
        for y in range(0, n_sorted - size, 2 * size):
            merge_runs(values, order, y, y + size, min(y + 2 * size, n_sorted), ranks)
        size *= 2
    for rank in range(n_sorted):
        ranks[order[rank] - first] = rank


@step
def rank_values(values, first, last, order, kept, ranks):
    """Rank a row by value, the largest first, ties by position; zeros come last and need no sorting."""
    n_sorted = 0
    for x in range(first, last):
        if values[x] > 0.0:
            order[n_sorted], kept[n_sorted] = x, values[x]
            n_sorted += 1
    if n_sorted <= FEW:
        count_larger(kept, n_sorted, order, first, ranks)
    else:
        sort_and_rank(values, n_sorted, order, first, ranks)
    for x in range(first, last):
        if not values[x] > 0.0:
            ranks[x - first] = n_sorted
            n_sorted += 1


@part
def logit(p, least):
    """Log odds of a probability that is kept away from 0 and 1."""
    kept = min(max(np.float64(p), least), 1.0 - least)
    return np.log(kept / (1.0 - kept))


@kernel
def describe_rows(starts, labels, values, log_counts, log_ranks, least, order, kept, ranks, inputs):
    """Describe pairs: logit, log rank and log row sum of each member; log frequency of the label, logit of the mean.

    Shapes: starts int64 (n + 1,), labels (pairs,), values (members, pairs), as `join_rows` finds them; log_counts
    float64 (labels,); log_ranks float64 (longest row,), log(1 + rank); order, ranks int64 and kept float32 (longest
    row,), for the kernel's own use; inputs float64 (pairs, 3 * members + 2). Writes: inputs.
    """
    n_members, lowest = values.shape[0], logit(0.0, least)
    for i in range(starts.size - 1):
        first, last = starts[i], starts[i + 1]
        for member in range(n_members):
            rank_values(values[member], first, last, order, kept, ranks)
            total = 0.0
            for x in range(first, last):
                total += values[member, x]
            log_total = np.log(total + 0.1)
            for x in range(first, last):
                inputs[x, 3 * member] = logit(values[member, x], least) if values[member, x] > 0.0 else lowest
                inputs[x, 3 * member + 1] = log_ranks[ranks[x - first]]
                inputs[x, 3 * member + 2] = log_total
        for x in range(first, last):
            mean = 0.0
            for member in range(n_members):
                mean += values[member, x]
            inputs[x, 3 * n_members] = log_counts[labels[x]]
            inputs[x, 3 * n_members + 1] = logit(mean / n_members, least)


@kernel
def keep_top_entries(starts, columns, values, top, room, found_starts, found_columns, found_values):
    """Keep the `top` largest entries of each row; ties go to the earlier ones.

    Shapes: starts (n + 1,), columns, values (entries,); room float32 (longest row,), for the kernel's own use;
    found_starts int64 (n + 1,); found_columns, found_values (entries,). Writes: what is found.
    """
    n_found = 0
    found_starts[0] = 0
    for i in range(starts.size - 1):
        first, last = starts[i], starts[i + 1]
        least, n_ties = np.float32(-np.inf), last - first
        if last - first > top:
            room[: last - first] = values[first:last]
            least = kth_largest(room, last - first, top)
            n_ties = top
            for x in range(first, last):
                n_ties -= values[x] > least
        for x in range(first, last):
            is_tie = values[x] == least
            if values[x] > least or (is_tie and n_ties > 0):
                n_ties -= is_tie
                found_columns[n_found] = columns[x]
                found_values[n_found] = values[x]
                n_found += 1
        found_starts[i + 1] = n_found
