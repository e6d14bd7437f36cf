"""Exact expectations by quadrature: totals per label and node, and the gain of one more instance.

For a label, E[psi] is a sum over nodes r of one of two forms (DESIGN: generating functions of the label counts),

    linear    W_r D_r^q * sum over S of phi_r(e),    phi_r(e) = e / (1 - e + e d_r)
    product   t * prod over S of D_r / (1 - e + e D_r), times a constant                     (Jaccard)

where W_r holds the generating function of the label's positives, which does not depend on the selection. The first
`n_plain` columns of the linear form take e as it is, the others 1 - e (negatives, for balanced accuracy).
"""

from typing import NamedTuple

import numpy as np

from tailwise.kernels.compiling import kernel, part, step

# Rows of Quadrature.linear: decay D, base d, weight W D^q, sum of phi; and of Quadrature.product: decay D, the product.
DECAY, BASE, WEIGHT, SUM = range(4)
PRODUCT = 1


class Quadrature(NamedTuple):
    linear: np.ndarray  # float64 (m, 4, R)
    product: np.ndarray  # float64 (m, 2, R')
    largest: np.ndarray  # float64 (m,): the largest probability of the label
    n_plain: int


@part
def phi(e, base):
    return e / (1.0 - e + e * base)


@part
def linear_gain(quadrature, j, e, first, last):
    """What the nodes first to last of the linear form gain with one more instance."""
    nodes = quadrature.linear
    gain = 0.0
    for r in range(first, last):
        total = nodes[j, SUM, r] + phi(e, nodes[j, BASE, r])
        gain += nodes[j, WEIGHT, r] * (nodes[j, DECAY, r] * total - nodes[j, SUM, r])
    return gain


@part
def linear_own_gain(quadrature, j, e, first, last):
    nodes = quadrature.linear
    gain = 0.0
    for r in range(first, last):
        total = nodes[j, SUM, r] - phi(e, nodes[j, BASE, r])
        gain += nodes[j, WEIGHT, r] * (nodes[j, SUM, r] - total / nodes[j, DECAY, r])
    return gain


@part
def product_value(quadrature, j, t, e, count):
    """t times the sum of the products, with one instance more (count 1), less (-1), or as it is; t is the new one."""
    nodes = quadrature.product
    total = 0.0
    for r in range(nodes.shape[2]):
        factor = nodes[j, DECAY, r] / (1.0 - e + e * nodes[j, DECAY, r]) if count != 0.0 else 1.0
        total += nodes[j, PRODUCT, r] * factor if count >= 0.0 else nodes[j, PRODUCT, r] / factor
    return t * total


@step
def exact_gain(quadrature, j, t, e):
    """What label j, with t expected true positives, gains with one more instance of probability e."""
    n_plain, n_nodes = quadrature.n_plain, quadrature.linear.shape[2]
    gain = linear_gain(quadrature, j, e, 0, n_plain) + linear_gain(quadrature, j, 1.0 - e, n_plain, n_nodes)
    if quadrature.product.shape[2] > 0:
        gain += product_value(quadrature, j, t + e, e, 1.0) - product_value(quadrature, j, t, 0.0, 0.0)
    return gain


@step
def exact_own_gain(quadrature, j, t, e):
    """What label j would lose without one of its instances, of probability e."""
    n_plain, n_nodes = quadrature.n_plain, quadrature.linear.shape[2]
    gain = linear_own_gain(quadrature, j, e, 0, n_plain) + linear_own_gain(quadrature, j, 1.0 - e, n_plain, n_nodes)
    if quadrature.product.shape[2] > 0:
        gain += product_value(quadrature, j, t, 0.0, 0.0) - product_value(quadrature, j, max(0.0, t - e), e, -1.0)
    return gain


