"""Probabilities outside [0, 1] or too small to compute with: corrected if rounding explains them, otherwise refused.

Tables of true labels given as probabilities are refused as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.errors import InputError

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray

__all__ = ["SMALLEST", "refuse_truth", "without_rounding"]

ROUNDING = 1e-6  # a few units of float32 precision, by which a sigmoid may overshoot [0, 1]
FIRST = 1000
SMALLEST = 1e-300  # smaller probabilities are set to 0: they lose precision, and their reciprocals overflow


def without_rounding(values: NDArray, csr: sp.csr_array, known: dict[str, Any]) -> NDArray:
    """Clip values that rounding pushed out of [0, 1]; refuse values further outside."""
    inside = np.clip(values, 0, 1)
    inside[inside < SMALLEST] = 0
    is_wrong = ~(np.abs(values - inside) <= ROUNDING)  # written so that NaN counts as wrong
    if is_wrong.any():
        x = int(np.argmax(is_wrong))
        i, j = int(np.searchsorted(csr.indptr, x, side="right")) - 1, csr.indices[x]
        instance, label = _call(known.get("instance_ids"), i), _call(known.get("label_names"), j)
        came = f"Got {str(values[x]).removesuffix('.0')} for instance {instance}, label {label}."
        remedy = _guess_remedy(values, values[x])
        if "origin" in known and known["origin"].library and known["holds_all_labels"]:
            named = "name its columns: instance='user_id', label='item_id', ..."
            remedy = f"If the table has a row for each entry, {named} {remedy}"
        msg = f"probabilities must lie in [0, 1]. {came} {remedy}"
        raise InputError(msg)
    return inside


def refuse_truth(values: NDArray) -> None:
    """Refuse a table whose values are all 0 or 1, as those of true labels are; files are refused in the same way."""
    first = values[:FIRST]  # which usually decide
    if not np.isin(first, (0, 1)).all():
        return
    ones = int((values == 1).sum())
    if ones > 1 and ones == np.count_nonzero(values):
        msg = (
            f"probabilities as a table must hold probabilities. All {ones:,} of its values other than 0 are 1, as "
            "those of true labels are. Give the table with the probabilities; if its columns have other names, say "
            "which: instance='user_id', label='item_id', probability='score'. To use such values all the same, give "
            "Candidates.of(table)."
        )
        raise InputError(msg)


def _call(ids: Any, number: int) -> str:
    return str(number) if ids is None else repr(ids[number])


def _guess_remedy(values: NDArray, wrong: float) -> str:
    if not np.isfinite(wrong):
        return "Remove or replace such entries; to exclude labels, give a sparse matrix without them."
    if values.min() >= 0 and values.max() <= 100:
        return "If these are percentages, divide them by 100; if they are logits, apply a sigmoid first."
    return "If these are logits, apply a sigmoid first."
