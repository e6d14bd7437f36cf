"""Logistic regression with a few inputs: the log loss and its derivatives, and the probabilities.

Plain loops instead of matrix products: these start threads of BLAS, which then wait for more work on all cores for
longer than the whole regression takes.
"""

import numpy as np

from tailwise.kernels.compiling import kernel, part

LARGE = 1e200  # products of numbers of at most 2 are kept below


@kernel
def find_scales(inputs, means, scales):
    """The mean and the standard deviation of each column.

    Shapes: inputs float64 (pairs, c), at least one pair; means, scales float64 (c,). Writes: means, scales.
    """
    n, n_columns = inputs.shape
    means[:] = 0.0
    scales[:] = 0.0
    for r in range(n):
        for a in range(n_columns):
            means[a] += inputs[r, a]
    for a in range(n_columns):
        means[a] /= n
    for r in range(n):
        for a in range(n_columns):
            scales[a] += (inputs[r, a] - means[a]) ** 2
    for a in range(n_columns):
        scales[a] = np.sqrt(scales[a] / n)


@part
def add_row(row, error, spread, slope, curvature):
    """Add what one pair does to the derivatives; of the second ones, those on and below the diagonal."""
    for a in range(row.size):
        slope[a] += error * row[a]
        product = spread * row[a]
        for b in range(a + 1):
            curvature[a, b] += product * row[b]


@kernel
def expand_loss(inputs, is_true, stride, means, factors, weights, row, slope, curvature):
    """The log loss at some weights, with its first and second derivatives.

    Shapes: inputs float64 (pairs, c), of which every `stride`th counts, is_true bool (pairs,); means, factors (c,),
    inputs are reduced by the first and multiplied by the second; weights, slope float64 (c + 1,), the last one is the
    bias; row (c + 1,), for the kernel's own use; curvature float64 (c + 1, c + 1). Writes: slope, curvature.
    """
    n_columns, loss, factor = means.size, 0.0, 1.0
    slope[:] = 0.0
    curvature[:] = 0.0
    row[n_columns] = 1.0
    for r in range(0, inputs.shape[0], stride):
        score = weights[n_columns]
        for a in range(n_columns):
            row[a] = (inputs[r, a] - means[a]) * factors[a]
            score += weights[a] * row[a]
        small = np.exp(-abs(score))  # never overflows
        probability = (1.0 if score >= 0.0 else small) / (1.0 + small)
        loss += max(score, 0.0) - (score if is_true[r] else 0.0)
        factor *= 1.0 + small  # one logarithm for many pairs
        if factor > LARGE:
            loss, factor = loss + np.log(factor), 1.0
        spread = small / (1.0 + small) ** 2
        add_row(row, probability - (1.0 if is_true[r] else 0.0), spread, slope, curvature)
    for a in range(n_columns + 1):
        for b in range(a):
            curvature[b, a] = curvature[a, b]
    return loss + np.log(factor)


@kernel
def find_pair_probabilities(inputs, weights, bias, found):
    """The probability of each pair.

    Shapes: inputs float64 (pairs, c), weights float64 (c,), found float64 (pairs,). Writes: found.
    """
    for r in range(inputs.shape[0]):
        score = bias
        for a in range(weights.size):
            score += weights[a] * inputs[r, a]
        small = np.exp(-abs(score))
        found[r] = (1.0 if score >= 0.0 else small) / (1.0 + small)
