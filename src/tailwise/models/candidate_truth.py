"""Candidates and their true labels, for calibration and reliability."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tailwise.errors import InputError
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.paths import load_if_path
from tailwise.metrics.evaluation_inputs import read_truth


def read_candidates(probabilities: Any, n_labels: int) -> Candidates:
    """Read the candidates of a batch with a known number of labels."""
    candidates = Candidates.of(load_if_path(probabilities))
    if candidates.n_labels != n_labels:
        msg = (
            f"probabilities must have {n_labels} labels. Got {candidates.n_labels}. For a pair or a table, "
            f"use Candidates.of(probabilities, n_labels={n_labels})."
        )
        raise InputError(msg)
    return candidates


def read_pair(probabilities: Any, truth: Any) -> tuple[Candidates, sp.csr_array]:
    """Read candidates and true labels of the same instances and labels."""
    source = read_truth(truth)
    true = source.matrix
    candidates = read_candidates(source.read_matrix(probabilities), true.shape[1])
    if candidates.n_instances != true.shape[0]:
        msg = f"probabilities must have the {true.shape[0]} instances of truth. Got {candidates.n_instances}."
        raise InputError(msg)
    return candidates, true


def find_true(candidates: Candidates, truth: sp.csr_array) -> NDArray:
    """Return 1.0 for each candidate that is a true label and 0.0 for the others; (nnz,), row by row."""
    places = _number(candidates.rows.indptr, candidates.rows.labels, candidates.n_labels)
    wanted = _number(truth.indptr, truth.indices, candidates.n_labels)
    is_true = np.zeros(places.size)
    if places.size:
        found = np.minimum(np.searchsorted(places, wanted), places.size - 1)
        is_true[found[places[found] == wanted]] = 1.0
    return is_true


def _number(indptr: NDArray, labels: NDArray, n_labels: int) -> NDArray:
    """Number the entries of a canonical matrix by their cell, row by row, in ascending order."""
    rows = np.repeat(np.arange(indptr.size - 1, dtype=np.int64), np.diff(indptr))
    rows *= n_labels
    rows += labels
    return rows
