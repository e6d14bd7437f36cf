"""Stacking: one probability from those of several models, by logistic regression."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

LEAST = 1e-4  # probabilities are kept this far from 0 and 1 in logits
OF_MEMBERS, OF_ALL = ("logit", "log rank", "log sum"), ("log frequency", "logit of mean")
N_BINS = 15


class Pool(NamedTuple):
    """All pairs that any member proposes, with the probability that each member gives them, 0 for none."""

    indptr: NDArray
    labels: NDArray
    rows: NDArray
    values: NDArray  # float32 (members, pairs)
    shape: tuple[int, int]


def pool(parts: list[sp.csr_array]) -> Pool:
    """Join the candidates of all members."""
    shape = parts[0].shape
    keys = [np.repeat(np.arange(shape[0]), np.diff(p.indptr)) * np.int64(shape[1]) + p.indices for p in parts]
    every = np.unique(np.concatenate(keys))
    values = np.zeros((len(parts), every.size), np.float32)
    for value, key, part in zip(values, keys, parts, strict=True):
        value[np.searchsorted(every, key)] = part.data
    rows = every // shape[1]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))])
    return Pool(indptr, (every % shape[1]).astype(np.int32), rows, values, shape)


def describe_pairs(pooled: Pool, counts: NDArray) -> NDArray:
    """Return what the regression sees of each pair, (pairs, 3 * members + 2), in the order of `list_inputs`."""
    rows, n = pooled.rows, pooled.shape[0]
    columns = []
    for value in pooled.values:
        order = np.lexsort((-value, rows))
        ranks = np.empty(value.size)
        ranks[order] = np.arange(value.size) - pooled.indptr[rows]
        sums = np.bincount(rows, value, n)
        columns += [logit(value), np.log1p(ranks), np.log(sums[rows] + 0.1)]
    columns += [np.log1p(counts[pooled.labels]), logit(pooled.values.mean(axis=0))]
    return np.column_stack(columns)


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
    fitted = LogisticRegression(C=1.0, max_iter=200).fit((inputs - mean) / scale, is_true)
    weights = fitted.coef_[0] / scale
    return weights, float(fitted.intercept_[0] - weights @ mean)


def expected_calibration_error(probabilities: NDArray, is_true: NDArray) -> float:
    """Return the mean distance of predicted and observed shares over bins of equal size."""
    order = np.argsort(probabilities, kind="stable")
    bins = [each for each in np.array_split(order, N_BINS) if each.size]
    return float(sum(abs(probabilities[b].sum() - is_true[b].sum()) for b in bins) / max(order.size, 1))


def logit(p: NDArray) -> NDArray:
    """Return log odds of probabilities that are kept away from 0 and 1."""
    p = np.clip(p, LEAST, 1 - LEAST).astype(np.float64)
    return np.log(p / (1 - p))
