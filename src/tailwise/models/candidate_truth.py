"""Candidates and their true labels, for calibration and reliability."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tailwise.inputs.candidates import Candidates
from tailwise.inputs.paths import Source
from tailwise.metrics.placed_truth import check_n_labels, place_truth


def read_candidates(probabilities: Any, n_labels: int, columns: Any = None) -> Candidates:
    """Read the candidates of a batch with their ids; without names of labels, their number must be known."""
    source = Source.of(probabilities, columns=columns).widened(n_labels)
    candidates = Candidates.of(source.matrix).with_names(source.names, source.instance_ids)
    if candidates.label_names is None:
        check_n_labels(candidates, n_labels)
    return candidates


def read_pair(probabilities: Any, truth: Any) -> tuple[Candidates, sp.csr_array]:
    """Read the candidates and true labels of the instances that both hold, by id where both have ids."""
    return place_truth(Source.of(probabilities), truth).known()


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
