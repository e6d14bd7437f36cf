"""The near candidates of a batch: the few of each instance that passes look at first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailwise.engines import Engine
from tailwise.kernels.label_state import State
from tailwise.kernels.near_rows import find_near, list_positions, make_near
from tailwise.kernels.rows import Rows
from tailwise.selection.problem import Problem

# Near candidates of an instance: this many for each slot, and some more.
PER_SLOT, MORE = 4, 4
# Rows that are not this many times as long are looked at as a whole.
LEAST_RATIO = 2


class Near(NamedTuple):
    """Rows of near candidates, their places in the whole rows, and the selection as positions within them."""

    rows: Rows
    places: NDArray
    own: NDArray

    def write_back(self, engine: Engine, positions: NDArray) -> None:
        """Bring positions within the whole rows up to date with the selection."""
        engine.split(
            positions.shape[0],
            lambda first, last: list_positions(self.rows, self.places, self.own, positions, first, last),
        )

    def narrow(self, problem: Problem) -> Problem:
        """The same problem with the near candidates only."""
        return replace(problem, candidates=problem.candidates.with_entries(*self.rows))


class Here(Engine):
    """Proposals on the threads of this machine, whatever the engine: others do not know which candidates are near."""

    def __init__(self, engine: Engine) -> None:
        self.workers, self._engine = engine.workers, engine

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *error: Any) -> None:
        pass

    def shares(self, n_entries: int) -> bool:
        return self._engine.shares(n_entries)

    def share(self, edges: Sequence[int], task: Callable[[int, int, int], object]) -> None:
        self._engine.share(edges, task)


def has_far(problem: Problem) -> bool:
    """Whether rows are long enough to look at near candidates first.

    A group of one instance is the paper's algorithm, which looks at all candidates.
    """
    most = MORE + PER_SLOT * problem.rules.width
    n, n_entries = problem.candidates.n_instances, problem.candidates.n_entries
    return problem.group_size > 1 and n_entries >= LEAST_RATIO * most * n


def take_near(problem: Problem, state: State, positions: NDArray) -> Near | None:
    """The near candidates of a selection; None where the whole rows are as good.

    Labels whose lines are not known are all equally near.
    """
    if not (has_far(problem) and np.isfinite(state.offsets).all()):
        return None
    candidates, most = problem.candidates, MORE + PER_SLOT * problem.rules.width
    rows, own = candidates.rows, np.empty_like(positions)
    near, places = make_near(rows, candidates.sizes, most)
    problem.engine.split(
        positions.shape[0],
        lambda first, last: find_near(rows, state, positions, near, places, own, first, last),
    )
    for array in near:
        array.flags.writeable = False  # as those of all candidates, so that no second kernel is compiled for them
    return Near(near, places, own)
