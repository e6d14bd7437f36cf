"""Measuring a strategy on a data set, and presenting its runs as rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tailwise.experiments.experiment import Measured, RunParameters, average
from tailwise.experiments.experiment_data import ExperimentData
from tailwise.experiments.results import Column, Row
from tailwise.experiments.strategies import EXACT_STRATEGIES, Strategy
from tailwise.selection import expected_utility

MACRO_METRICS = {"macro-precision": "P", "macro-recall": "R", "macro-f1": "F1", "coverage": "Cov"}
INSTANCE_METRICS = {"precision": "P", "recall": "R"}
EXPECTED_COLUMNS = (
    Column("claimed", "claimed", "expected", better=None),
    Column("exact", "exact", "expected", better=None),
)
GAP_COLUMN = Column("gap", "gap", "proof", better=None, digits=3)


def metric_columns(k: int) -> tuple[Column, ...]:
    """Return the metric columns of the paper's tables at k."""
    instance = (Column(key, title, f"Instance @{k}") for key, title in INSTANCE_METRICS.items())
    macro = (Column(key, title, f"Macro @{k}") for key, title in MACRO_METRICS.items())
    return (*instance, *macro)


def list_strategy_runs(
    strategies: Sequence[Strategy], budgets: Sequence[int], seeds: Sequence[int], data: ExperimentData
) -> list[RunParameters]:
    """List runs of each strategy for each budget and seed; one seed if seeds do not matter.

    Without training labels, strategies that need them are omitted.
    """
    able = [each for each in strategies if data.priors is not None or not each.needs_priors]
    return [
        {"strategy": strategy.name, "k": k, "seed": seed}
        for k in budgets
        for strategy in able
        for seed in (seeds if strategy.is_seeded else seeds[:1])
    ]


def measure_strategy(
    strategy: Strategy, data: ExperimentData, k: int, seed: int, *, certify: bool = False
) -> dict[str, float | None]:
    """Measure metrics on true labels, claimed and exact expected values, gap, seconds and passes."""
    strategy = with_propensity(strategy, data)
    probabilities = data.shifted if strategy.shifted else data.candidates
    selection = strategy.select(probabilities, k, data.priors, seed=seed, certify=certify)
    values: dict[str, float | None] = dict(data.evaluate(selection, k))
    values.update({"claimed": None, "exact": None, "gap": None})
    if strategy.utility in values:  # only utilities that are metrics are shown
        p = strategy.options.get("condition_positives")
        values["claimed"] = selection.expected
        values["exact"] = expected_utility(
            probabilities, strategy.utility, selection, k, priors=data.priors, condition_positives=p
        )
    if selection.certificate is not None:
        values["gap"] = max(0.0, selection.certificate.relative_gap)  # rounding may make it slightly negative
    return {**values, "seconds": selection.seconds, "passes": float(selection.passes)}


def with_propensity(strategy: Strategy, data: ExperimentData) -> Strategy:
    """Return the strategy with the propensity parameters of the data, if it uses propensities."""
    if strategy.utility != "ps-precision":
        return strategy
    a, b = data.source.propensity
    return replace(strategy, utility=f"ps-precision({a}, {b})")


def strategy_rows(
    strategies: Sequence[Strategy], measured: Sequence[Measured], k: int, *, spread: bool = False
) -> tuple[Row, ...]:
    """Build one row of means over seeds for each strategy that was run; `spread` adds standard deviations."""
    rows = []
    for strategy in strategies:
        mine = [each for each in measured if each.run["strategy"] == strategy.name and each.run["k"] == k]
        if mine:
            means, deviations = average(mine)
            shown = deviations if spread and strategy.is_seeded else {}
            group = "exact" if strategy in EXACT_STRATEGIES else "paper"
            rows.append(Row(strategy.name, means, shown, group, own=(strategy.metric,)))
    return tuple(rows)
