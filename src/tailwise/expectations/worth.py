"""From an expectation to what a set of instances is worth to a label: what label moves and upper bounds stand on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tailwise.expectations.exact import Exact
from tailwise.expectations.semi_empirical import NO_QUADRATURE, SemiEmpirical
from tailwise.kernels import objective as kernels
from tailwise.kernels import quadrature as nodes
from tailwise.kernels.worth import AFFINE, BLOCK_RATIO, CURVED, FALLING, Worth
from tailwise.utilities.macro import PROPORTIONAL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from tailwise.kernels.columns import Columns
    from tailwise.kernels.quadrature import Quadrature
    from tailwise.utilities.macro import Formula

__all__ = ["make_worth"]


def make_worth(expectation: SemiEmpirical, columns: Columns, affine: Iterable[Formula] = ()) -> Worth:
    """The worth of every set of candidates of every label.

    Parameters
    ----------
    expectation : SemiEmpirical
        Or Exact. Formulas that are expected over their laws enter by the semi-empirical value.
    columns : Columns
        Its candidates by label.
    affine : iterable of Formula
        Formulas of the user that are known to be affine in t at fixed q and p.
    """
    objective, affine = expectation.objective, tuple(affine)
    factors = objective.factors.copy()
    for f, (_, formula) in enumerate(expectation.formulas):
        factors[f, 2] = FALLING if formula.curvature == PROPORTIONAL else AFFINE if formula in affine else CURVED
    blocks, quadrature = _place_blocks(expectation, columns)
    p = objective.totals[:, kernels.P].copy()
    return Worth(
        objective.linear,
        p,
        expectation.candidates.condition_positives(),
        objective.n_instances,
        objective.formulas,
        factors,
        objective.coverage,
        blocks,
        quadrature,
        _curves_above(blocks, quadrature),
        has_nodes=blocks.size > 0,
        is_curved=bool((factors[:, 2] == CURVED).any()) or quadrature.product.shape[2] > 0,
        depends_on_size=bool(factors.size) or blocks.size > 0,
        falls=bool((factors[:, 2] == FALLING).all()) and quadrature.product.shape[2] == 0,
    )


def _place_blocks(expectation: SemiEmpirical, columns: Columns) -> tuple[NDArray, Quadrature]:
    """Nodes for all sizes that a label's set can have, block by block."""
    if not (isinstance(expectation, Exact) and expectation.uses_quadrature):
        return np.empty(0, dtype=np.int64), NO_QUADRATURE
    sizes = np.diff(columns.indptr)
    counts = np.zeros_like(sizes)
    first, b = 1, 0
    while first <= sizes.max(initial=0):
        counts += sizes >= first
        first, b = first * BLOCK_RATIO, b + 1
    blocks = np.concatenate([[0], np.cumsum(counts)])
    labels = np.repeat(np.arange(sizes.size), counts)
    number = np.arange(labels.size) - blocks[labels]
    # Within a factor of two of the size they are placed for, nodes are exact to 1e-7.
    return blocks, expectation.quadrature_at(columns, labels, 2.0 * BLOCK_RATIO ** number.astype(np.float64))


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
