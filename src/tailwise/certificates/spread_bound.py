"""The bound on a cluster: each worker looks for the best sets of some labels, of which it keeps what they are worth."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tailwise.engines.dask_messages import own_copy
from tailwise.inputs.scratch import make_scratch
from tailwise.kernels.label_state import PARAMETERS, STRIDE, Terms
from tailwise.kernels.rows import Columns, make_workbench
from tailwise.kernels.set_worth import Worth
from tailwise.kernels.slot_offers import make_offers, merge_offers
from tailwise.kernels.slot_prices import bound_part, note_best_sets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.engines import Engine
    from tailwise.expectations.expectation import MakeTerms, Recipe

__all__ = ["SpreadBound", "bound_labels_of"]


class Own:
    """What a worker makes of a part: kept with it, as long as the driver wants that kept, and never sent."""

    def __init__(self) -> None:
        self.lock = threading.Lock()  # held while a kernel writes to the worth
        self.worth: Worth | None = None
        self.make_terms: MakeTerms | None = None  # holds the parameters whose addresses the terms of the worth have

    def __reduce__(self) -> Any:
        return Own, ()


class WorthPart(NamedTuple):
    """What sets of the labels first to last are worth, without addresses, which hold in one process only."""

    first: int
    last: int
    make_terms: MakeTerms
    factors: NDArray  # of the terms, which may say more of how formulas bend
    worth: Any  # a Worth of these labels, with None for the terms
    own: Own
    tells_sets: bool  # whether it is wanted which candidates are in the best sets


class SpreadBound:
    """The best sets of all labels at the prices of the instances, found by the workers of a cluster.

    For use in a ``with`` statement, at the end of which workers drop what they keep for it.
    """

    def __init__(self, worth: Worth, recipe: Recipe, columns: Columns, engine: Engine, *, tells_sets: bool) -> None:
        self._columns, self._engine = columns, engine
        self._parts = [
            WorthPart(
                first, last, recipe.make_terms, worth.terms.factors, _cut_worth(worth, first, last), Own(), tells_sets
            )
            for first, last in engine.cut(columns.indptr)
        ]

    def __enter__(self) -> SpreadBound:
        return self

    def __exit__(self, *error: object) -> None:
        self._engine.drop_kept(self._parts)

    def at(
        self, prices: NDArray, sizes: NDArray, bounds: NDArray, shares: NDArray, rate: float, offers: NDArray
    ) -> NDArray:
        """Write the bounds and sizes of the best sets, (m,), and, if there are shares of candidates, these; and offers.

        Returns how many of the best sets each instance is in.
        """
        counts = np.zeros(prices.size, dtype=np.int64)

        def put(number: int, found: tuple[NDArray, ...]) -> None:
            nonlocal counts
            first, last = self._parts[number].first, self._parts[number].last
            bounds[first:last], sizes[first:last], more, bits, own_offers = found
            counts += more
            merge_offers(offers, own_offers)
            if shares.size:
                pointers = self._columns.indptr
                note_best_sets(shares[pointers[first] : pointers[last]], bits, rate)

        arguments = [(prices, sizes[part.first : part.last], offers.shape[0]) for part in self._parts]
        self._engine.spread(bound_labels_of, self._columns, arguments, put, self._parts)
        return counts


def bound_labels_of(
    columns: Columns, part: WorthPart, prices: NDArray, sizes: NDArray, n_offers: int
) -> tuple[NDArray, ...]:
    """Bounds and sizes of the best sets of some labels, and how many of these sets each instance is in.

    If that is asked for, also a bit for every candidate, whether it is in the best set of its label; and offers for
    as many instances as these are wanted for: all or none.
    """
    first, last = columns.indptr[part.first], columns.indptr[part.last]
    pointers = columns.indptr[part.first : part.last + 1] - first
    pointers.flags.writeable = False
    mine = Columns(pointers, *(array[first:last] for array in columns[1:]))
    bounds, counts = np.zeros(sizes.size), np.zeros(prices.size, dtype=np.int32)
    bench = make_workbench(int(np.diff(pointers).max(initial=0)), part.worth.nodes.linear.shape[2])
    shares = make_scratch(mine.values.size, np.uint16, mine.values)  # of this round only
    offers = make_offers(n_offers)
    with part.own.lock:
        bound_part(_find_own(part), mine, prices, sizes, bounds, shares, 1.0, counts, offers, bench, 0, sizes.size)
    bits = np.packbits(shares[: shares.size * part.tells_sets] > 0, bitorder="little")
    return bounds, sizes, counts, bits, offers


def _find_own(part: WorthPart) -> Worth:
    """A copy that kernels may write to, with terms of this process: candidates are multiplied into nodes once."""
    own = part.own
    if own.worth is None:
        own.make_terms, terms = part.make_terms, part.make_terms()[0]._replace(factors=part.factors)
        own.worth = own_copy(part.worth)._replace(terms=_cut_terms(terms, part.first, part.last))
    return own.worth


def _cut_terms(terms: Terms, first: int, last: int) -> Terms:
    formulas = terms.formulas.copy()
    formulas[:, PARAMETERS] += first * formulas[:, STRIDE]
    return terms._replace(
        linear=terms.linear[first:last],
        formulas=formulas,
        weights=np.ascontiguousarray(terms.weights[:, first:last]),
        coverage=terms.coverage[first:last],
    )


def _cut_worth(worth: Worth, first: int, last: int) -> Worth:
    """What sets of the labels first to last are worth; views, without terms."""
    blocks, ends, nodes, curves = worth.blocks, worth.ends, worth.nodes, worth.curves
    if blocks.size:
        rows = slice(blocks[first], blocks[last])
        linear, product, largest = nodes.linear[rows], nodes.product[rows], nodes.largest[first:last]
        nodes = nodes._replace(linear=linear, product=product, largest=largest)
        blocks, ends, curves = blocks[first : last + 1] - blocks[first], ends[rows], curves[rows]
    return worth._replace(
        terms=None,  # type: ignore[arg-type]  # made where it is used
        base=worth.base[first:last],
        reach=worth.reach[first:last],
        coverage=worth.coverage[first:last],
        blocks=blocks,
        ends=ends,
        nodes=nodes,
        known=worth.known[first:last],
        curves=curves,
    )
