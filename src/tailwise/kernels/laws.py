"""Exact expectation of any formula: the laws of a label's hits and misses, kept up to date as instances come and go.

T, the true positives of a label among its selected instances, and R, those among the others, are independent sums of
independent 0/1 variables. For labels with few expected positives both laws are short, and

    E[psi] = sum over a, b of P(T = a) P(R = b) psi(a, q, a + b).

Selecting an instance of probability e takes it out of R (a deconvolution by 1 - e, e) and into T (a convolution). Both
recurrences run in the direction in which errors shrink: upwards for e <= 1/2, downwards above.
"""

from typing import NamedTuple

import numpy as np

from tailwise.kernels.compiling import bundle, kernel, part, step

HITS, MISSES = 0, 1


@bundle
class Laws(NamedTuple):
    slots: np.ndarray  # int32 (m,): row of the label in probabilities, -1 where its expectation is semi-empirical
    probabilities: np.ndarray  # float64 (slots, 2, width): of T and of R
    known: np.ndarray  # float64 (slots, 2): hits and misses that are certain, to be added to T and R


@step
def convolved(law, s, side, x, e):
    """P(X + Y = x) for X of the law, Y = 1 with probability e."""
    below = law[s, side, x - 1] if x > 0 else 0.0
    return (1.0 - e) * law[s, side, x] + e * below


@step
def next_deconvolved(law, s, side, x, e, last):
    """P(X - Y = x), where Y = 1 with probability e is a part of X; `last` is the one before in the recurrence."""
    if e <= 0.5:
        value = (law[s, side, x] - e * last) / (1.0 - e)
    else:
        above = law[s, side, x + 1] if x + 1 < law.shape[2] else 0.0
        value = (above - (1.0 - e) * last) / e
    return max(0.0, value)


@part
def direction_of(e, width):
    """Where the recurrence starts, and its step."""
    return (0, 1) if e <= 0.5 else (width - 1, -1)


@step
def include(law, s, side, e):
    """Convolve a law with an instance of probability e."""
    for x in range(law.shape[2] - 1, -1, -1):
        law[s, side, x] = convolved(law, s, side, x, e)


@step
def exclude(law, s, side, e):
    """Deconvolve a law by an instance of probability e that it holds."""
    width = law.shape[2]
    x, direction = direction_of(e, width)
    last, kept = 0.0, 0.0
    for _ in range(width):
        last = next_deconvolved(law, s, side, x, e, last)
        # Downwards, the value at x is still needed for x - 1, so it is written one step later.
        if e <= 0.5:
            law[s, side, x] = last
        elif x + 1 < width:
            law[s, side, x + 1] = kept
        kept = last
        x += direction
    if e > 0.5:
        law[s, side, 0] = kept


@step
def count_rows(rows, is_chosen, laws):
    for x in range(rows.labels.size):
        s = laws.slots[rows.labels[x]]
        if s >= 0:
            include(laws.probabilities, s, HITS if is_chosen[x] else MISSES, np.float64(rows.values[x]))


@kernel
def count_laws(rows, is_chosen, laws):
    """Convolve every candidate into the hits or the misses of its label.

    Shapes: is_chosen (nnz,). Writes: laws.probabilities. Assumes: these are of sums of nothing, or of the positives
    outside the candidates.
    """
    count_rows(rows, is_chosen, laws)
