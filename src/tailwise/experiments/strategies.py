"""The inference strategies that the paper compares, and those by exact expectation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tailwise.metrics import Evaluation, evaluate
from tailwise.selection import Selection, select

if TYPE_CHECKING:
    from tailwise.utilities import LabelPriors

__all__ = ["PAPER_STRATEGIES", "STRATEGIES", "Strategy", "compare_strategies"]


@dataclass(frozen=True)
class Strategy:
    """A utility and how to maximise it, under the paper's name."""

    name: str
    utility: str
    options: dict[str, Any] = field(default_factory=dict)

    def select(self, probabilities: Any, k: int, priors: LabelPriors, **options: Any) -> Selection:
        return select(probabilities, self.utility, k, priors=priors, **self.options, **options)


SEMI = {"expectation": "semi"}

PAPER_STRATEGIES = (
    Strategy("Top-K", "precision"),
    Strategy("PS-K", "ps-precision"),
    Strategy("Pow-K", "power-law(0.5)"),
    Strategy("Log-K", "log"),
    Strategy("Macro-R prior", "macro-recall", {**SEMI, "condition_positives": "priors"}),
    Strategy("Macro-R", "macro-recall", SEMI),
    Strategy("Macro-P greedy", "macro-precision", {**SEMI, "method": "greedy"}),
    Strategy("Macro-F1 greedy", "macro-f1", {**SEMI, "method": "greedy"}),
    Strategy("Cov greedy", "coverage", {**SEMI, "method": "greedy"}),
    Strategy("Macro-P", "macro-precision", SEMI),
    Strategy("Macro-F1", "macro-f1", SEMI),
    Strategy("Cov", "coverage", SEMI),
)
STRATEGIES = (
    *PAPER_STRATEGIES,
    Strategy("Macro-R exact", "macro-recall", {"expectation": "exact"}),
    Strategy("Macro-F1 exact", "macro-f1", {"expectation": "exact"}),
)


def compare_strategies(
    probabilities: Any,
    truth: Any,
    k: int,
    priors: LabelPriors,
    *,
    strategies: tuple[Strategy, ...] = STRATEGIES,
    on_done: Callable[[Strategy], object] = lambda strategy: None,
) -> dict[str, Evaluation]:
    """Select k labels by each strategy and evaluate on the true labels.

    Parameters
    ----------
    probabilities, truth : array_like of shape (n, m)
        Label probabilities and true labels of a batch.
    k : int
        Labels per instance.
    priors : LabelPriors
        Training frequencies.
    strategies : tuple of Strategy
        By default the paper's, and those by exact expectation.
    on_done : callable
        Called with each strategy when it is done, for progress.

    Returns
    -------
    dict
        Evaluation by the strategy's name.
    """
    evaluations = {}
    for strategy in strategies:
        selection = strategy.select(probabilities, k, priors)
        evaluations[strategy.name] = evaluate(truth, selection, priors=priors)
        on_done(strategy)
    return evaluations
