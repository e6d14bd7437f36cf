"""Block coordinate ascent over instances (paper, section 4.3).

| paper | here |
|---|---|
| Algorithm 1, block coordinate ascent | `bca` with ``group_size=1`` |
| Algorithm 2, for coverage | the same, with the coverage term |
| Algorithms 5 and 6, on sparse probabilities | the same: candidates are always sparse |

A pass visits the instances in groups: a group is a seeded choice of blocks of neighbouring instances, which propose
their best labels against the same totals and are then settled one by one, in the order of the input. The order is the
same wherever proposals are made: on threads, from a file, on a cluster.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tailwise.inputs.chosen import EMPTY
from tailwise.kernels.row_ascent import ascend, make_buffers, settle
from tailwise.kernels.top_k import select_by_line
from tailwise.selection.problem import Outcome, Problem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.expectations.expectation import Expectation
    from tailwise.kernels.label_state import State
    from tailwise.kernels.rows import Rows
    from tailwise.selection.observer import Observer

__all__ = [
    "bca",
    "climb_rows",
    "empty_positions",
    "run_pass",
    "settle_totals",
    "take_best",
    "visiting_order",
    "warm_up",
]

# Groups in a pass: of this size they reach the same utility as groups of one (docs/benchmarks.md).
AUTO_GROUPS = 8
# Blocks in a group, at least, and instances in a block, at most: memory delivers neighbours faster than single ones.
LEAST_BLOCKS, LARGEST_BLOCK = 128, 1024
# Passes after which totals are counted from scratch, so that rounding does not build up.
PASSES_PER_COUNT = 16
# Candidates between two looks at the clock and the keyboard: some hundredths of a second.
ENTRIES_PER_CALL = 2_000_000
ONE, ZERO = np.ones(1), np.zeros(1)


def warm_up(problem: Problem, outcome: Outcome | None, observer: Observer) -> Outcome:
    """Climb by a cheaper expectation first, from its greedy selection; go on from there if that is better."""
    assert outcome is not None
    assert problem.cheaper is not None
    cheaper = replace(problem, expectation=problem.cheaper)
    positions = empty_positions(problem)
    state = problem.cheaper.start(np.ones(problem.candidates.n_labels))
    run_pass(cheaper, state, positions, problem.order, 1, observer)
    begin = Outcome(positions, state, (problem.cheaper.value(state),), passes=0)
    found = climb_rows(cheaper, begin, "warm-up", observer)
    state = problem.expectation.count(found.positions)
    value = problem.expectation.value(state)
    if value > outcome.history[0]:
        history = (*outcome.history, value)
        outcome = replace(outcome, positions=found.positions, state=state, history=history, passes=1)
    return replace(outcome, interrupted=found.interrupted)


def bca(problem: Problem, outcome: Outcome | None, observer: Observer) -> Outcome:
    """Visit the instances again and again; each takes the k labels of largest gain while all others stand still."""
    assert outcome is not None
    return climb_rows(problem, outcome, "rows", observer)


def climb_rows(problem: Problem, outcome: Outcome, stage: str, observer: Observer) -> Outcome:
    """Pass after pass, until one gains less than the tolerance."""
    expectation, positions, state = problem.expectation, outcome.positions, outcome.state
    history, converged, interrupted = [*outcome.history], False, False
    try:
        while not converged and len(history) <= problem.max_passes and observer.goes_on():
            n_moved = run_pass(problem, state, positions, problem.order, problem.group_size, observer)
            state = settle_totals(expectation, state, positions, len(history))
            history.append(expectation.value(state))
            converged = observer.goes_on() and (n_moved == 0 or history[-1] - history[-2] < problem.tolerance)
            observer.told(stage, history, n_moved, state)
    except KeyboardInterrupt:  # the state may be half of one and half of another selection
        interrupted, state = True, expectation.count(positions)
    return replace(
        outcome,
        positions=positions,
        state=state,
        history=tuple(history),
        passes=len(history) - 1,
        converged=converged,
        interrupted=interrupted,
        is_counted=interrupted,
    )


def settle_totals(expectation: Expectation, state: State, positions: NDArray, n_passes: int) -> State:
    """The state after a pass: fit for where it led, and now and then counted from scratch."""
    if n_passes % PASSES_PER_COUNT == 0:
        return expectation.count(positions)
    expectation.refit(state, positions)
    return state


def run_pass(
    problem: Problem, state: State, positions: NDArray, order: NDArray, group_size: int, observer: Observer
) -> int:
    """Let the instances of `order`, a group at a time, move to their best labels; returns how many moved."""
    rows, terms, slots, engine = problem.candidates.rows, problem.expectation.terms, problem.rules.slots, problem.engine
    moves, touched = make_buffers(problem.candidates.n_labels, min(group_size, max(1, order.size)), positions.shape[1])
    entries = max(1, problem.candidates.n_entries * group_size // max(1, problem.candidates.n_instances))
    n_moved = 0
    if not engine.shares(entries):
        # Groups too small to share: propose and settle as one call, several groups at a time.
        step = group_size * max(1, ENTRIES_PER_CALL // entries)
        for first in range(0, order.size, step):
            if not observer.goes_on():
                break
            n_moved += ascend(rows, terms, state, positions, slots, order[first : first + step], moves, touched)
            engine.check()
        return n_moved
    for first in range(0, order.size, group_size):
        if not observer.goes_on():
            break
        group = order[first : first + group_size]
        engine.propose(rows, terms, state, positions, slots, group, moves)
        n_moved += settle(terms, state, positions, slots, group, moves, touched)
        engine.check()
    return n_moved


def visiting_order(n_instances: int, group_size: int | str, seed: int) -> tuple[NDArray, int]:
    """The instances in the order in which passes visit them, and how many form a group.

    One order for all passes: one drawn anew in each pass ended at lower utilities (docs/benchmarks.md).
    """
    size = max(1, n_instances // AUTO_GROUPS) if group_size == "auto" else min(int(group_size), n_instances)
    block = min(LARGEST_BLOCK, 1 << max(0, (size // LEAST_BLOCKS).bit_length() - 1))
    size = max(block, size - size % block)
    n_whole = n_instances // block
    starts = np.random.default_rng(seed).permutation(n_whole) * block
    for first in range(0, n_whole, size // block):
        starts[first : first + size // block].sort()
    order = (starts[:, None] + np.arange(block)).ravel()
    order = np.append(order, np.arange(n_whole * block, n_instances))  # the rest is the end of the last group
    return order, size


def empty_positions(problem: Problem) -> NDArray:
    """A selection of nothing, (n, largest budget)."""
    return np.full((problem.candidates.n_instances, problem.rules.width), EMPTY, dtype=np.int32)


def take_best(problem: Problem, rows: Rows, slopes: NDArray = ONE, offsets: NDArray = ZERO) -> NDArray:
    """Positions of the labels of largest slope_j * eta + offset_j in each row, by default of the most probable."""
    positions, least = empty_positions(problem), problem.rules.least
    problem.engine.split(
        least.size, lambda first, last: select_by_line(rows, slopes, offsets, least, positions, first, last)
    )
    return positions
