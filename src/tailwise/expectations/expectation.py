"""What every expectation can do, and what the two that selections are made by share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from tailwise.errors import NumericalError
from tailwise.kernels import label_state as kernels
from tailwise.kernels.label_state import State, Terms
from tailwise.kernels.laws import Laws
from tailwise.kernels.nodes import Nodes
from tailwise.kernels.rows import find_positions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.inputs.candidates import Candidates
    from tailwise.inputs.chosen import Chosen
    from tailwise.inputs.totals import Totals
    from tailwise.kernels.rows import Columns, Rows
    from tailwise.kernels.set_worth import Worth
    from tailwise.utilities.utility import Batch, Utility

__all__ = [
    "NO_LABELS",
    "NO_LAWS",
    "NO_NODES",
    "Expectation",
    "check_value",
    "count_positions",
    "locate",
    "start_state",
    "value_at",
]

NO_LABELS = np.empty(0, dtype=np.int32)
NO_LAWS = Laws(np.empty(0, dtype=np.int32), np.empty((0, 2, 0)), np.empty((0, 2)))
NO_NODES = Nodes(np.empty((0, 4, 0)), np.empty((0, 2, 0)), np.empty(0), 0, np.empty(0))
# A failure probability is kept as a number times this to an integer power, as kernels/label_state.py does.
LOG_RESCALE = np.log(kernels.RESCALE)


class Expectation(Protocol):
    """The expected utility of selections on one batch, on top of what was decided elsewhere.

    Attributes
    ----------
    name : str
        "semi" or "exact".
    terms : Terms
        What kernels read; it never changes.
    is_linear : bool
        Whether the gain of a label does not depend on the selection.
    is_expensive : bool
        Whether a climb by the semi-empirical expectation first saves time.
    uses_nodes, uses_laws : bool
        What its states hold beside counts and lines.
    """

    name: str
    utility: Utility
    candidates: Candidates
    batch: Batch
    context: Totals
    terms: Terms
    is_linear: bool
    is_expensive: bool
    uses_nodes: bool
    uses_laws: bool

    def start(self, q: NDArray) -> State:
        """The state of nothing selected, for labels that will be selected about q times."""

    def count(self, positions: NDArray, others: NDArray = NO_LABELS) -> State:
        """The state of a selection given as positions within the rows.

        `others` are selected labels that are no candidates of their instance: of probability 0.
        """

    def fits(self, state: State) -> bool:
        """Whether labels are selected about as often as the state was made for."""

    def refit(self, state: State, positions: NDArray) -> None:
        """Bring a state up to date for labels that are selected much more or less often than it was made for."""

    def value(self, state: State) -> float:
        """The expected utility at the totals of a state."""

    def worth(self, columns: Columns) -> Worth:
        """What sets of instances add to a label."""

    def value_of(self, chosen: Chosen) -> float:
        """The expected utility of any selection, as it is reported."""


def start_state(batch: Batch, context: Totals, nodes: Nodes = NO_NODES, laws: Laws = NO_LAWS) -> State:
    """A state with the totals of what was decided elsewhere, and nothing else."""
    m = batch.n_labels
    counts = np.zeros((m, kernels.N_COUNTS))
    counts[:, kernels.T], counts[:, kernels.Q], counts[:, kernels.P] = context.t, context.q, batch.condition_positives
    counts[:, kernels.MANTISSA] = 1.0
    if context.log_failure is not None:
        with np.errstate(invalid="ignore"):
            scale = np.where(np.isinf(context.log_failure), 0.0, np.floor(context.log_failure / LOG_RESCALE))
            counts[:, kernels.MANTISSA] = np.exp(context.log_failure - scale * LOG_RESCALE)
        counts[:, kernels.SCALE] = scale
    counts[:, kernels.FAILURE] = np.where(counts[:, kernels.SCALE] == 0, counts[:, kernels.MANTISSA], 0.0)
    return State(counts, np.zeros(m, dtype=np.float32), np.zeros(m, dtype=np.float32), nodes, laws)


def count_positions(rows: Rows, positions: NDArray, others: NDArray, terms: Terms, state: State) -> State:
    """Add a selection to a state of nothing selected; psi and lines follow."""
    kernels.count_selected(rows, positions, terms, state)
    kernels.refresh(terms, state)
    kernels.add_impossible(terms, state, others)
    return state


def value_at(terms: Terms, state: State) -> float:
    """What the totals of a state are worth, without nodes."""
    counts = state.counts
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused by who reports it
        psi = counts[:, kernels.PSI] + terms.linear[:, 0] * counts[:, kernels.T]
        psi += terms.linear[:, 1] * counts[:, kernels.Q]
        if terms.coverage.size:
            psi += terms.coverage * (1 - counts[:, kernels.FAILURE])
        return float(psi.sum())


def locate(chosen: Chosen, candidates: Candidates) -> tuple[NDArray, NDArray]:
    """Where the labels of a selection stand in the rows, -1 for those that are no candidates; and these."""
    positions = np.empty_like(chosen.labels)
    find_positions(candidates.rows, chosen.labels, positions)
    return positions, chosen.labels[(positions < 0) & (chosen.labels >= 0)]


def check_value(utility: Utility, value: float) -> float:
    """Refuse a value that the utility cannot have, which only rounding or overflow can lead to."""
    low, high = utility.range
    slack = 1e-6 * max(abs(low), abs(high), 1.0)
    if not (np.isfinite(value) and low - slack <= value <= high + slack):
        msg = (
            f"The expected {utility} must be a number between {low:g} and {high:g}. It came out as {value:.9g}: the "
            "input is too extreme to compute with, or condition_positives contradict the probabilities. "
            "Use less extreme factors, parameters or condition_positives."
        )
        raise NumericalError(msg)
    return value
