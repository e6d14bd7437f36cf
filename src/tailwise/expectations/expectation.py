"""The protocol of expectations, which the semi-empirical and the exact one implement."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tailwise.engines import Threads
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.chosen import Chosen
from tailwise.inputs.totals import Totals
from tailwise.kernels.label_state import State, Terms
from tailwise.kernels.laws import Laws
from tailwise.kernels.nodes import DECAY, Nodes
from tailwise.kernels.rows import Rows
from tailwise.kernels.set_worth import Worth
from tailwise.utilities.utility import Batch, Utility

NO_LABELS = np.empty(0, dtype=np.int32)
NO_LAWS = Laws(np.empty(0, dtype=np.int32), np.empty((0, 2, 0)), np.empty((0, 2)))
NO_NODES = Nodes(
    np.empty((0, 4, 0)), np.empty((0, 2, 0)), np.empty(0), 0, DECAY, NO_LABELS, np.empty(0), np.empty((0, 0))
)

ONE_THREAD = Threads(1)

MakeTerms = Callable[[], tuple[Terms, float]]


class Placing(Protocol):
    """Places nodes, also in another process."""

    def place(self, labels: NDArray, q: NDArray) -> Nodes:
        """Place nodes for labels that are selected q times in total, with nothing selected in the batch yet."""


class Recipe(NamedTuple):
    """Makes in another process what the state of a search is read with."""

    make_terms: MakeTerms
    placing: Placing | None = None  # where nodes are used


class Expectation(Protocol):
    """The expected utility of selections on one batch, on top of the context."""

    name: str  # "semi" or "exact"
    utility: Utility
    candidates: Candidates
    batch: Batch
    context: Totals
    terms: Terms  # read by kernels, and never changed
    recipe: Recipe  # makes the same terms, and places the same nodes, in another process
    is_linear: bool  # whether the gain of a label does not depend on the selection
    is_expensive: bool  # whether a warm-up with the semi-empirical expectation saves time
    uses_nodes: bool  # what its states contain besides counts and lines
    uses_laws: bool

    def start(self, q: NDArray) -> State:
        """Make the state of an empty selection, for labels that will be selected about q times."""

    def count(self, positions: NDArray, others: NDArray = NO_LABELS, rows: Rows | None = None) -> State:
        """Make the state of a selection given as positions within the rows, by default those of the candidates.

        `others` are selected labels that are not candidates of their instance, with probability 0.
        """

    def recount(self, state: State, positions: NDArray) -> State:
        """Like `count`, from a state of nearly this selection, which is overwritten."""

    def fits(self, state: State) -> bool:
        """Whether labels are selected about as often as assumed when the state was made."""

    def refit(self, state: State, positions: NDArray) -> None:
        """Update a state for labels that are selected much more or less often than assumed when it was made."""

    def value(self, state: State) -> float:
        """The expected utility at the totals of a state."""

    @property
    def worth(self) -> Worth:
        """The worth of sets of instances for a label."""

    def worth_near(self, state: State) -> Worth:
        """Like `worth`, at no cost, with the nodes of a state; for sets of about the sizes that labels have in it."""

    def value_of_nothing(self) -> float:
        """The value with nothing selected in the batch."""

    def value_of(self, chosen: Chosen) -> float:
        """The expected utility of any selection, as reported to the user."""
