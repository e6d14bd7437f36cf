"""What is asked for, the problem that it comes to, and what a method makes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tailwise.engines import Engine
    from tailwise.expectations.expectation import Expectation
    from tailwise.inputs.candidates import Candidates
    from tailwise.inputs.chosen import Chosen
    from tailwise.inputs.ids import Ids
    from tailwise.inputs.totals import Totals
    from tailwise.kernels.label_state import State
    from tailwise.selection.checkpoint import Checkpoint
    from tailwise.selection.observer import Observer
    from tailwise.selection.rules import Rules
    from tailwise.utilities.utility import Batch, Utility

    Step = Callable[["Problem", "Outcome", Observer], "Outcome"]


@dataclass(frozen=True)
class Proving:
    """What a proof may cost, and what it should reach."""

    rounds: int = 100
    target_gap: float = 1e-3


@dataclass(frozen=True)
class Request:
    """What a user asks for, in the user's own words; the defaults are those of `select`."""

    probabilities: Any
    utility: Utility | str
    k: Any
    method: str = "auto"
    expectation: str = "auto"
    init: Any = "top"
    tolerance: float = 1e-7
    max_passes: int = 100
    group_size: int | str = "auto"
    fill: str = "auto"
    exclude: Any = None
    context: Totals | None = None
    priors: Any = None
    condition_positives: Any = None
    engine: Any = "threads"
    workers: int | None = None
    seed: int = 0
    proving: Proving | None = None
    columns: dict[str, str] | None = None  # of a table: those of instances, labels and probabilities
    judged: Any = None  # a selection to judge, in the place of one to be found


@dataclass(frozen=True)
class Problem:
    """A request with every parameter checked and every "auto" decided; nothing in it changes."""

    candidates: Candidates  # the rows of the instances, and further rows of what is excluded, which have no slots
    n_instances: int
    instance_ids: Ids | None
    utility: Utility
    batch: Batch
    expectation: Expectation  # what is maximised
    cheaper: Expectation | None  # one that leads near its optimum in less time
    rules: Rules  # how many labels each instance takes
    start: str | Chosen  # where ascent starts
    method: str
    plan: tuple[Step, ...]  # what is run, in this order; each takes the outcome of the one before
    order: NDArray  # instances in the order in which passes visit them
    group_size: int  # how many of them propose their labels at once
    engine: Engine
    tolerance: float
    max_passes: int
    seed: int
    proving: Proving | None
    judged: Chosen | None  # the selection that is to be judged
    checkpoint: Checkpoint | None = None  # where passes are kept, so that a killed call can go on


@dataclass(frozen=True)
class Outcome:
    """What a method hands over: the selected candidates, and their state."""

    positions: NDArray  # int32 (n, k): positions within the rows, -1 for none
    state: State  # the totals of these positions
    history: tuple[float, ...]  # expected utility at the start and after each pass
    passes: int = 1
    converged: bool = True
    interrupted: bool = False
    is_counted: bool = True  # whether the state was counted from scratch, not kept up to date pass by pass
    others: tuple[NDArray, ...] = ()  # positions found on the way, maybe better once empty slots are filled
