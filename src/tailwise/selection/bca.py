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
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tailwise.engines import Engine
from tailwise.expectations.expectation import Expectation
from tailwise.expectations.terms import locate, raise_failure
from tailwise.inputs.chosen import EMPTY, Chosen
from tailwise.kernels.label_state import State
from tailwise.kernels.row_ascent import ascend, make_buffers, settle
from tailwise.kernels.rows import Rows, select_by_line
from tailwise.selection.checkpoint import Reached
from tailwise.selection.near import Here, Near, has_far, take_near
from tailwise.selection.observer import Observer
from tailwise.selection.problem import Outcome, Problem

# Groups in a pass: of this size they reach the same utility as groups of one (docs/benchmarks.md).
AUTO_GROUPS = 8
# Blocks in a group, at least, and instances in a block, at most: memory delivers neighbours faster than single ones.
LEAST_BLOCKS, LARGEST_BLOCK = 128, 1024
# Passes after which totals are counted from scratch, so that rounding does not build up.
PASSES_PER_COUNT = 16
# Candidates between two looks at the clock and the keyboard: some hundredths of a second.
ENTRIES_PER_CALL = 2_000_000
# A pass that gains a smaller share of the utility is the last one of the warm-up, or of row passes before label passes.
WARM_SHARE, ROWS_SHARE = 1e-3, 1e-6
# Groups of the greedy selection of a large batch, which all threads make: as good, a pass later, as groups of one.
GREEDY_GROUPS = 32
# Numbers of candidates between which passes look at near ones first. Below, it does not pay; above, the candidates may
# not fit into memory, and clusters share the work.
LEAST_NEAR, MOST_NEAR = 1_000_000, 50_000_000
ONE, ZERO = np.ones(1), np.zeros(1)


def start(problem: Problem, outcome: Outcome | None, observer: Observer) -> Outcome:
    """The starting positions and their totals, by the cheaper expectation where that climbs first."""
    positions, expectation = _starting_positions(problem, observer), problem.cheaper or problem.expectation
    state = expectation.count(positions)
    # Passes do not foresee which labels fill empty slots, so that a given selection may be the better one in the end.
    keeps_start = problem.rules.fills and not isinstance(problem.start, str)
    others = (positions.copy(),) if keeps_start else ()
    return Outcome(positions, state, (expectation.value(state),), passes=0, converged=False, others=others)


def warm_up(problem: Problem, outcome: Outcome, observer: Observer) -> Outcome:
    """Climb by a cheaper expectation first; go on from where that leads."""
    assert problem.cheaper is not None
    cheaper = replace(problem, expectation=problem.cheaper)
    found = _climb_from_greedy(cheaper, outcome, observer)
    positions, interrupted = found.positions, found.interrupted
    del found  # and its state, before another one is made
    state = problem.expectation.count(positions)
    history = (problem.expectation.value(state),)
    return replace(outcome, positions=positions, state=state, history=history, interrupted=interrupted)


def _climb_near(problem: Problem, outcome: Outcome, near: Near, observer: Observer) -> Outcome:
    """Climb over near candidates as long as that gains much, since this optimum is not the one that is looked for."""
    much = max(problem.tolerance, WARM_SHARE * abs(outcome.history[-1]))
    return climb_rows(replace(problem, tolerance=much), outcome, "warm-up", observer, near, looks_at_all=False)


