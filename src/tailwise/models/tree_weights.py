"""The weights of all nodes: the children of one parent together, by feature."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tailwise.kernels.node_weights import Weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Packed", "concatenate"]

# Entries name a child by two bytes wherever they suffice.
SMALL = np.iinfo(np.uint16).max


class Packed(NamedTuple):
    """What was learned for the children of one parent."""

    slots: NDArray  # int32 (slots + 1, 2)
    children: NDArray  # (entries,)
    values: NDArray  # float32 (entries,)
    biases: NDArray  # float32 (children,)


def concatenate(packed: Sequence[Packed], parents: NDArray, first_children: NDArray) -> Weights:
    """The tables of all parents, in the order of the nodes.

    Parameters
    ----------
    packed : sequence of Packed
        One for each of the parents.
    parents : ndarray
        The nodes they belong to, ascending.
    first_children : ndarray, shape (nodes + 1,)
        Of the tree.
    """
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
