"""What a proof says: no selection is worth more than this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from tailwise.utilities import Utility


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    r"""A selection's expected utility, and an upper bound for that of every selection.

    .. math:: \text{value} \le \text{optimum} \le \text{upper} =
        \sum_i k_i \lambda_i + \sum_j \max_S \Bigl[\psi_j(S) - \sum_{i \in S} \lambda_i\Bigr]

    Whatever the prices :math:`\lambda` are, the right side is an upper bound; good prices make it a close one.

    Attributes
    ----------
    value : float
        Expected utility of the selection.
    upper : float
        No selection is worth more: none that takes for each instance as many of its candidates as the budget allows.
    gap, relative_gap : float
        upper - value, and gap / abs(value) (infinite where the value is 0 and the gap is not).
    rounds : int
        How often the prices were changed.
    seconds : float
        Time taken by the proof, and by what it did to improve the selection on the way.
    prices : ndarray of shape (n,)
        The price of a slot of each instance: about what one more label would be worth to the batch.
    history : tuple of float
        The best upper bound after each round.
    utility, expectation
        What was bounded.
    interrupted : bool
        Whether Ctrl-C ended the proof early; the bound holds all the same.
    finished : bool
        Whether the proof ended by itself: with the gap that was asked for, with prices that no longer change, or after
        all rounds. Otherwise a time limit or `on_pass` stopped it.
    """

    value: float
    upper: float
    rounds: int
    seconds: float
    prices: NDArray
    history: tuple[float, ...]
    utility: Utility
    expectation: str
    interrupted: bool = False
    finished: bool = True

    @property
    def gap(self) -> float:
        return self.upper - self.value

    @property
    def relative_gap(self) -> float:
        if self.gap == 0.0:
            return 0.0
        return self.gap / abs(self.value) if self.value != 0.0 else float("inf")

    def to_dict(self) -> dict[str, Any]:
        """The certificate for a run record: numbers and text only, without the prices."""
        return {
            "utility": str(self.utility),
            "expectation": self.expectation,
            "value": self.value,
            "upper": self.upper,
            "gap": self.gap,
            "relative_gap": self.relative_gap if self.value != 0.0 else None,
            "rounds": self.rounds,
            "seconds": self.seconds,
            "interrupted": self.interrupted,
            "finished": self.finished,
            "history": list(self.history),
        }

    def __str__(self) -> str:
        share = _percent(self.relative_gap)
        return f"expected {self.utility} {self.value:.4g}; the optimum is at most {share} above this selection"

    def __repr__(self) -> str:
        state = ", interrupted" if self.interrupted else ""
        return (
            f"Certificate({self}; {self.expectation}, upper bound {self.upper:.6g}, {self.rounds} rounds, "
            f"{self.seconds:.1f} s{state})"
        )


def _percent(share: float) -> str:
    """Two digits, rounded up, so that the proof says no more than it shows."""
    if share == float("inf"):
        return "an unknown share"
    if share < 1e-7:
        return "0 %"
    from decimal import ROUND_CEILING, Context

    return f"{Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(100 * share).normalize():f} %"
