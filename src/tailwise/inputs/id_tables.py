"""Label probabilities given entry by entry: tables of (instance, label, probability), and pairs of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from tailwise.errors import InputError
from tailwise.inputs.checks import check_numbering, check_size
from tailwise.inputs.matrices import as_array, as_numbers, canonical_csr, check_most_labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LIBRARIES", "read_pair", "read_table"]

COLUMNS = ("instance", "label", "probability")
LIBRARIES = ("pandas", "polars", "pyarrow")


def read_table(table: Any, n_labels: int | None = None) -> sp.csr_array:
    """Read a table with the columns instance, label and probability, one row per entry."""
    names = getattr(table, "column_names", None) or list(getattr(table, "columns", ()))
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        msg = f"probabilities as a table must have the columns {', '.join(COLUMNS)}. Missing: {', '.join(missing)}."
        raise InputError(msg)
    instances, labels, values = (np.asarray(table[name]) for name in COLUMNS)
    return _build(instances, labels, as_numbers(values, "probabilities"), None, n_labels)


def read_pair(pair: tuple, n_labels: int | None = None) -> sp.csr_array:
    """Read a pair (labels, values) of arrays of shape (n, k'), with -1 for an empty slot."""
    if len(pair) != 2:
        msg = f"probabilities as a tuple must be a pair (labels, values). Got {len(pair)} parts."
        raise InputError(msg)
    labels, values = as_array(pair[0], "labels"), as_numbers(pair[1], "probabilities")
    if labels.ndim != 2 or labels.shape != values.shape:
        msg = f"labels and values must have the same shape (n, k'). Got {labels.shape} and {values.shape}."
        raise InputError(msg)
    used = labels != -1
    rows = np.broadcast_to(np.arange(labels.shape[0])[:, None], labels.shape)[used]
    return _build(rows, labels[used], values[used], labels.shape[0], n_labels)


def _build(
    instances: NDArray, labels: NDArray, values: NDArray, n_instances: int | None, n_labels: int | None
) -> sp.csr_array:
    for name, numbers in (("instance", instances), ("label", labels)):
        if numbers.dtype.kind not in "iu" or (numbers.size and numbers.min() < 0):
            came = numbers.dtype if numbers.dtype.kind not in "iu" else numbers.min()
            msg = f"{name} numbers must be integers of at least 0. Got {came}. Map names to 0, 1, 2, ... first."
            raise InputError(msg)
    n = n_instances if n_instances is not None else _count(instances, "instance")
    m = check_size("n_labels", n_labels) if n_labels is not None else _count(labels, "label")
    check_most_labels(m)
    if labels.size and labels.max() >= m:
        msg = f"label numbers must be below n_labels={m}. Got {labels.max()}. Give a larger n_labels."
        raise InputError(msg)
    return canonical_csr(sp.coo_array((values, (instances, labels)), shape=(n, m)), "probabilities")


def _count(numbers: NDArray, what: str) -> int:
    """The largest number + 1."""
    size = int(numbers.max()) + 1 if numbers.size else 0
    check_numbering("probabilities", what, size, numbers.size)
    return size
