"""How many labels each instance gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.errors import InputError
from tailwise.inputs.checks import is_integer
from tailwise.inputs.matrices import as_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["check_budgets"]


def check_budgets(k: Any, n_instances: int, n_labels: int) -> NDArray | None:
    """The budget of each instance from an integer or an array of integers; None for no budget."""
    if k is None:
        return None
    budgets = as_array(k, "k")
    if is_integer(k):
        smallest = 1
    elif budgets.ndim == 1 and budgets.dtype.kind in "iu":
        smallest = 0
        if budgets.size != n_instances:
            msg = f"k as an array must hold one budget per instance, {n_instances}. Got {budgets.size}."
            raise InputError(msg)
    else:
        msg = f"k must be an integer, an array of integers with one budget per instance, or None. Got {k!r}."
        raise InputError(msg)
    if budgets.min() < smallest or budgets.max() > n_labels:
        came = budgets.min() if budgets.min() < smallest else budgets.max()
        msg = (
            f"k must be an integer between {smallest} and {n_labels}, the number of labels. Got {came}. "
            "Use k=None (-k none) for no budget."
        )
        raise InputError(msg)
    return np.broadcast_to(budgets, n_instances).astype(np.int64)
