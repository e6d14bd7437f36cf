"""What a selection returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailwise.inputs.chosen import Chosen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.certificates import Certificate
    from tailwise.utilities import Utility

__all__ = ["Selection"]


@dataclass(frozen=True, eq=False, repr=False)
class Selection(Chosen):
    """The labels selected for each instance, and how they were found.

    Attributes
    ----------
    labels : ndarray of int32, shape (n, k)
        Best gain first. -1 marks a slot without a label: where an instance has too few candidates (``fill`` says what
        happens then), where its budget is below the largest, or where there is no budget.
    n_labels : int
        Number of labels m.
    utility : Utility
        What was maximised.
    expected : float
        Expected utility of this selection, by the expectation that was used.
    history : tuple of float
        Expected utility at the start and after each pass, before empty slots were filled.
    passes : int
        Number of passes over the instances.
    seconds : float
        Time taken by the passes and all else in ``select``, compilation included where it happened.
    converged : bool
        Whether the last pass gained less than the tolerance (or one pass is all it takes).
    interrupted : bool
        Whether Ctrl-C ended the passes.
    method, expectation : str
        What was used, never "auto".
    certificate : Certificate or None
        The proof of how close to the optimum this is, where it was asked for.
    """

    labels: NDArray
    n_labels: int
    utility: Utility
    expected: float
    history: tuple[float, ...]
    passes: int
    seconds: float
    converged: bool
    interrupted: bool
    method: str
    expectation: str
    certificate: Certificate | None = None
    is_ranked: bool = True

    def __repr__(self) -> str:
        n, k = self.labels.shape
        state = "interrupted" if self.interrupted else "converged" if self.converged else "not converged"
        return (
            f"Selection({n:,} instances, at most {k} of {self.n_labels:,} labels, {self.utility} {self.expected:.6g} "
            f"expected, {self.method}, {self.passes} passes, {state})"
        )