@step
def exact_add(quadrature, j, e, count):
    """Add an instance to label j (count 1) or take it out (-1)."""
    nodes, products = quadrature.linear, quadrature.product
    for r in range(nodes.shape[2]):
        nodes[j, SUM, r] += count * phi(e if r < quadrature.n_plain else 1.0 - e, nodes[j, BASE, r])
        nodes[j, WEIGHT, r] *= nodes[j, DECAY, r] if count > 0.0 else 1.0 / nodes[j, DECAY, r]
    for r in range(products.shape[2]):
        factor = products[j, DECAY, r] / (1.0 - e + e * products[j, DECAY, r])
        products[j, PRODUCT, r] *= factor if count > 0.0 else 1.0 / factor


@step
def exact_line(quadrature, j, t):
    """Slope and offset of a line above the exact gain, for all probabilities that the label has.

    The plain nodes and the products are convex in e, so the chord lies above them; the others grow with e.
    """
    n_plain, n_nodes, largest = quadrature.n_plain, quadrature.linear.shape[2], quadrature.largest[j]
    low = linear_gain(quadrature, j, 0.0, 0, n_plain)
    high = linear_gain(quadrature, j, largest, 0, n_plain)
    if quadrature.product.shape[2] > 0:
        now = product_value(quadrature, j, t, 0.0, 0.0)
        low += product_value(quadrature, j, t, 0.0, 1.0) - now
        high += product_value(quadrature, j, t + largest, largest, 1.0) - now
    slope = (high - low) / largest if largest > 0.0 else 0.0
    return slope, low + linear_gain(quadrature, j, 1.0 - largest, n_plain, n_nodes)


@part
def multiply_instance(quadrature, row, e):
    """Multiply the generating function of one candidate into a row of the quadrature."""
    linear, product, n_plain = quadrature.linear, quadrature.product, quadrature.n_plain
    for r in range(n_plain):
        linear[row, WEIGHT, r] *= 1.0 - e + e * linear[row, BASE, r]
    for r in range(n_plain, linear.shape[2]):
        linear[row, WEIGHT, r] *= e + (1.0 - e) * linear[row, BASE, r]
    for r in range(product.shape[2]):
        product[row, PRODUCT, r] *= 1.0 - e + e * product[row, DECAY, r]


@step
def multiply_rows(rows, quadrature):
    for x in range(rows.labels.size):
        multiply_instance(quadrature, rows.labels[x], np.float64(rows.values[x]))


@step
def multiply_labels(columns, labels, quadrature):
    for row in range(labels.size):
        for x in range(columns.indptr[labels[row]], columns.indptr[labels[row] + 1]):
            multiply_instance(quadrature, row, np.float64(columns.values[x]))


@kernel
def multiply_columns(columns, labels, quadrature):
    """Multiply the generating function of all candidates of a label into each of its rows.

    Shapes: labels (rows of the quadrature,). Writes: quadrature. Assumes: nothing is selected in it yet.
    """
    multiply_labels(columns, labels, quadrature)


@kernel
def multiply_generating(rows, quadrature):
    """Multiply the generating function of every candidate into the weights and products of its label.

    Writes: quadrature. Assumes: nothing is selected in it yet.
    """
    multiply_rows(rows, quadrature)


@step
def add_rows(rows, chosen, quadrature):
    for i in range(chosen.shape[0]):
        for c in range(chosen.shape[1]):
            if chosen[i, c] >= 0:
                x = rows.indptr[i] + chosen[i, c]
                exact_add(quadrature, rows.labels[x], np.float64(rows.values[x]), 1.0)


@kernel
def count_exactly(rows, chosen, quadrature):
    """Add every selected instance to its label.

    Shapes: chosen (n, k), positions within the row, -1 for none. Writes: quadrature.
    """
    add_rows(rows, chosen, quadrature)


@kernel
def find_largest(labels, values, largest):
    """The largest value of each label."""
    for x in range(labels.size):
        largest[labels[x]] = max(largest[labels[x]], values[x])
