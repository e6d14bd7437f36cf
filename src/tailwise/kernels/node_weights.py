"""The weights of one parent's children together, by feature: a hash table from feature to (child, weight) entries.

A table is an array of slots (feature, first entry) and one more pair at its end; the entries of a slot end where those
of the next begin, and an empty slot (feature -1) has none. A feature is in the slot its hash points to or, where that
is taken, in the next free one.
"""

from typing import NamedTuple

import numpy as np

from tailwise.kernels.compiling import bundle, kernel, step

FEATURE, START = 0, 1
NO_FEATURE = -1
# Slots per feature: with this much room, a missing feature is recognised after about two looks.
SLOTS_NUMERATOR, SLOTS_DENOMINATOR = 8, 5


@bundle
class Weights(NamedTuple):
    """The tables of all parents, one after the other, in the order of the nodes; leaves have empty ones."""

    slot_starts: np.ndarray  # int64 (nodes + 1,)
    entry_starts: np.ndarray  # int64 (nodes + 1,)
    slots: np.ndarray  # int32 (all slots, 2): feature, first entry counted from the table's own first
    children: np.ndarray  # uint16 or int32 (entries,): which child, counted from the parent's first
    values: np.ndarray  # float32 (entries,)
    biases: np.ndarray  # float32 (nodes,)


@bundle
class Entries(NamedTuple):
    """Weights of the children of one parent, one after the other."""

    local_features: np.ndarray  # int32 (entries,): which feature, of those that the parent's instances have
    children: np.ndarray  # int32 (entries,): which child, counted from the parent's first
    values: np.ndarray  # float32 (entries,)


@step
def slot_of(feature, n_slots):
    """Where to look first: the product with 2^32 over the golden ratio scatters neighbours."""
    hashed = (np.uint64(feature) * np.uint64(2654435769)) & np.uint64(0xFFFFFFFF)
    return np.int64((hashed * np.uint64(n_slots)) >> np.uint64(32))


@step
def place_features(features, counts, slots, slot_of_local):
    """Put every feature with entries into a slot, its count in place of its start."""
    n_slots = slots.shape[0] - 1
    for s in range(n_slots + 1):
        slots[s, FEATURE], slots[s, START] = NO_FEATURE, 0
    for local in range(1, features.size):
        if counts[local] > 0:
            s = slot_of(features[local], n_slots)
            while slots[s, FEATURE] != NO_FEATURE:
                s = s + 1 if s + 1 < n_slots else 0
            slots[s, FEATURE], slots[s, START] = features[local], counts[local]
            slot_of_local[local] = s


@kernel
def keep_entries(table, first_child, n_children, threshold):
    """The weights of a block of children that are not below the threshold.

    Shapes: table float32 (local features, 16), the first feature is the bias and is left out.
    Returns: entries by feature, then child.
    """
    n_kept = 0
    for local in range(1, table.shape[0]):
        for lane in range(n_children):
            n_kept += abs(table[local, lane]) >= threshold
    entries = Entries(np.empty(n_kept, np.int32), np.empty(n_kept, np.int32), np.empty(n_kept, np.float32))
    x = 0
    for local in range(1, table.shape[0]):
        for lane in range(n_children):
            if abs(table[local, lane]) >= threshold:
                entries.local_features[x], entries.children[x] = local, first_child + lane
                entries.values[x] = table[local, lane]
                x += 1
    return entries


@kernel
def pack_children(entries, features):
    """The table of a parent from the weights of its children.

    Shapes: features int32 (local features,). Reads: entries, those of one feature in the order of their children.
    Returns: slots int32 (slots + 1, 2), children int32 (entries,), values float32 (entries,).
    """
    counts = np.zeros(features.size, np.int32)
    for local in entries.local_features:
        counts[local] += 1
    n_features = np.count_nonzero(counts)
    slots = np.empty((n_features * SLOTS_NUMERATOR // SLOTS_DENOMINATOR + 2, 2), np.int32)
    slot_of_local = np.empty(features.size, np.int32)
    place_features(features, counts, slots, slot_of_local)
    start = 0
    for s in range(slots.shape[0]):
        slots[s, START], start = start, start + slots[s, START]
    for local in range(features.size):
        if counts[local] > 0:
            counts[local] = slots[slot_of_local[local], START]  # from here on, where its next entry goes
    children, values = np.empty_like(entries.children), np.empty_like(entries.values)
    for e, local in enumerate(entries.local_features):
        children[counts[local]], values[counts[local]] = entries.children[e], entries.values[e]
        counts[local] += 1
    return slots, children, values


@step
def score_children(weights, parent, matrix, i, scores, found):
    """Add w.x of each child of a parent, for instance i of a matrix, to its score.

    Shapes: scores float32 (most children,); found int64 (longest row, 2). Writes: scores of the children, found.
    Nearly every look at a table waits for memory. The first loop does nothing but look, without a branch that depends
    on what it sees, so that the processor waits for many at once.
    """
    base = weights.slot_starts[parent]
    n_slots = weights.slot_starts[parent + 1] - base - 1
    first, last = matrix.indptr[i], matrix.indptr[i + 1]
    for x in range(first, last):
        s = base + slot_of(matrix.columns[x], n_slots)
        found[x - first, 0] = s
        found[x - first, 1] = weights.slots[s, FEATURE]
    entries = weights.entry_starts[parent]
    for x in range(first, last):
        s, feature = found[x - first, 0], found[x - first, 1]
        while feature != matrix.columns[x] and feature != NO_FEATURE:
            s = s + 1 if s + 1 < base + n_slots else base
            feature = weights.slots[s, FEATURE]
        found[x - first, 0] = entries + weights.slots[s, START]
        found[x - first, 1] = entries + weights.slots[s + 1, START]
    for x in range(first, last):
        for e in range(found[x - first, 0], found[x - first, 1]):
            scores[weights.children[e]] += matrix.values[x] * weights.values[e]


@kernel
def has_fault(weights, first_children):
    """Whether a table has no free slot, or names entries or children that it does not have.

    Assumes: slot_starts and entry_starts never fall and end at the sizes of slots and entries.
    """
    for node in range(first_children.size - 1):
        n_children = first_children[node + 1] - first_children[node]
        base, end = weights.slot_starts[node], weights.slot_starts[node + 1]
        n_entries = weights.entry_starts[node + 1] - weights.entry_starts[node]
        if n_children == 0:
            if end > base or n_entries > 0:
                return True
            continue
        if end - base < 2 or weights.slots[base, START] != 0 or weights.slots[end - 1, START] != n_entries:
            return True
        n_free = 0
        for s in range(base, end - 1):
            n_free += weights.slots[s, FEATURE] == NO_FEATURE
            if weights.slots[s, START] > weights.slots[s + 1, START]:
                return True
        if n_free == 0:
            return True
        for e in range(weights.entry_starts[node], weights.entry_starts[node + 1]):
            if weights.children[e] < 0 or weights.children[e] >= n_children:
                return True
    return False
