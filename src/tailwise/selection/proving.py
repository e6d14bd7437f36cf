"""The proof for a selection, and on the way a better selection where the prices point to one."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from tqdm import tqdm

from tailwise.certificates import Bound, Certificate, Prices, descend
from tailwise.certificates.provable import check_formulas, check_supported
from tailwise.kernels.label_ascent import make_row_prices, price_rows
from tailwise.selection.problem import Certification, Outcome, Problem
from tailwise.selection.repairing import repair

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.kernels.set_worth import Worth

__all__ = ["Proof", "prove"]

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

    def certificate(self, problem: Problem, value: float, filled: float) -> Certificate:
        """The certificate for a selection of this value, when filling adds at most `filled`."""
        upper = np.array(self.prices.history) + self.offset + filled
        return Certificate(
            value,
            float(upper[-1]),
            len(upper),
            self.seconds,
            self.prices.best,
            tuple(upper.tolist()),
            problem.utility,
            problem.expectation.name,
            self.interrupted,
        )


def prove(problem: Problem, outcome: Outcome, aim: Certification) -> tuple[Outcome, Proof | None]:
    """Bound the value of every selection of candidates; the outcome is the best one that was found on the way.

    After Ctrl-C that is the best so far, without a proof where no round was finished.
    """
    begin, expectation = time.perf_counter(), problem.expectation
    check_supported(problem.utility, expectation)
    rounds = aim.rounds if problem.feasible.has_budget else 1
    prices, interrupted = None, False
    bar = tqdm(unit=" rounds", total=rounds, disable=not problem.settings.progress, desc="upper bound")
    try:
        worth = check_formulas(expectation, fills=problem.feasible.fills)
        start, least, room = _starting_prices(problem, outcome, aim)
        offset = _count_nothing(problem, outcome)
        states = descend(Bound(worth, expectation.columns, room, problem.threads), start, least, rounds)
        for prices in states:
            bar.set_postfix(upper=f"{prices.upper + offset:.6g}", refresh=False)
            bar.update()
            is_last = len(prices.history) == rounds or prices.is_settled or _is_close(problem, prices, offset, aim)
            if is_last or len(prices.history) in REPAIR_ROUNDS:
                outcome = _repair(problem, outcome, prices)
            if is_last or outcome.interrupted or _is_close(problem, prices, offset, aim):
                break
    except KeyboardInterrupt:
        interrupted = True
    finally:
        bar.close()
    outcome = replace(outcome, interrupted=outcome.interrupted or interrupted)
    if interrupted:
        expectation.count(outcome.positions)  # the totals may be those of another selection, or half of one
    if prices is None:
        return outcome, None
    seconds = time.perf_counter() - begin
    return outcome, Proof(prices, offset, _largest_fill(worth), seconds, outcome.interrupted)


def _is_close(problem: Problem, prices: Prices, offset: float, aim: Certification) -> bool:
    value = problem.expectation.expected()
    return prices.upper + offset <= value + aim.target_gap * abs(value)


def _count_nothing(problem: Problem, outcome: Outcome) -> float:
    """What the utility is worth with nothing selected."""
    problem.expectation.count(np.full_like(outcome.positions, -1))
    value = problem.expectation.expected()
    problem.expectation.count(outcome.positions)
    return value


def _repair(problem: Problem, outcome: Outcome, prices: Prices) -> Outcome:
    """What is linear is optimal already, and without a budget every label has its best set."""
    is_optimal = problem.expectation.is_linear or not problem.feasible.has_budget
    return outcome if is_optimal else repair(problem, outcome, prices.shares)


def _largest_fill(worth: Worth) -> float:
    """Only what is linear in q can gain by an instance of probability 0."""
    return max(0.0, float(worth.linear[:, 1].max(initial=0.0)))


def _starting_prices(problem: Problem, outcome: Outcome, aim: Certification) -> tuple[NDArray, NDArray, NDArray]:
    """Halfway between the weakest label that an instance has and the best that it has not; the least; the room."""
    n, room = problem.candidates.n_instances, problem.feasible.most
    if not problem.feasible.has_budget:
        return np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.int64)
    rows, positions = problem.candidates.rows, outcome.positions
    held = (positions >= 0).sum(axis=1)
    problem.expectation.count(positions)
    objective, prices = problem.expectation.objective, make_row_prices(n)
    problem.threads.split(n, lambda a, b: price_rows(rows, objective, positions, held, prices, a, b))
    weakest = np.where(held < room, 0.0, prices.weakest)  # an empty slot is worth nothing
    scale = np.abs(weakest[np.isfinite(weakest)]).max(initial=1e-12)
    # An instance that takes all its candidates pays any price, one that takes nothing asks any.
    other = np.where(np.isfinite(prices.other), prices.other, weakest - scale)
    start = np.where(room > 0, (weakest + other) / 2, BEYOND_WORTH)
    return start, _least_prices(problem, aim), room


def _least_prices(problem: Problem, aim: Certification) -> NDArray:
    """No price is below 0 for an instance that may leave slots empty, or whose given selection does."""
    may_leave = problem.feasible.least < problem.feasible.most
    if aim.given is not None:
        may_leave |= (aim.given.labels >= 0).sum(axis=1) < problem.feasible.least
    return np.where(may_leave, 0.0, -np.inf)
