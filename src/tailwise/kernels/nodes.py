"""Exact expectations by nodes: totals per label and node, and the gain of one more instance.

For a label, E[psi] is a sum over nodes r of one of two forms (docs/mathematics/exact.md),

    linear    W_r D_r^q * sum over S of phi_r(e),    phi_r(e) = e / (1 - e + e d_r)
    product   t * prod over S of D_r / (1 - e + e D_r), times a constant                     (Jaccard)

where W_r holds the generating function of the label's positives, which does not depend on the selection. The first
`n_plain` columns of the linear form take e as it is, the others 1 - e (negatives, for balanced accuracy).
"""

from typing import NamedTuple

import numpy as np

from tailwise.kernels.compiling import bundle, kernel, part, reordering_step, step
from tailwise.kernels.lanes import prefetch
from tailwise.kernels.rows import part_of_row

# Rows of Nodes.linear: decay D, weight W D^q, sum of phi (only where it is needed); and base d, unless it is the decay.
# Rows of Nodes.product: decay D, the product.
DECAY, WEIGHT, SUM = range(3)
PRODUCT = 1
# With more labels than this, what is kept of one is fetched before it is needed; with fewer, most is in the caches, and
# fetching would only cost.
MANY_LABELS = 1 << 16
# Candidates from one whose nodes are being fetched to one that is being counted, and numbers that a fetch brings.
AHEAD, NUMBERS_IN_LINE = 12, 8


@bundle
class Nodes(NamedTuple):
    linear: np.ndarray  # float64 (places, 2 to 4, R)
    product: np.ndarray  # float64 (places, 2, R')
    largest: np.ndarray  # float64 (m,): the largest probability of the label
    n_plain: int
    base: int  # the row of linear with the bases: DECAY where they are the decays
    places: np.ndarray  # int32 (m,): the place of each label, -1 where its nodes give nothing; (0,) where not kept
    placed_for: np.ndarray  # float64 (m,): how often each label was to be selected; (0,) where that is not kept
    blank: np.ndarray  # float64 (places, R + R'): weights and products with nothing selected; (0, 0) where not kept


@part
def phi(e, base):
    return e / (1.0 - e + e * base)


@reordering_step
def linear_gain(nodes, place, e, first, last):
    """What the nodes first to last of the linear form gain with one more instance."""
    linear = nodes.linear
    gain = 0.0
    for r in range(first, last):
        total = linear[place, SUM, r] + phi(e, linear[place, nodes.base, r])
        gain += linear[place, WEIGHT, r] * (linear[place, DECAY, r] * total - linear[place, SUM, r])
    return gain


@reordering_step
def linear_own_gain(nodes, place, e, first, last):
    linear = nodes.linear
    gain = 0.0
    for r in range(first, last):
        total = linear[place, SUM, r] - phi(e, linear[place, nodes.base, r])
        gain += linear[place, WEIGHT, r] * (linear[place, SUM, r] - total / linear[place, DECAY, r])
    return gain


@step
def product_value(nodes, place, t, e, count):
    """t times the sum of the products, with one instance more (count 1), less (-1), or as it is; t is the new one."""
    products = nodes.product
    total = 0.0
    for r in range(products.shape[2]):
        factor = products[place, DECAY, r] / (1.0 - e + e * products[place, DECAY, r]) if count != 0.0 else 1.0
        total += products[place, PRODUCT, r] * factor if count >= 0.0 else products[place, PRODUCT, r] / factor
    return t * total


@step
def exact_gain(nodes, j, t, e):
    """What label j, with t expected true positives, gains with one more instance of probability e."""
    place, n_plain, n_nodes = np.int64(nodes.places[j]), nodes.n_plain, nodes.linear.shape[2]
    if place < 0:
        return 0.0
    gain = linear_gain(nodes, place, e, 0, n_plain) + linear_gain(nodes, place, 1.0 - e, n_plain, n_nodes)
    if nodes.product.shape[2] > 0:
        gain += product_value(nodes, place, t + e, e, 1.0) - product_value(nodes, place, t, 0.0, 0.0)
    return gain


@step
def exact_own_gain(nodes, j, t, e):
    """What label j would lose without one of its instances, of probability e."""
    place, n_plain, n_nodes = np.int64(nodes.places[j]), nodes.n_plain, nodes.linear.shape[2]
    if place < 0:
        return 0.0
    gain = linear_own_gain(nodes, place, e, 0, n_plain) + linear_own_gain(nodes, place, 1.0 - e, n_plain, n_nodes)
    if nodes.product.shape[2] > 0:
        gain += product_value(nodes, place, t, 0.0, 0.0) - product_value(nodes, place, max(0.0, t - e), e, -1.0)
    return gain


@step
def exact_add(nodes, j, e, count):
    """Add an instance to label j (count 1) or take it out (-1)."""
    linear, products, place = nodes.linear, nodes.product, np.int64(nodes.places[j])
    n_plain, base = nodes.n_plain, nodes.base
    if place < 0:
        return
    for r in range(linear.shape[2]):
        linear[place, SUM, r] += count * phi(e if r < n_plain else 1.0 - e, linear[place, base, r])
        linear[place, WEIGHT, r] *= linear[place, DECAY, r] if count > 0.0 else 1.0 / linear[place, DECAY, r]
    for r in range(products.shape[2]):
        factor = products[place, DECAY, r] / (1.0 - e + e * products[place, DECAY, r])
        products[place, PRODUCT, r] *= factor if count > 0.0 else 1.0 / factor


