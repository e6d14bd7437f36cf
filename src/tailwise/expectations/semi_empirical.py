"""The paper's approximation: psi of the expected counts, psi(E[t], q, E[p]) (paper, section 4.1)."""

from __future__ import annotations

from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from tailwise.engines import Engine
from tailwise.expectations.expectation import NO_LABELS, NO_NODES, ONE_THREAD, Recipe
from tailwise.expectations.terms import (
    Picked,
    check_terms,
    count_picked,
    gather,
    make_terms,
    make_worth,
    raise_failure,
    start_state,
    value_at,
)
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.chosen import Chosen
from tailwise.inputs.totals import Totals
from tailwise.kernels.label_state import State, refresh
from tailwise.kernels.rows import Rows
from tailwise.kernels.set_worth import Worth
from tailwise.utilities.utility import Batch, Utility


class SemiEmpirical:
    r"""The semi-empirical utility of a selection on one batch.

    .. math:: \sum_j \psi_j\Bigl(\sum_{i \in S_j} \eta_{ij},\; |S_j|,\; p_j\Bigr)

    It is exact for utilities that are linear in the labels; coverage enters with its exact expectation,
    :math:`1 - \prod_{i \in S_j} (1 - \eta_{ij})`. The totals of the context are added to t, q and p.
    """

    name = "semi"
    is_expensive = uses_nodes = uses_laws = False

    def __init__(
        self, utility: Utility, candidates: Candidates, batch: Batch, context: Totals, engine: Engine = ONE_THREAD
    ) -> None:
        check_terms(utility, batch)
        self.utility, self.candidates, self.batch, self.context = utility, candidates, batch, context
        self._engine = engine
        self.recipe = Recipe(partial(make_terms, utility.terms, batch))
        self.terms, self._constant = self.recipe.make_terms()
        self.is_linear = not (self.terms.formulas.size or self.terms.coverage.size)

    def start(self, q: NDArray) -> State:
        state = start_state(self.terms, self.batch, self.context)
        refresh(self.terms, state)
        return state

    def count(self, positions: NDArray, others: NDArray = NO_LABELS, rows: Rows | None = None) -> State:
        state = start_state(self.terms, self.batch, self.context)
        rows = self.candidates.rows if rows is None else rows
        count_picked(Picked(rows, positions, self._engine), others, self.terms, state)
        raise_failure(self.utility)
        return state

    def recount(self, state: State, positions: NDArray) -> State:
        return self.count(positions)

    def fits(self, state: State) -> bool:
        return True

    def refit(self, state: State, positions: NDArray) -> None:
        """Nothing to do: counts are valid for any selection."""

    def value(self, state: State) -> float:
        return value_at(self.terms, state) + self._constant

    @cached_property
    def worth(self) -> Worth:
        nothing = np.empty(0, dtype=np.int64)
        return make_worth(self, nothing, nothing, NO_NODES, nothing)

    def worth_near(self, state: State) -> Worth:
        return self.worth

    def value_of_nothing(self) -> float:
        return self.value(self.start(np.ones(self.candidates.n_labels)))

    def value_of(self, chosen: Chosen) -> float:
        return self.value(self.count(*gather(chosen, self.candidates, self._engine)))