def _climb_from_greedy(problem: Problem, outcome: Outcome, observer: Observer) -> Outcome:
    """Climb from the greedy selection, in large batches of groups on all threads; the start, if that is better."""
    positions = empty_positions(problem)
    state = problem.expectation.start(np.ones(problem.candidates.n_labels))
    order, group_size = problem.order, 1
    if _takes_near(problem):
        n = problem.order.size
        order, group_size = visiting_order(n, max(1, n // GREEDY_GROUPS), problem.seed)
    if problem.checkpoint is None or problem.checkpoint.stage != "warm-up":  # else this was done before
        run_pass(problem, state, positions, order, group_size, observer)
    if not observer.goes_on():  # the pass may have left instances without labels
        return outcome
    begin = replace(outcome, positions=positions, state=state, history=(problem.expectation.value(state),))
    near = find_near(problem, begin)
    if near is None:
        found = climb_rows(problem, begin, "warm-up", observer)
    else:
        found = _climb_near(problem, begin, near, observer)
    is_better = found.history[-1] > outcome.history[-1]
    return found if is_better else replace(outcome, interrupted=found.interrupted)


def _takes_near(problem: Problem) -> bool:
    """Whether passes look at near candidates first: not in small and in very large batches."""
    return LEAST_NEAR <= problem.candidates.n_entries <= MOST_NEAR and has_far(problem)


def find_near(problem: Problem, outcome: Outcome) -> Near | None:
    """The candidates that passes look at first; None if they look at all."""
    return take_near(problem, outcome.state, outcome.positions) if _takes_near(problem) else None


def bca(problem: Problem, outcome: Outcome, observer: Observer) -> Outcome:
    """Visit the instances again and again; each takes the k labels of largest gain while all others stand still."""
    # With semi-empirical formulas passes are few and cost about what listing near candidates does.
    takes_many = problem.expectation.is_expensive or problem.expectation.terms.coverage.size > 0
    near = find_near(problem, outcome) if takes_many else None
    if near is None or problem.method != "global":
        return climb_rows(problem, outcome, "rows", observer, near)
    # Before label passes, near candidates and gains of some size are enough: row passes over all follow these.
    much = max(problem.tolerance, ROWS_SHARE * abs(outcome.history[-1]))
    return climb_rows(replace(problem, tolerance=much), outcome, "rows", observer, near, looks_at_all=False)


def climb_rows(
    problem: Problem,
    outcome: Outcome,
    stage: str,
    observer: Observer,
    near: Near | None = None,
    *,
    looks_at_all: bool = True,
) -> Outcome:
    """Pass after pass, until one gains less than the tolerance: first over near candidates, then over all."""
    expectation, positions, state = problem.expectation, outcome.positions, outcome.state
    history, converged, interrupted = [*outcome.history], False, False
    reached = None if problem.checkpoint is None else problem.checkpoint.read(stage)
    if reached is not None:
        positions, state, history, converged = reached.positions, reached.state, reached.history, reached.converged
        near = None
    try:
        while not converged and len(history) <= problem.max_passes and observer.goes_on():
            n_moved = run_pass(problem, state, positions, problem.order, problem.group_size, observer, near)
            state = settle_totals(expectation, state, positions, len(history))
            history.append(expectation.value(state))
            is_little = n_moved == 0 or history[-1] - history[-2] < problem.tolerance
            converged = observer.goes_on() and is_little and not (looks_at_all and near is not None)
            near = None if is_little else near
            observer.told(stage, history, n_moved, state)
            # Passes over near candidates are kept together, and a pass that was perhaps not finished is not.
            if problem.checkpoint is not None and near is None and observer.goes_on():
                problem.checkpoint.write(Reached(stage, positions, state, history, converged, outcome.others))
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
        return expectation.recount(state, positions)
    expectation.refit(state, positions)
    return state


def run_pass(
    problem: Problem,
    state: State,
    positions: NDArray,
    order: NDArray,
    group_size: int,
    observer: Observer,
    near: Near | None = None,
) -> int:
    """Let the instances of `order`, a group at a time, move to their best labels; returns how many moved."""
    if near is not None:
        n_moved = _run_groups(problem, near.rows, Here(problem.engine), state, near.own, order, group_size, observer)
        near.write_back(problem.engine, positions)
        return n_moved
    return _run_groups(problem, problem.candidates.rows, problem.engine, state, positions, order, group_size, observer)


def _run_groups(
    problem: Problem,
    rows: Rows,
    engine: Engine,
    state: State,
    positions: NDArray,
    order: NDArray,
    group_size: int,
    observer: Observer,
) -> int:
    terms, slots, n_moved = problem.expectation.terms, problem.rules.slots, 0
    moves, touched = make_buffers(problem.candidates.n_labels, min(group_size, max(1, order.size)), positions.shape[1])
    entries = max(1, rows.labels.size * group_size // max(1, problem.candidates.n_instances))
    if not engine.shares(entries):
        # Groups too small to share: propose and settle as one call, several groups at a time.
        step = group_size * max(1, ENTRIES_PER_CALL // entries)
        for first in range(0, order.size, step):
            if not observer.goes_on():
                break
            n_moved += ascend(rows, terms, state, positions, slots, order[first : first + step], moves, touched)
            raise_failure(problem.utility)
        return n_moved
    groups = [order[first : first + group_size] for first in range(0, order.size, group_size)]
    engine.begin(problem.expectation.recipe, groups)
    for group in groups:
        if not observer.goes_on():
            break
        engine.propose(rows, terms, state, positions, slots, group, moves)
        n_moved += settle(terms, state, positions, slots, group, moves, touched)
        raise_failure(problem.utility)
    engine.end(state, positions)
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


def complete(problem: Problem, positions: NDArray) -> bool:
    """Give the instances that a stopped pass left short their most probable labels; returns whether there were any."""
    is_short = (positions != EMPTY).sum(axis=1) < problem.rules.least
    if is_short.any():
        positions[is_short] = take_best(problem, problem.candidates.rows)[is_short]
    return bool(is_short.any())


def take_best(problem: Problem, rows: Rows, slopes: NDArray = ONE, offsets: NDArray = ZERO) -> NDArray:
    """Positions of the labels of largest slope_j * eta + offset_j in each row, by default of the most probable."""
    positions, least, engine = empty_positions(problem), problem.rules.least, problem.engine
    ranges = engine.cut(rows.indptr)
    if not engine.is_elsewhere(rows.labels.size):
        engine.share(
            range(len(ranges) + 1),
            lambda part, *_: select_by_line(rows, slopes, offsets, least, positions, *ranges[part]),
        )
        return positions
    parts = [(first, last, slopes, offsets, least[first:last], problem.rules.width) for first, last in ranges]

    def put(number: int, found: NDArray) -> None:
        positions[slice(*ranges[number])] = found

    engine.spread(best_in_rows, rows, parts, put)
    return positions


def best_in_rows(
    rows: Rows, first: int, last: int, slopes: NDArray, offsets: NDArray, budgets: NDArray, width: int
) -> NDArray:
    """Positions of the labels of largest slope_j * eta + offset_j in the rows first to last."""
    positions = np.empty((last - first, width), dtype=np.int32)
    part = rows._replace(indptr=rows.indptr[first : last + 1])
    select_by_line(part, slopes, offsets, budgets, positions, 0, last - first)
    return positions


def greedy_order(problem: Problem) -> NDArray:
    """Groups of one instance, in random order."""
    return visiting_order(problem.candidates.n_instances, 1, problem.seed)[0]


def run_greedy(problem: Problem, positions: NDArray, instances: NDArray, observer: Observer) -> State:
    """Let instances take their best labels, one after another, on top of what is selected."""
    expectation = problem.expectation
    state = expectation.count(positions)
    for part in _doubling(instances) if expectation.uses_nodes else [instances]:
        run_pass(problem, state, positions, part, 1, observer)
        expectation.refit(state, positions)
    return state


def _doubling(order: NDArray) -> list[NDArray]:
    """Parts that double: the nodes of an exact expectation hold for about the q that they are placed for."""
    edges = [0, *(2**e for e in range(order.size.bit_length()) if 2**e < order.size), order.size]
    return [order[first:last] for first, last in pairwise(edges)]


def _starting_positions(problem: Problem, observer: Observer) -> NDArray:
    """Positions (n, k) within the rows, as many as each instance must take at least."""
    rows = problem.candidates.rows
    if isinstance(problem.start, Chosen):
        return _given(problem, problem.start, observer)
    if problem.start == "top":
        return take_best(problem, rows)
    if problem.start == "greedy":
        positions = empty_positions(problem)
        run_greedy(problem, positions, greedy_order(problem), observer)
        complete(problem, positions)
        return positions
    numbers = problem.candidates.make_zeros(np.float32)
    np.random.default_rng(problem.seed).random(dtype=np.float32, out=numbers)
    numbers = numbers.astype(rows.values.dtype, copy=False)
    numbers.flags.writeable = False  # as the probabilities, so that no second kernel is compiled for them
    return take_best(problem, rows._replace(values=numbers))


def given_outcome(problem: Problem, given: Chosen) -> Outcome:
    """A given selection as it is, its labels being all among the candidates."""
    positions = _locate(problem, given)
    state = problem.expectation.count(positions)
    return Outcome(positions, state, (problem.expectation.value(state),))


def _given(problem: Problem, given: Chosen, observer: Observer) -> NDArray:
    """The given labels; instances with fewer of them than they must have take their best ones."""
    positions = _locate(problem, given)
    is_short = (positions != EMPTY).sum(axis=1) < problem.rules.least
    if is_short.any():
        order = greedy_order(problem)
        run_greedy(problem, positions, order[is_short[order]], observer)
        complete(problem, positions)
    return positions


def _locate(problem: Problem, given: Chosen) -> NDArray:
    found, _ = locate(given, problem.candidates)
    width = problem.rules.width if problem.rules.has_budget else found.shape[1]
    positions = np.full((problem.candidates.n_instances, width), EMPTY, dtype=np.int32)
    width = min(positions.shape[1], found.shape[1])
    positions[:, :width] = found[:, :width]
    return positions
