"""The classifiers of one parent's children: dual coordinate descent, sixteen children in step."""

from typing import NamedTuple

import numpy as np

from tailwise.kernels.compiling import bundle, kernel, part, step
from tailwise.kernels.lanes import LANES, add_rows, add_to_rows, as_float_bits

ALPHA, SIGN, MARGIN = 0, 1, 2  # what is kept for each instance and child
SCORES, STEPS, WORST = 0, 1, 2  # and for the instance at hand
BIAS_FEATURE = 0  # local number of the feature that every instance has, with the value 1
NEWTON_STEPS = 3
ONE, HALF, ZERO = np.float32(1), np.float32(0.5), np.float32(0)


@bundle
class Matrix(NamedTuple):
    """CSR rows of (feature, value)."""

    indptr: np.ndarray  # int64 (n + 1,)
    columns: np.ndarray  # int32 (nnz,)
    values: np.ndarray  # float32 (nnz,)


@bundle
class Settings(NamedTuple):
    """What is minimised, and how far."""

    is_logistic: bool
    cost: np.float32
    positive_cost: np.float32
    tolerance: np.float32
    max_epochs: int


@bundle
class Scratch(NamedTuple):
    """Room that a thread keeps from parent to parent: where each feature and each instance stands, -1 for nowhere."""

    local_of: np.ndarray  # int32 (features,)
    position_of: np.ndarray  # int32 (instances,)


@part
def sigmoid(x):
    """1 / (1 + exp(-x)) in single precision, to 2e-7, from operations that the compiler does sixteen at a time.

    exp(x) is 2^whole times exp(rest), a polynomial; log 2 has two parts, so that no digit of the rest is lost.
    """
    x = min(max(x, np.float32(-80)), np.float32(80))
    whole = np.floor(x * np.float32(1.44269504) + HALF)
    rest = x - whole * np.float32(0.693359375) + whole * np.float32(2.12194440e-4)
    series = np.float32(1.9875691500e-4)
    series = series * rest + np.float32(1.3981999507e-3)
    series = series * rest + np.float32(8.3334519073e-3)
    series = series * rest + np.float32(4.1665795894e-2)
    series = series * rest + np.float32(1.6666665459e-1)
    series = series * rest + np.float32(5.0000001201e-1)
    power = as_float_bits((np.int32(whole) + np.int32(127)) << np.int32(23))
    exponential = (series * rest * rest + rest + ONE) * power
    return exponential / (exponential + ONE)


@step
def step_squared_hinge(state, i, lanes, norm, settings):
    """One coordinate of the dual of min |w|^2 / 2 + C sum max(0, 1 - y w.x)^2, for sixteen children.

    Closed form: alpha = max(0, alpha - G / (norm + D)) with G = y w.x - 1 + D alpha and D = 1 / (2 C).
    """
    of_negative, of_positive = HALF / settings.cost, HALF / settings.positive_cost
    for c in range(LANES):
        alpha, sign = state[i, ALPHA, c], state[i, SIGN, c]
        diagonal = of_positive if sign > ZERO else of_negative
        gradient = sign * lanes[SCORES, c] - ONE + diagonal * alpha
        new = max(alpha - gradient / (norm + diagonal), ZERO)
        state[i, ALPHA, c] = new
        lanes[STEPS, c] = (new - alpha) * sign
        lanes[WORST, c] = max(lanes[WORST, c], abs(new - alpha))


@step
def step_logistic(state, i, lanes, norm, settings):
    """One coordinate of the dual of min |w|^2 / 2 + C sum log(1 + exp(-y w.x)), for sixteen children.

    At the optimum alpha = C sigmoid(-u), where u is the margin that alpha itself leads to: the root of
    h(u) = u - y w.x - norm (C sigmoid(-u) - alpha). h grows; it is concave above 0 and convex below, so that Newton's
    steps, kept on the root's side of 0, cross the root at most once and then come nearer without end.
    """
    for c in range(LANES):
        alpha, sign, u = state[i, ALPHA, c], state[i, SIGN, c], state[i, MARGIN, c]
        cost = settings.positive_cost if sign > ZERO else settings.cost
        curve = norm * cost
        base = sign * lanes[SCORES, c] - norm * alpha
        root_is_above = base + HALF * curve > ZERO
        share = alpha / cost
        for _ in range(NEWTON_STEPS):
            u = u - (u - base - curve * share) / (ONE + curve * share * (ONE - share))
            u = max(u, ZERO) if root_is_above else min(u, ZERO)
            share = sigmoid(-u)
        new = cost * share
        state[i, ALPHA, c] = new
        state[i, MARGIN, c] = u
        lanes[STEPS, c] = (new - alpha) * sign
        lanes[WORST, c] = max(lanes[WORST, c], abs(new - alpha))


