"""Prices for the slots of the instances, changed round by round so that the upper bound they give comes down."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailwise.certificates.price_steps import AgainstExcess, Found, ToOffers
from tailwise.certificates.spread_bound import SpreadBound
from tailwise.engines.engine import Engine
from tailwise.inputs.matrices import cut_evenly
from tailwise.inputs.scratch import make_scratch
from tailwise.kernels.rows import Columns, make_workbench
from tailwise.kernels.set_worth import Worth
from tailwise.kernels.slot_offers import make_offers, merge_offers
from tailwise.kernels.slot_prices import bound_part

# What rounding may take from a sum of positive numbers; and what nodes of exact expectations may, as a share.
ROUNDING, NODES = 1e-12, 1e-5
# Labels are bounded in this many parts for each thread, between which a proof can end.
PARTS = 8
# How much the last round counts in the running mean of the best sets.
RATE = 0.1


@dataclass
class Prices:
    """The state of a proof: the best prices so far, their bound, and what the best sets were on the way."""

    best: NDArray  # (n,)
    shares: NDArray  # uint16 (nnz,), by columns: how often a candidate was in the best set of its label
    upper: float = np.inf
    history: list[float] = field(default_factory=list)
    is_settled: bool = False  # whether every instance is wanted as often as it has room: the bound is the optimum


class Bound:
    """The upper bound as a function of the prices; an instance takes `room` candidates.

    `sizes` are guesses, for each label, of how many instances are in its best set. A round ends without a bound when
    `has_time` says no; it is asked now and then, by any thread.

    On a cluster, workers look for the best sets. Shares, as many as the candidates, are kept if they are of use.
    """

    def __init__(
        self,
        worth: Worth,
        columns: Columns,
        room: NDArray,
        sizes: NDArray,
        engine: Engine,
        elsewhere: SpreadBound | None = None,
        *,
        has_time: Callable[[], bool],
        keeps_shares: bool = True,
    ) -> None:
        self.worth, self.columns, self.room, self.engine = worth, columns, room, engine
        self._elsewhere, self._has_time = elsewhere, has_time
        m, largest = sizes.size, int(np.diff(columns.indptr).max(initial=0))
        n_benches = engine.workers if elsewhere is None else 0
        self._benches = [make_workbench(largest, worth.nodes.linear.shape[2]) for _ in range(n_benches)]
        self._sizes, self._bounds = sizes.astype(np.int64), np.zeros(m)
        self.shares = make_scratch(columns.values.size if keeps_shares else 0, np.uint16, columns.values)
        self._edges = cut_evenly(columns.indptr, PARTS * engine.workers)

    def at(self, prices: NDArray, rate: float, *, wants_offers: bool = False) -> Found | None:
        """The bound, how many labels too many want each instance, and what they offer; None if there was no time."""
        offers = make_offers(prices.size if wants_offers else 0)
        counts = self._count(prices, rate, offers)
        if counts is None:
            return None
        paid = self.room * prices
        lost = ROUNDING * (np.abs(paid).sum() + np.abs(self._bounds).sum())
        # Prices cancel between the two sums, so the share that nodes may lose is one of the worth of the best sets.
        worth = self._bounds.sum() + (counts * prices).sum()
        # Where prices tie with gains these sets may be empty, and the bound itself is the scale.
        lost += NODES * max(abs(worth), abs(paid.sum() + self._bounds.sum())) if self.worth.has_nodes else 0.0
        return Found(float(paid.sum() + self._bounds.sum() + lost), counts - self.room, offers)

    def _count(self, prices: NDArray, rate: float, offers: NDArray) -> NDArray | None:
        """Bring the bounds of all labels and the offers up to date; returns how many best sets each instance is in."""
        if not self._has_time():
            return None
        if self._elsewhere is not None:
            return self._elsewhere.at(prices, self._sizes, self._bounds, self.shares, rate, offers)
        arrays = self.worth, self.columns, prices, self._sizes, self._bounds, self.shares
        counts = np.zeros((self.engine.workers, prices.size), dtype=np.int32)
        more = [offers, *(make_offers(offers.shape[0]) for _ in range(1, self.engine.workers))]
        idle = list(range(self.engine.workers))
        unfinished: list[int] = []

        def bound(part: int, first: int, last: int) -> None:
            if unfinished or not self._has_time():
                unfinished.append(part)
                return
            own = idle.pop()  # lists are popped from and appended to in one step, so that no two threads have the same
            bound_part(*arrays, rate, counts[own], more[own], self._benches[own], first, last)
            idle.append(own)

        self.engine.share(self._edges, bound)
        for found in more[1:]:
            merge_offers(offers, found)
        return None if unfinished else counts.sum(axis=0)


def bound_call(worth: Worth, columns: Columns) -> tuple[Any, tuple[Any, ...]]:
    """The kernel, with arguments of the types that it is called with."""
    numbers, sizes, shares, counts = (np.empty(0, dtype) for dtype in (np.float64, np.int64, np.uint16, np.int32))
    bench = make_workbench(0, worth.nodes.linear.shape[2])
    return bound_part, (worth, columns, numbers, sizes, numbers, shares, RATE, counts, make_offers(0), bench, 0, 0)


def descend(bound: Bound, start: NDArray, least: NDArray, rounds: int) -> Iterator[Prices]:
    """The state after each round, in one object that is brought up to date; there are at most `rounds`, as time allows.

    Prices begin at `start` and never fall below `least`: 0 for an instance that may take fewer, else minus infinity.
    """
    prices = np.maximum(start, least)
    state, best_excess = Prices(prices, bound.shares), np.zeros(0)
    steps: ToOffers | AgainstExcess = ToOffers(prices, bound.room)
    for r in range(1, rounds + 1):
        nears_offers = isinstance(steps, ToOffers)
        found = bound.at(prices, 1.0 if r == 1 else RATE, wants_offers=nears_offers and r < rounds)
        if found is None:
            return
        is_better = found.upper < state.upper
        if is_better or r == 1:
            state.upper, state.best, best_excess = found.upper, prices, found.excess
        state.history.append(state.upper)
        state.is_settled = not found.excess.any()
        yield state
        if r == rounds:
            return  # no round is left that could use other prices
        if nears_offers and not is_better:  # prices that came to meet each other went too far
            steps, prices = AgainstExcess(state.best, bound.room, rounds + 1 - r), state.best
            found = found._replace(excess=best_excess)
        prices = np.maximum(least, steps.step(prices, found))
