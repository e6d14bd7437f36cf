"""The inference strategies that the paper compares, and those by exact expectation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tailwise.inputs.candidates import Candidates
from tailwise.metrics import Evaluation, evaluate
from tailwise.selection import Selection, select

if TYPE_CHECKING:
    from tailwise.utilities import LabelPriors

__all__ = [
    "ASCENT_STRATEGIES",
    "EXACT_STRATEGIES",
    "GREEDY_STRATEGIES",
    "INSTANCE_STRATEGIES",
    "PAPER_STRATEGIES",
    "PRIOR_RECALL",
    "STRATEGIES",
    "Strategy",
    "compare_strategies",
    "find_strategy",
]


@dataclass(frozen=True)
class Strategy:
    """A utility and how to maximise it, under the paper's name.

    Attributes
    ----------
    name : str
        As tables have it.
    utility : str
        What is maximised.
    options : dict
        Of :func:`tailwise.select`.
    shifted : bool
        Whether the probabilities are first shifted to the training labels' density
        (:func:`tailwise.shift_to_priors`).
    aim : str
        The metric that it is meant for, where that has another name than the utility.
    """

    name: str
    utility: str
    options: dict[str, Any] = field(default_factory=dict)
    shifted: bool = False
    aim: str = ""

    @property
    def metric(self) -> str:
        return self.aim or self.utility

    @property
    def needs_priors(self) -> bool:
        return self.shifted or "condition_positives" in self.options or self.utility in WEIGHTED

    @property
    def is_seeded(self) -> bool:
        """Whether another seed may give another selection: not where every instance is on its own."""
        return self.options.get("method") in ("ascent", "greedy", "global")

    def select(self, probabilities: Any, k: int, priors: LabelPriors | None, **options: Any) -> Selection:
        """Choose exactly k labels for each instance; probabilities are taken as they are, `shifted` or not."""
        return select(probabilities, self.utility, k, priors=priors, fill="least-loss", **self.options, **options)


WEIGHTED = ("ps-precision", "power-law(0.5)", "power-law(1)", "log")
SEMI = {"expectation": "semi"}
ASCENT = {**SEMI, "method": "ascent"}
GREEDY = {**SEMI, "method": "greedy"}
EXACT = {"expectation": "exact", "condition_positives": "priors"}

INSTANCE_STRATEGIES = (
    Strategy("Top-K", "precision"),
    Strategy("PS-K", "ps-precision"),
    Strategy("Pow-K", "power-law(0.5)"),
    Strategy("Log-K", "log"),
)
GREEDY_STRATEGIES = (
    Strategy("Macro-P greedy", "macro-precision", GREEDY),
    Strategy("Macro-F1 greedy", "macro-f1", GREEDY),
    Strategy("Cov greedy", "coverage", GREEDY),
)
# Recall with the training prior in the place of p: weights that are one over the prior.
PRIOR_RECALL = Strategy("Macro-R prior", "power-law(1)", aim="macro-recall")
ASCENT_STRATEGIES = (
    Strategy("Macro-P", "macro-precision", ASCENT),
    Strategy("Macro-R", "macro-recall", SEMI),
    Strategy("Macro-F1", "macro-f1", ASCENT),
    Strategy("Cov", "coverage", ASCENT),
)
PAPER_STRATEGIES = (*INSTANCE_STRATEGIES, PRIOR_RECALL, *GREEDY_STRATEGIES, *ASCENT_STRATEGIES)
EXACT_STRATEGIES = (
    Strategy("Macro-P exact", "macro-precision", {**EXACT, "method": "global"}, shifted=True),
    Strategy("Macro-R exact", "macro-recall", EXACT, shifted=True),
    Strategy("Macro-F1 exact", "macro-f1", {**EXACT, "method": "global"}, shifted=True),
    Strategy("Cov exact", "coverage", {**EXACT, "method": "global"}, shifted=True),
)
STRATEGIES = (*PAPER_STRATEGIES, *EXACT_STRATEGIES)


def find_strategy(strategies: Sequence[Strategy], name: str) -> Strategy:
    """The strategy of that name."""
    return next(each for each in strategies if each.name == name)


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
    from tailwise.models.prior_shift import shift_if_possible  # brings scikit-learn, which trade-offs do not need

    given = Candidates.of(probabilities)
    shifted = shift_if_possible(given, priors) or given
    evaluations = {}
    for strategy in strategies:
        selection = strategy.select(shifted if strategy.shifted else given, k, priors)
        evaluations[strategy.name] = evaluate(truth, selection, priors=priors)
        on_done(strategy)
    return evaluations
