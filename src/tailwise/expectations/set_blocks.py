"""What a set of instances adds to a label, by an expectation: what label moves and upper bounds stand on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tailwise.kernels import nodes as kernels
from tailwise.kernels.curvature import AFFINE, PROPORTIONAL
from tailwise.kernels.label_state import CURVATURE
from tailwise.kernels.set_worth import BLOCK_RATIO, Worth

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.expectations.expectation import Expectation
    from tailwise.kernels.label_state import Terms
    from tailwise.kernels.nodes import Nodes

__all__ = ["list_blocks", "make_worth", "with_terms"]


def make_worth(expectation: Expectation, blocks: NDArray, nodes: Nodes) -> Worth:
    """The worth of every set of candidates of every label.

    `blocks` say where the blocks of each label start, and `nodes` hold those of all blocks; see `list_blocks`. What is
    expected over laws enters by the semi-empirical value.
    """
    terms, context = expectation.terms, expectation.context
    coverage = terms.coverage
    if coverage.size and context.log_failure is not None:
        coverage = coverage * np.exp(context.log_failure)
    worth = Worth(
        terms,
        np.stack([context.t, context.q, expectation.batch.condition_positives], axis=1),
        expectation.candidates.condition_positives(),
        coverage,
        blocks,
        nodes,
        _curves_above(blocks, nodes),
        has_nodes=blocks.size > 0,
        has_base=bool(context.q.any() or context.t.any()),
        is_curved=False,
        depends_on_size=bool(terms.formulas.size) or blocks.size > 0,
        falls=False,
    )
    return with_terms(worth, terms)


def with_terms(worth: Worth, terms: Terms) -> Worth:
    """The same worth, where more is known of how formulas bend."""
    curvatures, has_products = terms.factors[:, CURVATURE], worth.curves.shape[2] > 0
    return worth._replace(
        terms=terms,
        is_curved=bool((curvatures > AFFINE).any()) or has_products,
        falls=bool((curvatures == PROPORTIONAL).all()) and not has_products,
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


def _curves_above(blocks: NDArray, nodes: Nodes) -> NDArray:
    """Curves in t and q above the product nodes, which depend on more than that."""
    decay, product = nodes.product[:, kernels.DECAY], nodes.product[:, kernels.PRODUCT]
    if decay.shape[1] == 0:
        return np.empty((0, 3, 0))
    largest = np.repeat(nodes.largest, np.diff(blocks))[:, None]
    tiny = np.finfo(np.float64).tiny  # the last nodes may be no number above zero
    logs = -np.log(np.maximum(1 - largest + largest * decay, tiny))
    rate = np.divide(logs, largest, out=np.zeros_like(decay), where=largest > 0)
    return np.stack([product, np.log(np.maximum(decay, tiny)), rate], axis=1)
