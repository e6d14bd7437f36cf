"""Stacking: one probability from those of several models, by logistic regression."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tailwise.kernels.logistic import expand_loss, find_pair_probabilities, find_scales
from tailwise.kernels.pooling import describe_rows, join_rows

LEAST = 1e-4  # probabilities are kept this far from 0 and 1 in logits
OF_MEMBERS, OF_ALL = ("logit", "log rank", "log sum"), ("log frequency", "logit of mean")
LEAST_SCALE = 1e-9  # inputs that vary less count as constant
# With more pairs than this, most steps are taken on every 17th. The number is prime, because rows often have 16, 20 or
# 100 candidates each: a stride that divides these would meet the same ones in every row.
FEW, STRIDE = 50_000, 17
# Newton's method: maximum number of steps, shortest step, and the share of the loss below which a gain ends it.
MOST_STEPS, SHORTEST, LEAST_GAIN = 50, 1e-6, 1e-8


class Pool(NamedTuple):
    """All pairs that any member proposes, with the probability that each member gives them, 0 for none."""

    indptr: NDArray
    labels: NDArray
    values: NDArray  # float32 (members, pairs)
    shape: tuple[int, int]

    @property
    def rows(self) -> NDArray:
        """The row of each pair."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))


class Stack(NamedTuple):
    """A fitted regression."""

    weights: NDArray
    bias: float
    scales: NDArray  # the standard deviations of the inputs


class Pairs(NamedTuple):
    """What the regression is fitted to."""

    inputs: NDArray  # float64 (pairs, inputs)
    is_true: NDArray  # bool (pairs,)
    means: NDArray  # of the inputs
    factors: NDArray  # of the inputs, after their means are taken off


def pool(parts: list[sp.csr_array]) -> Pool:
    """Join the candidates of all members, each with ascending labels in its rows."""
    shape, sizes = parts[0].shape, [part.nnz for part in parts]
    before = np.cumsum([0, *sizes[:-1]])
    starts = np.array([part.indptr + shift for part, shift in zip(parts, before, strict=True)], np.int64)
    labels = np.concatenate([part.indices for part in parts]).astype(np.int32, copy=False)
    values = np.concatenate([part.data for part in parts]).astype(np.float32, copy=False)
    indptr, joined = np.empty(shape[0] + 1, np.int64), np.empty_like(labels)
    of_members = np.zeros((len(parts), labels.size), np.float32)
    join_rows(starts, labels, values, np.empty(len(parts), np.int64), indptr, joined, of_members)
    n_pairs = int(indptr[-1])
    return Pool(indptr, joined[:n_pairs], np.ascontiguousarray(of_members[:, :n_pairs]), shape)


def describe_pairs(pooled: Pool, counts: NDArray) -> NDArray:
    """Return what the regression sees of each pair, (pairs, 3 * members + 2), in the order of `list_inputs`."""
    indptr, labels, values, _ = pooled
    longest = int(np.diff(indptr).max(initial=0))
    inputs = np.empty((labels.size, len(OF_MEMBERS) * values.shape[0] + len(OF_ALL)))
    logs = np.log1p(np.asarray(counts, np.float64)), np.log1p(np.arange(longest))
    room = np.empty(longest, np.int64), np.empty(longest, np.float32), np.empty(longest, np.int64)
    describe_rows(indptr, labels, values, *logs, LEAST, *room, inputs)
    return inputs


def find_true(pooled: Pool, truth: sp.csr_array) -> NDArray:
    """Return whether each pair is one of an instance and a label that it has."""
    m, rows = np.int64(truth.shape[1]), np.repeat(np.arange(truth.shape[0]), np.diff(truth.indptr))
    pairs, wanted = pooled.rows * m + pooled.labels, rows * m + truth.indices  # pairs ascend
    places = np.searchsorted(pairs, wanted)
    is_true = np.zeros(pairs.size, np.bool_)
    is_true[places[np.append(pairs, -1)[places] == wanted]] = True
    return is_true


def list_inputs(names: list[str]) -> list[str]:
    """List the names of the columns of `describe_pairs`."""
    return [f"{what} of {name}" for name in names for what in OF_MEMBERS] + list(OF_ALL)


def fit_stack(inputs: NDArray, is_true: NDArray) -> Stack:
    """Fit the regression to inputs as they are; without both outcomes, it is a constant."""
    if is_true.all() or not is_true.any():
        share = (is_true.sum() + 1) / (is_true.size + 2)
        return Stack(np.zeros(inputs.shape[1]), _log_odds(share), np.zeros(inputs.shape[1]))
    means, scales = np.empty((2, inputs.shape[1]))
    find_scales(inputs, means, scales)
    factors = 1.0 / np.where(scales < LEAST_SCALE, 1.0, scales)
    pairs = Pairs(inputs, is_true, means, factors)
    start = np.append(np.zeros(means.size), _log_odds(is_true.mean()))
    # Most steps are taken on a part of the pairs, if that leads to where all of them are better off.
    first = _fit_logistic(pairs, start, start, STRIDE) if is_true.size > FEW else start
    found = _fit_logistic(pairs, first, start, 1)
    weights = found[:-1] * factors
    return Stack(weights, float(found[-1] - (weights * means).sum()), scales)


def apply_stack(inputs: NDArray, weights: NDArray, bias: float) -> NDArray:
    """Return the probability of each pair."""
    found = np.empty(inputs.shape[0])
    find_pair_probabilities(inputs, weights, float(bias), found)
    return found


def _log_odds(share: float) -> float:
    return float(np.log(share / (1 - share)))


def _fit_logistic(pairs: Pairs, weights: NDArray, share_alone: NDArray, stride: int) -> NDArray:
    """Minimise log loss plus half the squared weights, without that of the bias, by Newton's method.

    It starts at the weights, or, if the loss is lower there, at those that know the share of true pairs alone.
    """
    value, slope, curvature = _expand(pairs, weights, stride)
    if weights is not share_alone and not value <= _loss_of_share(pairs.is_true):
        weights = share_alone
        value, slope, curvature = _expand(pairs, weights, stride)
    for _ in range(MOST_STEPS):
        direction = np.linalg.solve(curvature, slope)
        length = 1.0
        tried = _expand(pairs, weights - direction, stride)
        while not tried[0] <= value and length >= SHORTEST:  # halved until the loss falls, which a short step does
            length /= 2
            tried = _expand(pairs, weights - length * direction, stride)
        if not tried[0] <= value:  # rounding is all that is left
            break
        weights, gain = weights - length * direction, value - tried[0]
        value, slope, curvature = tried
        if gain <= LEAST_GAIN * abs(value):
            break
    return weights


def _loss_of_share(is_true: NDArray) -> float:
    """The log loss of all pairs at their share of true ones."""
    share = is_true.mean()
    return float(-is_true.size * (share * np.log(share) + (1 - share) * np.log(1 - share)))


def _expand(pairs: Pairs, weights: NDArray, stride: int) -> tuple[float, NDArray, NDArray]:
    """Return the penalised log loss with its first and second derivatives."""
    size = weights.size
    slope, curvature = np.empty(size), np.empty((size, size))
    value = expand_loss(
        pairs.inputs, pairs.is_true, stride, pairs.means, pairs.factors, weights, np.empty(size), slope, curvature
    )
    penalised = weights.copy()
    penalised[-1] = 0.0
    curvature[np.arange(size - 1), np.arange(size - 1)] += 1.0
    return value + 0.5 * float(np.square(penalised).sum()), slope + penalised, curvature
