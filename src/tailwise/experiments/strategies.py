"""The inference strategies that the paper compares, and strategies with exact expectations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tailwise.inputs.candidates import Candidates
from tailwise.metrics import Evaluation, evaluate
from tailwise.selection import Selection, select
from tailwise.utilities import LabelPriors


@dataclass(frozen=True)
class Strategy:
    """A utility and how to maximise it, with the paper's name."""

    name: str
    utility: str
    options: dict[str, Any] = field(default_factory=dict)  # of tailwise.select
    shifted: bool = False  # whether probabilities are shifted to the training label density, tailwise.shift_to_priors
    aim: str = ""  # the metric that it optimises, if its name differs from the utility

    @property
    def metric(self) -> str:
        return self.aim or self.utility

    @property
    def needs_priors(self) -> bool:
        return self.shifted or "condition_positives" in self.options or self.utility in WEIGHTED

    @property
    def is_seeded(self) -> bool:
        """Whether the selection may depend on the seed; not if instances are independent."""
        return self.options.get("method") in ("ascent", "greedy", "global")

    def select(self, probabilities: Any, k: int, priors: LabelPriors | None, **options: Any) -> Selection:
        """Choose exactly k labels for each instance; the caller shifts the probabilities if needed."""
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
# Recall with the training prior in place of p, that is with inverse priors as weights.
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
    """Find a strategy by name."""
    return next(each for each in strategies if each.name == name)


def compare_strategies(
    probabilities: Any,
    truth: Any,
    k: int,
    priors: LabelPriors,
    *,
    on_done: Callable[[Strategy], object] = lambda strategy: None,
) -> dict[str, Evaluation]:
    """Select k labels with each strategy, and evaluate them with true labels; return evaluations by its name.

    `on_done` is called with each strategy when it is done, to show progress.
    """
    from tailwise.models.prior_shift import shift_if_possible  # imports scikit-learn, which trade-offs do not need

    given = Candidates.of(probabilities).widened()
    shifted = shift_if_possible(given, priors) or given
    evaluations = {}
    for strategy in STRATEGIES:
        selection = strategy.select(shifted if strategy.shifted else given, k, priors)
        evaluations[strategy.name] = evaluate(truth, selection, priors=priors)
        on_done(strategy)
    return evaluations