@step
def exact_line(nodes, j, t):
    """Slope and offset of a line above the exact gain, for all probabilities that the label has.

    The plain nodes and the products are convex in e, so the chord lies above them; the others grow with e.
    """
    place, n_plain, n_nodes, largest = np.int64(nodes.places[j]), nodes.n_plain, nodes.linear.shape[2], nodes.largest[j]
    if place < 0:
        return 0.0, 0.0
    low = linear_gain(nodes, place, 0.0, 0, n_plain)
    high = linear_gain(nodes, place, largest, 0, n_plain)
    if nodes.product.shape[2] > 0:
        now = product_value(nodes, place, t, 0.0, 0.0)
        low += product_value(nodes, place, t, 0.0, 1.0) - now
        high += product_value(nodes, place, t + largest, largest, 1.0) - now
    slope = (high - low) / largest if largest > 0.0 else 0.0
    return slope, low + linear_gain(nodes, place, 1.0 - largest, n_plain, n_nodes)


@part
def multiply_plain(linear, place, base, e, n_plain):
    for r in range(n_plain):
        linear[place, WEIGHT, r] *= 1.0 - e + e * linear[place, base, r]


@step
def multiply_instance(nodes, place, e):
    """Multiply the generating function of one candidate into the nodes at a place."""
    # Taken out of the tuple before the loops, which could not be vectorised otherwise, as they write.
    linear, product, n_plain, base = nodes.linear, nodes.product, nodes.n_plain, nodes.base
    if base == DECAY:  # a constant, with which the loop is compiled to less
        multiply_plain(linear, place, DECAY, e, n_plain)
    else:
        multiply_plain(linear, place, base, e, n_plain)
    for r in range(n_plain, linear.shape[2]):
        linear[place, WEIGHT, r] *= e + (1.0 - e) * linear[place, base, r]
    for r in range(product.shape[2]):
        product[place, PRODUCT, r] *= 1.0 - e + e * product[place, DECAY, r]


@part
def is_wanted_label(is_wanted, j):
    return is_wanted.size == 0 or is_wanted[j]


@part
def fetch_nodes(nodes, j, n_rows):
    """Begin to fetch the first rows of the nodes of label j, which are needed soon."""
    _, rows, n_nodes = nodes.linear.shape
    place = np.int64(nodes.places[j])
    if place >= 0:
        for x in range(place * rows * n_nodes, (place * rows + n_rows) * n_nodes, NUMBERS_IN_LINE):
            prefetch(nodes.linear, x)


@step
def multiply_rows(rows, nodes, is_wanted, first, last):
    labels, values, places = rows.labels, rows.values, nodes.places
    has_many = places.size > MANY_LABELS
    for i in range(rows.indptr.size - 1):
        start, stop = part_of_row(rows, i, first, last, places.size)
        for x in range(np.uint64(start), np.uint64(stop)):
            if has_many and x + AHEAD < stop and is_wanted_label(is_wanted, labels[x + AHEAD]):
                fetch_nodes(nodes, labels[x + AHEAD], WEIGHT + 1)
            if is_wanted_label(is_wanted, labels[x]):
                multiply_instance(nodes, np.int64(places[np.uint32(labels[x])]), np.float64(values[x]))


@step
def multiply_labels(columns, labels, nodes, first, last):
    for place in range(first, last):
        for x in range(columns.indptr[labels[place]], columns.indptr[labels[place] + 1]):
            multiply_instance(nodes, place, np.float64(columns.values[x]))


@step
def add_entries(labels, values, nodes, is_wanted, first, last):
    has_many = nodes.places.size > MANY_LABELS
    for x in range(labels.size):
        if has_many and x + AHEAD < labels.size and first <= labels[x + AHEAD] < last:
            fetch_nodes(nodes, labels[x + AHEAD], nodes.linear.shape[1])
        if first <= labels[x] < last and is_wanted_label(is_wanted, labels[x]):
            exact_add(nodes, labels[x], np.float64(values[x]), 1.0)


@kernel
def multiply_columns(columns, labels, nodes, first, last):
    """Multiply the generating function of all candidates of a label into each of its places, from first to last.

    Shapes: labels (places,). Writes: nodes. Assumes: nothing is selected in them yet.
    """
    multiply_labels(columns, labels, nodes, first, last)


@kernel
def multiply_generating(rows, nodes, is_wanted, first, last):
    """Multiply the generating function of the candidates of labels first to last into their weights and products.

    Shapes: is_wanted (m,), which labels; (0,) for all. Writes: nodes. Assumes: nothing is selected in them yet.
    """
    multiply_rows(rows, nodes, is_wanted, first, last)


@kernel
def count_nodes(labels, values, nodes, is_wanted, first, last):
    """Add every selected instance of labels first to last.

    Shapes: labels, values (any,), of each slot, label -1 for none; is_wanted as above. Writes: nodes.
    """
    add_entries(labels, values, nodes, is_wanted, first, last)


@kernel
def count_candidates(rows, nodes):
    """Add every candidate to its label, selected or not. Writes: nodes."""
    for x in range(rows.labels.size):
        exact_add(nodes, rows.labels[x], np.float64(rows.values[x]), 1.0)