@step
def largest(lanes, kind):
    found = ZERO
    for c in range(LANES):
        found = max(found, abs(lanes[kind, c]))
    return found


@step
def descend(rows, norms, state, table, lanes, order, settings):
    """Visit the instances once, in this order; returns the largest change of a dual variable, in units of the cost."""
    for c in range(LANES):
        lanes[WORST, c] = ZERO
    for r in range(order.size):
        i = order[r]
        first, last = rows.indptr[i], rows.indptr[i + 1]
        add_rows(rows.columns, rows.values, first, last, table, lanes[SCORES])
        if settings.is_logistic:
            step_logistic(state, i, lanes, norms[i], settings)
        else:
            step_squared_hinge(state, i, lanes, norms[i], settings)
        if largest(lanes, STEPS) > ZERO:
            add_to_rows(rows.columns, rows.values, first, last, table, lanes[STEPS])
    return largest(lanes, WORST) / settings.cost


@kernel
def train_block(rows, norms, state, table, permutation, settings):
    """Train up to sixteen children to the tolerance; returns the number of epochs.

    Shapes: rows with n instances in local features; norms (n,), |x|^2; state (n, 3, 16), signs filled in; table
    (local features, 16), zeros; permutation int32 (n,). Writes: state, table.
    The order of the instances must change from epoch to epoch (a fixed one takes ten times as many): it is a power of
    the permutation.
    """
    lanes = np.zeros((3, LANES), np.float32)
    order, spare = permutation.copy(), permutation.copy()
    for epoch in range(settings.max_epochs):
        if descend(rows, norms, state, table, lanes, order, settings) <= settings.tolerance:
            return epoch + 1
        for r in range(order.size):
            spare[r] = order[permutation[r]]
        order, spare = spare, order
    return settings.max_epochs


@kernel
def localise(matrix, instances, scratch):
    """The rows of some instances with their features renumbered in order of appearance, and the bias as feature 0.

    Shapes: instances int32 (n,). Reads: matrix. Writes: scratch.position_of of the instances.
    Returns: rows, norms (n,), features (local features,), the number that each had before, -1 for the bias.
    Assumes: scratch.local_of is -1 everywhere; leaves it so.
    """
    n = instances.size
    size = n
    for r in range(n):
        size += matrix.indptr[instances[r] + 1] - matrix.indptr[instances[r]]
    rows = Matrix(np.zeros(n + 1, np.int64), np.empty(size, np.int32), np.empty(size, np.float32))
    norms = np.empty(n, np.float32)
    features = np.empty(min(size, scratch.local_of.size) + 1, np.int32)
    features[BIAS_FEATURE] = -1
    n_features, y = 1, 0
    for r in range(n):
        scratch.position_of[instances[r]] = r
        rows.columns[y], rows.values[y], norm = BIAS_FEATURE, ONE, 1.0
        y += 1
        for x in range(matrix.indptr[instances[r]], matrix.indptr[instances[r] + 1]):
            f = matrix.columns[x]
            if scratch.local_of[f] < 0:
                scratch.local_of[f] = n_features
                features[n_features] = f
                n_features += 1
            rows.columns[y], rows.values[y] = scratch.local_of[f], matrix.values[x]
            norm += np.float64(matrix.values[x]) ** 2
            y += 1
        rows.indptr[r + 1] = y
        norms[r] = norm
    for local in range(1, n_features):
        scratch.local_of[features[local]] = -1
    return rows, norms, features[:n_features].copy()


@kernel
def mark_positives(state, indptr, positives, first, last, position_of):
    """All dual variables zero, and the sign of each instance for the children from first to last.

    Shapes: state (n, 3, 16); indptr (nodes + 1,), positives (any,), the instances with a label below each node.
    Writes: state. Assumes: position_of as localise left it.
    """
    for i in range(state.shape[0]):
        for c in range(LANES):
            state[i, ALPHA, c] = state[i, MARGIN, c] = ZERO
            state[i, SIGN, c] = -ONE
    for node in range(first, last):
        for x in range(indptr[node], indptr[node + 1]):
            state[position_of[positives[x]], SIGN, node - first] = ONE
