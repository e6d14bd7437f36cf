"""What a set of instances is worth to a label, by an expectation: what label moves and upper bounds stand on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tailwise.kernels import label_state as kernels
from tailwise.kernels import nodes as nodes
from tailwise.kernels.set_worth import BLOCK_RATIO, CURVED, FALLING, SHAPE, Worth
from tailwise.utilities.macro import PROPORTIONAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tailwise.kernels.label_state import Objective
    from tailwise.kernels.nodes import Quadrature
    from tailwise.utilities.macro import Formula

__all__ = ["list_blocks", "make_worth"]


def make_worth(
    objective: Objective, formulas: Sequence[Formula], reach: NDArray, blocks: NDArray, quadrature: Quadrature
) -> Worth:
    """The worth of every set of candidates of every label.

    Parameters
    ----------
    formulas : sequence of Formula
        Those of the objective. What is expected over laws enters by the semi-empirical value.
    reach : ndarray of shape (m,)
        The largest t that a set can have.
    blocks, quadrature
        Where the blocks of each label start, and the nodes of all blocks; see `list_blocks`.
    """
    factors = objective.factors.copy()
    factors[:, SHAPE] = [FALLING if formula.curvature == PROPORTIONAL else CURVED for formula in formulas]
    has_products = quadrature.product.shape[2] > 0
    return Worth(
        objective.linear,
        objective.totals[:, kernels.P].copy(),
        reach,
        objective.n_instances,
        objective.formulas,
        factors,
        objective.coverage,
        blocks,
        quadrature,
        _curves_above(blocks, quadrature),
        has_nodes=blocks.size > 0,
        is_curved=bool((factors[:, SHAPE] == CURVED).any()) or has_products,
        depends_on_size=bool(factors.size) or blocks.size > 0,
        falls=bool((factors[:, SHAPE] == FALLING).all()) and not has_products,
    )


def list_blocks(sizes: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Blocks of the sizes that sets of each label can have: where they start, their labels, where nodes belong."""
    counts = np.zeros_like(sizes)
    first = 1
    while first <= sizes.max(initial=0):
        counts += sizes >= first
        first *= BLOCK_RATIO
    blocks = np.concatenate([[0], np.cumsum(counts)])
    labels = np.repeat(np.arange(sizes.size), counts)
    number = np.arange(labels.size) - blocks[labels]
    # Within a factor of two of the size they are placed for, nodes are exact to 1e-7.
    return blocks, labels, 2.0 * BLOCK_RATIO ** number.astype(np.float64)


def _curves_above(blocks: NDArray, quadrature: Quadrature) -> NDArray:
    """Curves in t and q above the product nodes, which depend on more than that."""
    decay, product = quadrature.product[:, nodes.DECAY], quadrature.product[:, nodes.PRODUCT]
    if decay.shape[1] == 0:
        return np.empty((0, 3, 0))
    largest = np.repeat(quadrature.largest, np.diff(blocks))[:, None]
    tiny = np.finfo(np.float64).tiny  # the last nodes may be no number above zero
    logs = -np.log(np.maximum(1 - largest + largest * decay, tiny))
    rate = np.divide(logs, largest, out=np.zeros_like(decay), where=largest > 0)
    return np.stack([product, np.log(np.maximum(decay, tiny)), rate], axis=1)
