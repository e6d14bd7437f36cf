"""Stacking: one probability from those of several models, by logistic regression."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit

from tailwise.kernels.pooling import describe_rows, join_rows

LEAST = 1e-4  # probabilities are kept this far from 0 and 1 in logits
OF_MEMBERS, OF_ALL = ("logit", "log rank", "log sum"), ("log frequency", "logit of mean")
BLOCK = 4096  # pairs
FEW, STRIDE = 50_000, 16
# Newton's method: maximum number of steps, shortest step, and the share of the loss below which a gain ends it.
MOST_STEPS, SHORTEST, LEAST_GAIN = 50, 1e-6, 1e-9


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
    log_counts = np.log1p(np.asarray(counts, np.float64))
    describe_rows(indptr, labels, values, log_counts, LEAST, *np.empty((2, longest), np.int64), inputs)
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


def fit_stack(inputs: NDArray, is_true: NDArray) -> tuple[NDArray, float]:
    """Return weights and bias of the regression, for inputs as they are; without both outcomes, a constant."""
    if is_true.all() or not is_true.any():
        share = (is_true.sum() + 1) / (is_true.size + 2)
        return np.zeros(inputs.shape[1]), float(np.log(share / (1 - share)))
    mean, scale = inputs.mean(axis=0), inputs.std(axis=0)
    scale[scale < 1e-9] = 1.0
    scaled = (inputs - mean) / scale
    scaled = np.column_stack([scaled, np.ones(is_true.size)])
    share = is_true.mean()
    start = np.append(np.zeros(mean.size), np.log(share / (1 - share)))
    if is_true.size > FEW:  # most steps are taken on a part of the pairs
        start = _fit_logistic(scaled[::STRIDE], is_true[::STRIDE], start)
    found = _fit_logistic(scaled, is_true, start)
    weights = found[:-1] / scale
    return weights, float(found[-1] - weights @ mean)


def _fit_logistic(inputs: NDArray, is_true: NDArray, weights: NDArray) -> NDArray:
    """Minimise log loss plus half the squared weights, without that of the last input, by Newton's method."""
    penalty = np.ones(inputs.shape[1])
    penalty[-1] = 0.0
    value, slope, curvature = _expand(inputs, is_true, weights, penalty)
    for _ in range(MOST_STEPS):
        direction = np.linalg.solve(curvature, slope)
        length = 1.0
        while True:  # halved until the loss falls, which a short step does
            tried = _expand(inputs, is_true, weights - length * direction, penalty)
            if tried[0] <= value or length < SHORTEST:
                break
            length /= 2
        weights, gain = weights - length * direction, value - tried[0]
        value, slope, curvature = tried
        if gain <= LEAST_GAIN * abs(value):
            break
    return weights


def _expand(inputs: NDArray, is_true: NDArray, weights: NDArray, penalty: NDArray) -> tuple[float, NDArray, NDArray]:
    """Return the penalised log loss with its first and second derivatives; rows in blocks that stay in the cache."""
    value, slope = 0.5 * float(weights @ (penalty * weights)), penalty * weights
    curvature = np.diag(penalty)
    for first in range(0, is_true.size, BLOCK):
        rows, truth = inputs[first : first + BLOCK], is_true[first : first + BLOCK]
        scores = np.clip(rows @ weights, -500.0, 500.0)  # so that no step overflows
        probabilities = expit(scores)
        value += float(np.log1p(np.exp(-np.abs(scores))).sum() + np.maximum(scores, 0.0).sum() - scores[truth].sum())
        slope = slope + rows.T @ (probabilities - truth)
        curvature = curvature + rows.T @ (rows * (probabilities * (1.0 - probabilities))[:, None])
    return value, slope, curvature
