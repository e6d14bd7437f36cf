"""The proof for a selection, and what its prices say about a better one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tailwise.certificates import Certificate, Prices, prove
from tailwise.certificates.supported import check_formulas, check_supported
from tailwise.expectations.worth import make_worth
from tailwise.kernels.columns import transpose
from tailwise.kernels.label_moves import make_row_prices, price_rows
from tailwise.kernels.pricing import scatter_to_rows
from tailwise.selection.global_ascent import climb_globally
from tailwise.selection.instance_wise import select_best
from tailwise.selection.problem import Certification, Outcome, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.kernels.columns import Columns
    from tailwise.kernels.worth import Worth

__all__ = ["Proof", "prove_outcome", "repair"]

# The price of what is not for sale.
BEYOND_WORTH = 1e6
# How much the probability counts beside the share of best sets that hold a candidate.
TIE_BREAK = 1e-3


@dataclass(frozen=True)
class Proof:
    """An upper bound for all selections of candidates, before empty slots are filled."""

    prices: Prices
    offset: float  # what the utility is worth with nothing selected, which prices say nothing of
    columns: Columns
    largest_fill: float  # the most that an empty slot can gain by a label of probability 0

    def certificate(self, problem: Problem, value: float, filled: float) -> Certificate:
        """The certificate for a selection of this value, when filling adds at most `filled`."""
        upper = np.array(self.prices.history) + self.offset + filled
        return Certificate(
            value,
            float(upper[-1]),
            len(upper),
            self.prices.seconds,
            self.prices.best,
            tuple(upper.tolist()),
            problem.utility,
            problem.expectation.name,
            self.prices.interrupted,
        )


def prove_outcome(problem: Problem, outcome: Outcome, aim: Certification, *, fills: bool) -> Proof:
    """Bound the value of every selection of candidates, with prices that start from those of this one."""
    expectation = problem.expectation
    own_formulas = check_supported(problem.utility, expectation)
    columns = transpose(problem.candidates.rows, problem.candidates.n_labels)
    worth = make_worth(expectation, columns, own_formulas)
    check_formulas(expectation, worth, columns, fills=fills)
    expectation.count(outcome.positions)
    value = expectation.expected()
    start, least, room = _starting_prices(problem, outcome, aim)
    expectation.count(np.full_like(outcome.positions, -1))
    offset = expectation.expected()
    enough = value + aim.target_gap * abs(value) - offset
    rounds = aim.rounds if problem.has_budget else 1
    prices = prove(
        worth, columns, room, start, least, enough, rounds, problem.threads, progress=problem.settings.progress
    )
    expectation.count(outcome.positions)
    return Proof(prices, offset, columns, _largest_fill(worth))


def _largest_fill(worth: Worth) -> float:
    """Only what is linear in q can gain by an instance of probability 0."""
    return max(0.0, float(worth.linear[:, 1].max(initial=0.0)))


def _starting_prices(problem: Problem, outcome: Outcome, aim: Certification) -> tuple[NDArray, NDArray, NDArray]:
    """Halfway between the weakest label that an instance has and the best that it has not; the least; the room."""
    n = problem.candidates.n_instances
    if not problem.has_budget:
        return np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.int64)
    rows, objective, room = problem.candidates.rows, problem.expectation.objective, problem.room
    prices = make_row_prices(n)
    positions = outcome.positions
    problem.threads.split(n, lambda a, b: price_rows(rows, objective, positions, room, prices, a, b))
    scale = np.abs(prices.weakest[np.isfinite(prices.weakest)]).max(initial=1e-12)
    # An instance that takes all its candidates pays any price, one that takes nothing asks any.
    other = np.where(np.isfinite(prices.other), prices.other, prices.weakest - scale)
    start = np.where(room > 0, (prices.weakest + other) / 2, BEYOND_WORTH)
    return start, _least_prices(problem, aim), room


def _least_prices(problem: Problem, aim: Certification) -> NDArray:
    """No price is below 0 for an instance whose given selection holds fewer labels than it could."""
    least = np.full(problem.candidates.n_instances, -np.inf)
    if aim.given is not None:
        least[(aim.given.labels >= 0).sum(axis=1) < problem.room] = 0.0
    return least


def repair(problem: Problem, outcome: Outcome, proof: Proof) -> Outcome:
    """A selection made of the best sets at the prices, and climbed from there; the better one of the two."""
    shares, left = proof.prices.shares, problem.settings.max_passes - outcome.passes
    if not problem.has_budget or problem.expectation.is_linear or shares is None or left < 1:
        return outcome
    if proof.prices.interrupted:
        return replace(outcome, interrupted=True)
    problem = replace(problem, settings=replace(problem.settings, max_passes=left))
    positions = _most_shared(problem, proof, shares)
    problem.expectation.count(positions)
    found = climb_globally(problem, positions, [problem.expectation.expected()])
    best = outcome.history[-1]
    if found.history[-1] <= best:
        problem.expectation.count(outcome.positions)
        return replace(outcome, interrupted=found.interrupted)
    history = (*outcome.history, *(max(best, value) for value in found.history[1:]))
    return replace(found, history=history, passes=len(history) - 1, by_rows=outcome.by_rows)


def _most_shared(problem: Problem, proof: Proof, shares: NDArray) -> NDArray:
    """For each instance the candidates that were most often in the best sets of their labels."""
    rows = problem.candidates.rows
    in_rows = np.empty(shares.size, dtype=rows.values.dtype)
    scatter_to_rows(proof.columns, rows, shares, in_rows)
    # Where sets disagree about an instance, the more probable label is the better guess.
    in_rows += TIE_BREAK * rows.values
    in_rows.flags.writeable = False
    return select_best(problem, rows._replace(values=in_rows))
