"""The weights of all nodes, grouped by parent and feature."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tailwise.kernels.node_weights import Weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Packed", "concatenate"]

# Child numbers take two bytes if they fit.
SMALL = np.iinfo(np.uint16).max


class Packed(NamedTuple):
    """The weights of the children of one parent."""

    slots: NDArray  # int32 (slots + 1, 2)
    children: NDArray  # (entries,)
    values: NDArray  # float32 (entries,)
    biases: NDArray  # float32 (children,)


def concatenate(packed: Sequence[Packed], parents: NDArray, first_children: NDArray) -> Weights:
    """Concatenate the tables of all parents, which are ascending."""
    n_nodes = first_children.size - 1
    n_slots, n_entries = np.zeros(n_nodes + 1, np.int64), np.zeros(n_nodes + 1, np.int64)
    n_slots[parents + 1] = [len(table.slots) for table in packed]
    n_entries[parents + 1] = [len(table.values) for table in packed]
    child_type = np.uint16 if np.diff(first_children).max() <= SMALL else np.int32
    return Weights(
        np.cumsum(n_slots),
        np.cumsum(n_entries),
        np.concatenate([table.slots for table in packed]),
        np.concatenate([table.children.astype(child_type) for table in packed]),
        np.concatenate([table.values for table in packed]),
        np.concatenate([np.zeros(1, np.float32), *(table.biases for table in packed)]),
    )
