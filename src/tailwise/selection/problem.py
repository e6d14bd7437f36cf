"""One selection problem: what every method works on, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.errors import InputError
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.checks import check_seed, is_integer
from tailwise.inputs.chosen import Chosen
from tailwise.utilities.utility import Utility

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.engines import Threads
    from tailwise.expectations import SemiEmpirical
    from tailwise.selection.rules import Feasible

__all__ = ["Certification", "Outcome", "Problem", "Settings"]


@dataclass(frozen=True)
class Settings:
    """The options of iterative methods, checked."""

    init: Any = "top"
    tolerance: float = 1e-7
    max_passes: int = 100
    batch: int | str = "auto"
    seed: int = 0
    progress: bool = False

    def __post_init__(self) -> None:
        if not (isinstance(self.tolerance, (int, float, np.number)) and 0 <= self.tolerance < np.inf):
            msg = f"tolerance must be a finite number of at least 0. Got {self.tolerance!r}."
            raise InputError(msg)
        if not is_integer(self.max_passes) or self.max_passes < 1:
            msg = f"max_passes must be an integer of at least 1. Got {self.max_passes!r}."
            raise InputError(msg)
        is_auto = isinstance(self.batch, str) and self.batch == "auto"  # an array would compare entry by entry
        if not is_auto and (not is_integer(self.batch) or int(self.batch) < 1):
            msg = f"batch must be an integer of at least 1, or 'auto'. Got {self.batch!r}. The paper's algorithm is 1."
            raise InputError(msg)
        check_seed(self.seed)


@dataclass(frozen=True)
class Certification:
    """What a proof may cost and should reach, checked."""

    rounds: int = 100
    target_gap: float = 1e-3
    given: Chosen | None = None  # a selection to judge, in the place of the one that is found

    def __post_init__(self) -> None:
        if not is_integer(self.rounds) or self.rounds < 1:
            msg = f"rounds must be an integer of at least 1. Got {self.rounds!r}. One round gives a bound already."
            raise InputError(msg)
        if not (isinstance(self.target_gap, (int, float, np.number)) and 0 <= self.target_gap < np.inf):
            msg = (
                f"target_gap must be a finite number of at least 0, a share of the value. Got {self.target_gap!r}. "
                "Use 0 for the closest bound that the rounds give."
            )
            raise InputError(msg)


@dataclass(frozen=True)
class Problem:
    """Candidates, utility and budgets, ready for a method."""

    candidates: Candidates
    utility: Utility
    expectation: SemiEmpirical
    feasible: Feasible
    settings: Settings
    threads: Threads
    rehearsal: SemiEmpirical | None = None  # a cheaper expectation that leads near the optimum of the other

    def empty_positions(self) -> NDArray:
        """A selection of nothing, (n, largest budget)."""
        budgets = self.feasible.budgets
        return np.full((budgets.size, max(1, int(budgets.max()))), -1, dtype=np.int32)


@dataclass(frozen=True)
class Outcome:
    """The selected candidates as positions within the rows, (n, k), -1 for none; and how it went."""

    positions: NDArray
    history: tuple[float, ...] = field(default=())
    passes: int = 1
    converged: bool = True
    interrupted: bool = False
    others: tuple[NDArray, ...] = ()  # positions found on the way, which may be better once empty slots are filled
