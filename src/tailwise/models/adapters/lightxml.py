"""Predictions of LightXML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tailwise.datasets.formats.npy import read_array
from tailwise.errors import InputError
from tailwise.inputs.checks import check_choice
from tailwise.inputs.matrices import as_array, canonical_csr
from tailwise.inputs.paths import is_path
from tailwise.models.adapters.logits import from_shortlist, read_scores, sigmoid
from tailwise.models.adapters.shortlists import check_labels, check_n_labels, from_dense

KINDS = ("probabilities", "logits")


def from_lightxml(
    scores: Any,
    labels: Any = None,
    *,
    kind: str,
    label_map: Any = None,
    n_labels: int | None = None,
    top: int | None = None,
) -> sp.csr_array:
    """Convert the files that LightXML writes with ``--eval_model`` to a CSR matrix of probabilities.

    This follows the repository kongds/LightXML (``src/main.py``, ``src/model.py``, ``src/dataset.py``). For Amazon-670K
    and Wiki-500K it writes ``results/NAME-labels.npy`` and ``results/NAME-scores.npy``, both (n, 100); the scores are
    products of two sigmoids, ``kind="probabilities"``, and a label may be repeated in a row with the same score. For
    other data sets it writes only ``results/NAME-scores.npy``, (n, m): ``kind="logits"``. The files do not state the
    kind, so you must give it. LightXML numbers labels in the order of their names *as text*: 1, 10, 100, 2, ...

    Parameters
    ----------
    scores : array_like or path
        ``NAME-scores.npy`` or its contents, (n, m), or (n, k') with `labels`.
    labels : array_like of int or path, optional
        ``NAME-labels.npy`` or its contents, (n, k').
    kind : {"probabilities", "logits"}
        The kind of scores.
    label_map : mapping or array_like of int, optional
        The relation of its label numbers to yours: the dict that its ``createDataCSV`` returns (from your number as
        text to its number), or an array with your number for each of its labels. Default: the numbers are the same.
    n_labels : int, optional
        Your number of labels m. Default: the number of columns, or the largest number in `label_map` + 1.
    top : int, optional
        Keep only this number of most probable labels of each instance.

    Returns
    -------
    csr_array of shape (n, m)

    Examples
    --------
    >>> from tailwise.models.adapters import from_lightxml
    >>> label_map = {"0": 0, "10": 1, "2": 2}  # sorted as text
    >>> matrix = from_lightxml([[0.75, 0.5]], [[1, 2]], kind="probabilities", label_map=label_map, n_labels=11)
    >>> matrix.indices, matrix.data
    (array([ 2, 10], dtype=int32), array([0.5 , 0.75]))
    """
    check_choice("kind", kind, KINDS)
    values = read_scores(read_array(scores) if is_path(scores) else scores, "scores")
    _check_kind(values, kind)
    numbers = None if label_map is None else _read_label_map(label_map)
    if n_labels is None and numbers is not None:
        n_labels = int(numbers.max()) + 1
    to_probabilities = sigmoid if kind == "logits" else np.asarray
    if labels is not None:
        shortlist = _drop_repeated(as_array(read_array(labels) if is_path(labels) else labels, "labels"), values)
        return from_shortlist(to_probabilities(values), _renumber(shortlist, numbers, n_labels), n_labels, top)
    return _renumber_columns(from_dense(values, to_probabilities, top), numbers, n_labels)


def _check_kind(scores: NDArray, kind: str) -> None:
    lowest, highest = scores.min(), scores.max()
    looks_like = "probabilities" if lowest >= 0 and highest <= 1 else "logits"
    if looks_like != kind:
        msg = (
            f"scores must be {kind}, as given by kind={kind!r}. Got values from {lowest:g} to {highest:g}, which are "
            f"{looks_like}. Use kind={looks_like!r}."
        )
        raise InputError(msg)


def _read_label_map(label_map: Any) -> NDArray:
    """Return your number of each of its labels."""
    if isinstance(label_map, Mapping):
        try:
            pairs = np.array([(int(theirs), int(yours)) for yours, theirs in label_map.items()]).reshape(-1, 2)
        except (TypeError, ValueError) as error:
            msg = (
                "label_map as a mapping must map your label numbers (as text) to those of LightXML. "
                f"Got {next(iter(label_map.items()))!r}. Give an array with your number for each of its labels instead."
            )
            raise InputError(msg) from error
        if sorted(pairs[:, 0]) != list(range(len(pairs))):
            msg = f"label_map must number the labels of LightXML from 0 to {len(pairs) - 1}. Got other numbers."
            raise InputError(msg)
        numbers = pairs[np.argsort(pairs[:, 0]), 1]
    else:
        numbers = as_array(label_map, "label_map")
    if numbers.ndim != 1 or numbers.size == 0 or numbers.dtype.kind not in "iu" or numbers.min() < 0:
        msg = f"label_map must hold one non-negative label number per label. Got {label_map!r:.80}."
        raise InputError(msg)
    if np.unique(numbers).size < numbers.size:
        msg = "label_map must map to different labels. Got the same number twice."
        raise InputError(msg)
    return numbers


def _drop_repeated(labels: NDArray, scores: NDArray) -> NDArray:
    """Keep each label of a row once, with its largest score; LightXML pads short groups by repeating a label."""
    if labels.ndim != 2 or labels.shape != scores.shape or labels.dtype.kind not in "iu":
        msg = f"labels must be integers in the shape of scores, {scores.shape}. Got {labels.dtype} {labels.shape}."
        raise InputError(msg)
    order = np.lexsort((-scores, labels), axis=1)
    ordered = np.take_along_axis(labels, order, axis=1).astype(np.int64)
    ordered[:, 1:][ordered[:, 1:] == ordered[:, :-1]] = -1
    kept = np.empty_like(ordered)
    np.put_along_axis(kept, order, ordered, axis=1)
    return kept


def _renumber(labels: NDArray, numbers: NDArray | None, n_labels: int | None) -> NDArray:
    if numbers is None:
        return labels
    is_used = labels != -1
    check_labels(labels[is_used], numbers.size)
    check_labels(numbers, n_labels or 0)
    return np.where(is_used, numbers[labels], -1)


def _renumber_columns(matrix: sp.csr_array, numbers: NDArray | None, n_labels: int | None) -> sp.csr_array:
    n_labels = matrix.shape[1] if n_labels is None else n_labels
    check_n_labels(n_labels)
    numbers = np.arange(matrix.shape[1]) if numbers is None else numbers
    if numbers.size != matrix.shape[1]:
        msg = f"label_map must cover the {matrix.shape[1]} labels of scores. Got {numbers.size}."
        raise InputError(msg)
    columns = check_labels(numbers, n_labels)[matrix.indices].astype(np.int32)
    moved = sp.csr_array((matrix.data, columns, matrix.indptr), shape=(matrix.shape[0], n_labels))
    return canonical_csr(moved, "scores")
