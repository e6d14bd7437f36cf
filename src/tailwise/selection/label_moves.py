"""Row passes and label passes in turn: out of the local optimum that row passes alone end in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailwise.certificates.prices import bound_call
from tailwise.certificates.proof import prove
from tailwise.certificates.repair import most_shared_call
from tailwise.expectations.terms import raise_failure, start_state
from tailwise.inputs.checks import count_cores
from tailwise.inputs.matrices import add_up, cut_evenly
from tailwise.kernels.compiling import compile_ahead, compile_seconds, is_anything_kept, start_second
from tailwise.kernels.label_ascent import (
    make_row_prices,
    make_undo,
    make_visits,
    price_rows,
    propose_labels,
    settle_labels,
)
from tailwise.kernels.label_state import P, Q, State
from tailwise.kernels.nodes import count_nodes, multiply_generating
from tailwise.kernels.rows import make_workbench
from tailwise.kernels.set_worth import Worth
from tailwise.selection.bca import climb_rows, find_near, run_pass, settle_totals
from tailwise.selection.near import Near
from tailwise.selection.observer import Observer
from tailwise.selection.problem import Outcome, Problem, Proving

# What a quick proof may cost, and what it should reach.
QUICK = Proving(rounds=100, target_gap=1e-4)
# Nodes are exact where q + p + 1 is within this factor of what they were placed for; and of labels with fewer expected
# positives than this, sets of quite different sizes may be worth about the same. If more labels than this share may
# move far, all labels are searched in all sizes.
FAR, FEW_POSITIVES, FAR_SHARE = 2.0, 2.0, 0.1
# Groups of labels in a pass: the labels of one group look at the same prices.
GROUPS = 8
# Labels with few candidates hold nearly all moves that gain, and cost little to look at.
SMALL_SHARE = 0.3
# A pass over the labels with few candidates is worth repeating if it gained this share of the utility.
MUCH_SHARE = 1e-4
# A pass over all labels that gains a smaller share is the last one.
LEAST_SHARE = 3e-5
# A price that changed by a smaller share is no news to a label that has looked at it.
NEWS_SHARE = 1e-2
# A pass whose first group promises a smaller share of the utility ends there, if the group has this many candidates.
LEAST_PROMISE, LEAST_SAMPLE = 5e-7, 50_000


def label_moves(problem: Problem, outcome: Outcome, observer: Observer) -> Outcome:
    """Labels and rows in turn until neither gains, from where row passes ended."""
    if outcome.passes >= problem.max_passes or not observer.goes_on():
        return outcome
    others = (*outcome.others, outcome.positions.copy()) if problem.rules.fills else ()
    return replace(climb_labels(problem, outcome, observer), others=others)


@contextmanager
def label_moves_expected(method: Any, k: Any) -> Iterator[None]:
    """Hold a process ready that will be asked to compile label moves, where nothing is compiled on this machine."""
    may_move = isinstance(method, str) and method in ("auto", "global") and k is not None
    is_first = may_move and not propose_labels.signatures and not is_anything_kept() and count_cores() > 1
    if is_first:
        start_second()
    try:
        yield
    finally:
        if is_first:
            compile_ahead()  # nothing, in case that nobody asked


def compile_label_moves(problem: Problem) -> None:
    """Have label moves compiled in another process, while this one compiles what moves rows before.

    Only in the first call on this machine, where something had to be compiled already.
    """
    if not _is_first_call():
        return
    terms = problem.expectation.terms
    positions, state = np.empty((1, 1), np.int32), start_state(terms, problem.batch, problem.expectation.context)
    state = state._replace(nodes=problem.expectation.worth.nodes)  # of the type of nodes that states have
    # Only types count, so that there need not be as many of these as candidates, which of a store take space on disk.
    moves = _LabelMoves(problem, state, move_far=True, is_wanted=np.empty(0, np.bool_))
    to_propose, to_settle = moves.list_calls(state, positions)
    # This process may itself compile what is not begun when it is needed: what shares code with row moves comes last.
    calls = [*_list_node_calls(problem, state), to_propose]
    if problem.proving is not None or repair in problem.plan:
        calls.append(bound_call(problem.expectation.worth, problem.candidates.columns(problem.engine)))
        calls.append(most_shared_call(problem))
    compile_ahead(*calls, to_settle)


def _list_node_calls(problem: Problem, state: State) -> list[tuple[Any, tuple[Any, ...]]]:
    """The kernels that fill the nodes of exact expectations, with their arguments."""
    if not problem.expectation.uses_nodes:
        return []
    rows, wanted = problem.candidates.rows, np.empty(0, dtype=np.bool_)
    return [
        (multiply_generating, (rows, state.nodes, wanted, 0, 0)),
        (count_nodes, (np.empty(0, np.int32), np.empty(0, rows.values.dtype), state.nodes, wanted, 0, 0)),
    ]


def _is_first_call() -> bool:
    return not propose_labels.signatures and compile_seconds() > 0 and count_cores() > 1


def repair(problem: Problem, outcome: Outcome, observer: Observer) -> Outcome:
    """A better selection where the prices of a quick proof point, if there is one."""
    if not observer.goes_on():
        return outcome
    return prove(problem, outcome, QUICK, climb_labels, observer)[0]


def climb_labels(problem: Problem, outcome: Outcome, observer: Observer) -> Outcome:
    """Label passes and row passes in turn: over near candidates where labels do not move far, then rows over all."""
    move_far = may_move_far(problem, outcome.state)
    # Listed anew: those of row passes belong to where these began, and a proof moves elsewhere in between.
    near = None if move_far else find_near(problem, outcome)
    outcome = _climb_in_turn(problem, outcome, observer, near, move_far=move_far)
    if near is None or outcome.interrupted:
        return outcome
    return climb_rows(replace(problem, checkpoint=None), outcome, "labels", observer)


def may_move_far(problem: Problem, state: State) -> bool:
    """Whether labels are to be searched in all sizes: if many have few positives, or are selected more than that.

    And beside what was decided elsewhere, which the nodes of a state do not keep apart.
    """
    context, has_candidates = problem.expectation.context, problem.candidates.by_label.sizes > 0
    q, p = state.counts[has_candidates, Q], state.counts[has_candidates, P]
    n_far = int(((p < FEW_POSITIVES) | (q + p + 1 > FAR * (p + 2))).sum())
    return n_far > FAR_SHARE * q.size or bool(context.t.any() or context.q.any())


def _climb_in_turn(
    problem: Problem, outcome: Outcome, observer: Observer, near: Near | None, *, move_far: bool
) -> Outcome:
    """Passes over the labels with few candidates while they gain much, else over all; a row pass after each.

    The last pass is one over all labels, unless the sample that a pass begins with shows that it does not pay.
    """
    expectation, positions, state = problem.expectation, outcome.positions, outcome.state
    history, converged, interrupted, looks_at_all = [*outcome.history], False, False, False
    own = positions if near is None else near.own
    try:
        moves = _LabelMoves(problem if near is None else near.narrow(problem), state, move_far=move_far)
        while not converged and len(history) <= problem.max_passes and observer.goes_on():
            n_moved = moves.run_pass(state, own, moves.every if looks_at_all else moves.small, observer)
            n_moved += run_pass(problem, state, positions, problem.order, problem.group_size, observer, near)
            state = settle_totals(expectation, state, positions, len(history))
            history.append(expectation.value(state))
            gain, scale = history[-1] - history[-2], abs(history[-1])
            is_little = n_moved == 0 or gain < max(problem.tolerance, LEAST_SHARE * scale)
            converged = observer.goes_on() and is_little and (looks_at_all or not moves.pays)
            looks_at_all = gain <= MUCH_SHARE * scale
            observer.told("labels", history, n_moved, state)
    except KeyboardInterrupt:  # the state may be half of one and half of another selection
        interrupted, state = True, expectation.count(positions)
    return replace(
        outcome,
        state=state,
        history=tuple(history),
        passes=len(history) - 1,
        converged=converged,
        interrupted=interrupted,
        is_counted=interrupted,
    )


class _LabelMoves:
    """Passes over the labels of one problem: each takes its best set of instances.

    ``every`` label that has candidates is visited, or the ``small`` ones, which hold SMALL_SHARE of all candidates.
    Labels come in random order, so that the first group is a sample of them all, which tells whether a pass ``pays``.
    """

    def __init__(self, problem: Problem, state: State, *, move_far: bool, is_wanted: NDArray | None = None) -> None:
        self._problem, self._move_far = problem, move_far
        self._sizes = sizes = problem.candidates.by_label.sizes
        largest = int(sizes.max(initial=0))
        self._benches = [make_workbench(largest, state.nodes.linear.shape[2]) for _ in range(problem.engine.workers)]
        self._undo, self.pays = make_undo(largest), True
        self._prices = make_row_prices(problem.candidates.n_instances)
        self._noted, self._n_passes = np.zeros((2, problem.candidates.n_instances)), 0
        self._visits = make_visits(sizes.size)
        self._is_wanted = problem.candidates.make_zeros(np.bool_) if is_wanted is None else is_wanted
        order = np.random.default_rng(problem.seed).permutation(sizes.size)
        self.every = order[sizes[order] > 0]
        by_size = self.every[np.argsort(sizes[self.every], kind="stable")]
        n_small = int(np.searchsorted(np.cumsum(sizes[by_size]), SMALL_SHARE * problem.candidates.n_entries))
        is_small = np.isin(self.every, by_size[:n_small])
        self.small, large = self.every[is_small], self.every[~is_small]
        self._sample = large[: large.size // GROUPS]
        self._columns = problem.candidates.columns_of(self._first_group(self.small), problem.engine)

    def run_pass(self, state: State, positions: NDArray, labels: NDArray, observer: Observer) -> int:
        """Let labels move to their best sets; returns how many moved."""
        problem, terms, n_moved = self._problem, self._problem.expectation.terms, 0
        rows, prices = problem.candidates.rows, self._prices
        worth = problem.expectation.worth if self._move_far else problem.expectation.worth_near(state)
        held = (positions >= 0).sum(axis=1)  # labels swap places: a row keeps as many as it has
        problem.engine.split(
            positions.shape[0],
            lambda first, last: price_rows(rows, terms, state, positions, held, prices, first, last),
        )
        self._note_changes()
        groups, before = np.array_split(labels, min(GROUPS, max(1, labels.size))), problem.expectation.value(state)
        for number, group in enumerate(groups):
            self.pays = number != 1 or self._promises_much(groups[0], state, before)
            if not (self.pays and observer.goes_on()):
                return n_moved
            if number > 0 or labels is not self.small:
                self._columns = problem.candidates.columns(problem.engine)
            n_moved += self._move(worth, state, positions, held, group)
        if labels is self.small and not self._move_far:  # the others gain little, as a rule
            self._columns = problem.candidates.columns(problem.engine)
            before = problem.expectation.value(state)
            n_moved += self._move(worth, state, positions, held, self._sample)
            self.pays = self._promises_much(self._sample, state, before)
        return n_moved

    def _move(self, worth: Worth, state: State, positions: NDArray, held: NDArray, group: NDArray) -> int:
        """Let the labels of a group move; returns how many did."""
        moves = self._propose(worth, state, positions, held, group)
        n_moved = settle_labels(*self._to_settle(state, positions, held, group, moves))
        raise_failure(self._problem.utility)
        return n_moved

    def _first_group(self, labels: NDArray) -> NDArray:
        """The labels that a pass begins with, if these tell whether it pays; else all that have candidates."""
        group = labels[: -(-labels.size // GROUPS)]
        return group if self._sizes[group].sum() >= LEAST_SAMPLE else self.every

    def list_calls(self, state: State, positions: NDArray) -> list[tuple[Any, tuple[Any, ...]]]:
        """The kernels of a pass that take long to compile, with their arguments."""
        group, held, moves = self.every[:1], np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.bool_)
        worth = self._problem.expectation.worth
        return [
            (propose_labels, (*self._to_propose(worth, state, positions, held, group, moves), 0, 1)),
            (settle_labels, self._to_settle(state, positions, held, group, moves)),
        ]

    def _promises_much(self, group: NDArray, state: State, before: float) -> bool:
        """Whether a pass is likely to gain something, judged by its first group."""
        if self._sizes[group].sum() < LEAST_SAMPLE:
            return True
        gain = self._problem.expectation.value(state) - before
        return GROUPS * gain >= max(self._problem.tolerance, LEAST_PROMISE * abs(before))

    def _note_changes(self) -> None:
        """Note which instances have other prices than when they were last noted: news for the labels they have."""
        self._n_passes += 1
        for now, noted in zip((self._prices.weakest, self._prices.other), self._noted, strict=True):
            with np.errstate(invalid="ignore"):  # of two infinite prices, which are no news
                has_changed = np.abs(now - noted) > NEWS_SHARE * np.minimum(np.abs(now), np.abs(noted))
            noted[has_changed] = now[has_changed]
            self._prices.changed[has_changed] = self._n_passes

    def _propose(self, worth: Worth, state: State, positions: NDArray, held: NDArray, labels: NDArray) -> NDArray:
        """Which labels of a group want to move; their sets are left in self._is_wanted."""
        moves = np.zeros(labels.size, dtype=np.bool_)

        def propose(part: int, first: int, last: int) -> None:
            propose_labels(*self._to_propose(worth, state, positions, held, labels, moves, part), first, last)

        self._problem.engine.share(self._edges(labels), propose)
        return moves

    def _to_propose(
        self,
        worth: Worth,
        state: State,
        positions: NDArray,
        held: NDArray,
        labels: NDArray,
        moves: NDArray,
        part: int = 0,
    ) -> tuple[Any, ...]:
        arrays = worth, state.counts, self._columns, positions, held, self._prices, labels, self._visits
        return *arrays, self._n_passes, self._benches[part], self._is_wanted, moves

    def _to_settle(
        self, state: State, positions: NDArray, held: NDArray, labels: NDArray, moves: NDArray
    ) -> tuple[Any, ...]:
        arrays = self._problem.candidates.rows, self._problem.expectation.terms, state, self._columns, positions, held
        return *arrays, self._prices, labels, self._n_passes, self._is_wanted, moves, self._undo

    def _edges(self, labels: NDArray) -> list[int]:
        """Parts of a group with about as many candidates each."""
        return cut_evenly(add_up(self._sizes[labels]), self._problem.engine.workers)
