"""The proof for a selection, and on the way a better selection where the prices point to one."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tailwise.certificates.certificate import Certificate
from tailwise.certificates.prices import NODES, Bound, Prices, descend
from tailwise.certificates.provable import check_formulas
from tailwise.certificates.repair import repair
from tailwise.certificates.spread_bound import SpreadBound
from tailwise.kernels.label_ascent import make_row_prices, price_rows
from tailwise.kernels.label_state import Q

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from tailwise.certificates.repair import Climb
    from tailwise.kernels.set_worth import Worth
    from tailwise.selection.observer import Observer
    from tailwise.selection.problem import Outcome, Problem, Proving

# The price of what is not for sale.
BEYOND_WORTH = 1e6
# Rounds after which the prices are good enough to look for a better selection, besides the last.
REPAIR_ROUNDS = (12, 25, 50)


@dataclass(frozen=True)
class Proof:
    """An upper bound for all selections of candidates, before empty slots are filled."""

    prices: Prices
    offset: float  # what the utility is worth with nothing selected, which prices say nothing of
    largest_fill: float  # the most that an empty slot can gain by a label of probability 0
    seconds: float
    interrupted: bool
    finished: bool

    def certificate(self, problem: Problem, value: float, filled: float = 0.0) -> Certificate:
        """The certificate for a selection of this value; `filled` is what filling added to the one that was found."""
        rules, judged = problem.rules, problem.judged
        # What is linear is filled in the best way there is; of the rest a slot gains at most its largest fill.
        is_full = judged is None or bool(((judged.labels >= 0).sum(axis=1) == rules.budgets).all())
        if not (problem.expectation.is_linear and is_full and not rules.has_optional_labels):
            filled = float((rules.budgets - rules.least).sum()) * self.largest_fill if rules.fills else 0.0
        upper = np.array(self.prices.history) + self.offset + filled
        return Certificate(
            value,
            float(upper[-1]),
            len(upper),
            self.seconds,
            self.prices.best[: problem.n_instances],
            tuple(upper.tolist()),
            problem.utility,
            problem.expectation.name,
            self.interrupted,
            self.finished,
        )


def prove(
    problem: Problem, outcome: Outcome, proving: Proving, climb: Climb | None, observer: Observer
) -> tuple[Outcome, Proof | None]:
    """Bound the value of every selection of candidates; the outcome is the best one that was found on the way.

    Without a way to climb, nothing is looked for, and the outcome stays as it is. After Ctrl-C, or when time is over,
    it is the best so far, without a proof where no round was finished.
    """
    begin, expectation = time.perf_counter(), problem.expectation
    rounds = proving.rounds if problem.rules.has_budget else 1
    if expectation.is_linear or not problem.rules.has_budget:
        climb = None  # what is linear is optimal already, and without a budget every label has its best set
    prices, interrupted, finished = None, False, False
    try:
        worth = check_formulas(problem)
        start, least, room = _starting_prices(problem, outcome)
        offset = expectation.value_of_nothing()
        offset += NODES * abs(offset) if expectation.uses_nodes else 0.0
        sizes = outcome.state.counts[:, Q]
        has_time, needs_shares = observer.has_time, climb is not None
        with _make_bound(problem, worth, room, sizes, has_time, needs_shares=needs_shares) as bound:
            for prices in descend(bound, start, least, rounds):
                observer.told("proof", [upper + offset for upper in prices.history], 0, outcome.state)
                ends = len(prices.history) == rounds or prices.is_settled
                is_close = _is_close(problem, outcome, prices, offset, proving)
                is_last = ends or not observer.goes_on()
                if climb is not None and not is_close and (is_last or len(prices.history) in REPAIR_ROUNDS):
                    outcome = repair(problem, outcome, prices.shares, climb, observer)
                    is_close = _is_close(problem, outcome, prices, offset, proving)
                finished = ends or is_close
                if finished or is_last or outcome.interrupted:
                    break
    except KeyboardInterrupt:
        interrupted = True
    outcome = replace(outcome, interrupted=outcome.interrupted or interrupted)
    if prices is None:
        return outcome, None
    seconds = time.perf_counter() - begin
    return outcome, Proof(prices, offset, _largest_fill(worth), seconds, outcome.interrupted, finished)


@contextmanager
def _make_bound(
    problem: Problem, worth: Worth, room: NDArray, sizes: NDArray, has_time: Callable[[], bool], *, needs_shares: bool
) -> Iterator[Bound]:
    """The bound of all labels, and if that is needed, how often candidates are in best sets."""
    engine, columns = problem.engine, problem.candidates.columns(problem.engine)
    if not engine.is_elsewhere(columns.values.size):
        yield Bound(worth, columns, room, sizes, engine, has_time=has_time)
        return
    with SpreadBound(worth, problem.expectation.recipe, columns, engine, tells_sets=needs_shares) as elsewhere:
        yield Bound(worth, columns, room, sizes, engine, elsewhere, has_time=has_time, keeps_shares=needs_shares)


def _is_close(problem: Problem, outcome: Outcome, prices: Prices, offset: float, proving: Proving) -> bool:
    value = problem.expectation.value(outcome.state)
    return prices.upper + offset <= value + proving.target_gap * abs(value)


def _largest_fill(worth: Worth) -> float:
    """Only what is linear in q can gain by an instance of probability 0."""
    return max(0.0, float(worth.terms.linear[:, 1].max(initial=0.0)))


def _starting_prices(problem: Problem, outcome: Outcome) -> tuple[NDArray, NDArray, NDArray]:
    """Halfway between the weakest label that an instance has and the best that it has not; the least; the room."""
    n, room = problem.candidates.n_instances, problem.rules.most
    if not problem.rules.has_budget:
        is_excluded = np.arange(n) >= problem.n_instances
        return np.where(is_excluded, BEYOND_WORTH, 0.0), np.zeros(n), np.zeros(n, dtype=np.int64)
    rows, positions, state = problem.candidates.rows, outcome.positions, outcome.state
    held = (positions >= 0).sum(axis=1)
    terms, prices = problem.expectation.terms, make_row_prices(n)
    problem.engine.split(n, lambda a, b: price_rows(rows, terms, state, positions, held, prices, a, b))
    weakest = np.where(held < room, 0.0, prices.weakest)  # an empty slot is worth nothing
    scale = np.abs(weakest[np.isfinite(weakest)]).max(initial=1e-12)
    # An instance that takes all its candidates pays any price, one that takes nothing asks any.
    other = np.where(np.isfinite(prices.other), prices.other, weakest - scale)
    start = np.where(room > 0, (weakest + other) / 2, BEYOND_WORTH)
    return start, _least_prices(problem), room


def _least_prices(problem: Problem) -> NDArray:
    """No price is below 0 for an instance that may leave slots empty, or whose given selection does."""
    may_leave = problem.rules.least < problem.rules.most
    if problem.judged is not None:
        may_leave |= (problem.judged.labels >= 0).sum(axis=1) < problem.rules.least
    return np.where(may_leave, 0.0, -np.inf)
