"""What every expectation can do: the protocol behind which the semi-empirical and the exact one stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tailwise.engines import Threads
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.chosen import Chosen
from tailwise.inputs.totals import Totals
from tailwise.kernels.label_state import State, Terms
from tailwise.kernels.laws import Laws
from tailwise.kernels.nodes import Nodes
from tailwise.kernels.rows import Rows
from tailwise.kernels.set_worth import Worth
from tailwise.utilities.utility import Batch, Utility

NO_LABELS = np.empty(0, dtype=np.int32)
NO_LAWS = Laws(np.empty(0, dtype=np.int32), np.empty((0, 2, 0)), np.empty((0, 2)))
NO_NODES = Nodes(np.empty((0, 4, 0)), np.empty((0, 2, 0)), np.empty(0), 0, np.empty(0), np.empty((0, 0)))

ONE_THREAD = Threads(1)

Recipe = Callable[[], tuple[Terms, float]]


class Expectation(Protocol):
    """The expected utility of selections on one batch, on top of what was decided elsewhere."""

    name: str  # "semi" or "exact"
    utility: Utility
    candidates: Candidates
    batch: Batch
    context: Totals
    terms: Terms  # what kernels read; it never changes
    recipe: Recipe  # makes the same terms in another process
    is_linear: bool  # whether the gain of a label does not depend on the selection
    is_expensive: bool  # whether a climb by the semi-empirical expectation first saves time
    uses_nodes: bool  # what its states hold beside counts and lines
    uses_laws: bool

    def start(self, q: NDArray) -> State:
        """The state of nothing selected, for labels that will be selected about q times."""

    def count(self, positions: NDArray, others: NDArray = NO_LABELS, rows: Rows | None = None) -> State:
        """The state of a selection given as positions within the rows, by default those of the candidates.

        `others` are selected labels that are no candidates of their instance: of probability 0.
        """

    def recount(self, state: State, positions: NDArray) -> State:
        """The same from a state of nearly this selection, which is used up."""

    def fits(self, state: State) -> bool:
        """Whether labels are selected about as often as the state was made for."""

    def refit(self, state: State, positions: NDArray) -> None:
        """Bring a state up to date for labels that are selected much more or less often than it was made for."""

    def value(self, state: State) -> float:
        """The expected utility at the totals of a state."""

    @property
    def worth(self) -> Worth:
        """What sets of instances add to a label."""

    def worth_near(self, state: State) -> Worth:
        """The same by the nodes of a state: for sets of about the sizes that labels have in it, at no cost."""

    def value_of(self, chosen: Chosen) -> float:
        """The expected utility of any selection, as it is reported."""
