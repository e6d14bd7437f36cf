"""Inputs that are matched by position because only one of them has ids."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from tailwise.errors import UnknownIdsWarning

if TYPE_CHECKING:
    from tailwise.inputs.ids import Ids
    from tailwise.inputs.joining import Space

__all__ = ["MATCHED_BY_ID", "warn_of_positions"]

MATCHED_BY_ID = "Give ids to both: as tables or files of ids, or as a DataFrame with a column for each label."


def warn_of_positions(one: Space, other: Space, *, stacklevel: int = 4) -> None:
    """Warn, once for both, if only one of two inputs lists instances or labels by id.

    Ids that a caller put in an order, as those of the rows and columns of a DataFrame are, need no warning.
    """
    for listed, plain in ((one, other), (other, one)):
        pairs = {
            "instances": (listed.instance_ids, plain.instance_ids),
            "labels": (listed.label_names, plain.label_names),
        }
        found = {what: ids for what, (ids, others) in pairs.items() if others is None and _says_no_order(ids)}
        if found:
            such = " and ".join(repr(ids[0]) for ids in found.values() if ids is not None)
            words = (
                f"{listed.name} lists its {' and '.join(found)} by id, such as {such}; {plain.name} does not. They are "
                f"matched by position, in the order in which {listed.name} first names them. {MATCHED_BY_ID}"
            )
            warnings.warn(words, UnknownIdsWarning, stacklevel=stacklevel)


def _says_no_order(ids: Ids | None) -> bool:
    """Whether ids stand in the order in which entries happen to name them, other than 0, 1, 2, ..."""
    if ids is None or not ids.by_appearance or not len(ids):
        return False
    return not np.array_equal(ids.values, np.arange(len(ids)))
