"""Slots of a selection whose labels only make up the number k."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tailwise.inputs.chosen import EMPTY
from tailwise.selection.reasons import LITTLE, UNLIKELY

if TYPE_CHECKING:
    from tailwise.selection.present import Selection

__all__ = ["describe_makeweights"]


def describe_makeweights(selection: Selection) -> tuple[str, ...]:
    """Say how many slots hold labels that are unlikely and gain next to nothing: a smaller budget has none of them."""
    probabilities, gains = selection.probabilities, selection.gains
    if probabilities is None or gains is None or not (probabilities < UNLIKELY).any():
        return ()
    highest = np.where(np.isnan(gains), 0.0, gains).max(axis=1, keepdims=True)
    count = int(((probabilities < UNLIKELY) & (gains < np.maximum(LITTLE * highest, 0.0))).sum())
    if not count:
        return ()
    n_slots = int((selection.labels != EMPTY).sum())
    return (
        f"In {count:,} of {n_slots:,} slots ({count / n_slots:.1%}), the label only makes up the number k: it is less "
        f"than {UNLIKELY:.0%} likely and gains next to nothing. Use a smaller k, a budget for each instance (k as an "
        "array), or no budget (k=None, -k none).",
    )
