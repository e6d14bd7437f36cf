"""Macro metrics by training frequency: tail, torso, head."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailwise.errors import InputError
from tailwise.metrics.counts import LabelCounts
from tailwise.metrics.metric_formulas import LABEL_METRICS

DEFAULT_EDGES = (10.0, 100.0)


class FrequencyBin(NamedTuple):
    """Averages of the labels in one range of training counts."""

    name: str
    n_labels: int
    macro_precision: float
    macro_recall: float
    macro_f1: float
    coverage: float


def check_edges(bins: Any) -> NDArray:
    """Check the edges between bins, and convert them to an array."""
    try:
        edges = np.asarray(bins, dtype=np.float64)
    except (TypeError, ValueError):
        edges = np.array(np.nan)
    if edges.ndim != 1 or edges.size == 0 or not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
        msg = f"bins must be one or more ascending training counts. Got {bins!r}. Use bins=(10, 100), for instance."
        raise InputError(msg)
    return edges


def average_by_frequency(counts: LabelCounts, training_counts: NDArray, edges: NDArray) -> list[FrequencyBin]:
    """Average each bin, from rare to frequent labels; a count equal to an edge belongs to the lower bin."""
    bins = np.searchsorted(edges, training_counts[counts.label], side="left")
    return [_average_bin(counts.where(bins == b), name) for b, name in enumerate(_name_bins(edges))]


def _name_bins(edges: NDArray) -> list[str]:
    words = ["tail"] + ["torso"] * (edges.size - 1)
    return [f"{word} (<= {edge:g})" for word, edge in zip(words, edges, strict=True)] + [f"head (> {edges[-1]:g})"]


def _average_bin(counts: LabelCounts, name: str) -> FrequencyBin:
    metrics = ("macro-precision", "macro-recall", "macro-f1", "coverage")
    return FrequencyBin(name, counts.label.size, *(counts.average(LABEL_METRICS[metric]) for metric in metrics))
