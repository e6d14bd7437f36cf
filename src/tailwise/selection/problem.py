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
    from tailwise.inputs.totals import Totals
    from tailwise.kernels.label_state import State
    from tailwise.selection.observer import Observer
    from tailwise.selection.rules import Rules
    from tailwise.utilities.utility import Batch, Utility

    Step = Callable[["Problem", "Outcome | None", Observer], "Outcome"]

__all__ = ["Outcome", "Problem", "Proving", "Request"]


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
    context: Totals | None = None
    priors: Any = None
    condition_positives: Any = None
    engine: Any = "threads"
    workers: int | None = None
    seed: int = 0
    proving: Proving | None = None
    judged: Any = None  # a selection to judge, in the place of one to be found


@dataclass(frozen=True)
class Problem:
    """A request with every parameter checked and every "auto" decided; nothing in it changes.

    Attributes
    ----------
    expectation : Expectation
        What is maximised.
    cheaper : Expectation or None
        One that leads near its optimum in less time.
    rules : Rules
        How many labels each instance takes.
    start : str or Chosen
        Where ascent starts.
    plan : tuple of steps
        What is run, in this order; each takes the outcome of the one before.
    order, group_size : ndarray of instances, int
        Instances in the order in which passes visit them, and how many of them propose their labels at once.
    judged : Chosen or None
        The selection that is to be judged.
    """

    candidates: Candidates
    utility: Utility
    batch: Batch
    expectation: Expectation
    cheaper: Expectation | None
    rules: Rules
    start: str | Chosen
    method: str
    plan: tuple[Step, ...]
    order: NDArray
    group_size: int
    engine: Engine
    tolerance: float
    max_passes: int
    seed: int
    proving: Proving | None
    judged: Chosen | None


@dataclass(frozen=True)
class Outcome:
    """What a method hands over: the selected candidates, and their state.

    Attributes
    ----------
    positions : ndarray of int32, shape (n, k)
        Positions within the rows, -1 for none.
    state : State
        The totals of these positions.
    history : tuple of float
        Expected utility at the start and after each pass.
    is_counted : bool
        Whether the state was counted from scratch, or has been kept up to date pass by pass.
    others : tuple of ndarray
        Positions found on the way, which may be better once empty slots are filled.
    """

    positions: NDArray
    state: State
    history: tuple[float, ...]
    passes: int = 1
    converged: bool = True
    interrupted: bool = False
    is_counted: bool = True
    others: tuple[NDArray, ...] = ()
