"""True labels as probabilities: the results of the strategies without uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

from tailwise.experiments.experiment import SEEDS, Experiment, Measured, RunParameters
from tailwise.experiments.experiment_data import ExperimentData
from tailwise.experiments.measuring import list_strategy_runs, metric_columns, strategy_rows
from tailwise.experiments.results import Results, Table
from tailwise.experiments.strategies import (
    ASCENT_STRATEGIES,
    GREEDY_STRATEGIES,
    INSTANCE_STRATEGIES,
    Strategy,
    find_strategy,
)

NOTE = (
    "Values below 100 % can be optimal: instances may have more or fewer true labels than k, and labels may have no "
    "true instance."
)


@dataclass(frozen=True)
class TrueLabels(Experiment):
    """Top-k, greedy and ascent strategies with probability 1 for each true label."""

    name = "true-labels"
    title = "True labels as probabilities"
    paper = "the table of results on true labels in the appendix"
    takes_probabilities = False
    needs_probabilities = False

    budgets: tuple[int, ...] = (1, 3, 5, 10)
    seeds: tuple[int, ...] = SEEDS
    strategies: tuple[Strategy, ...] = (INSTANCE_STRATEGIES[0], *GREEDY_STRATEGIES, *ASCENT_STRATEGIES)

    def list_runs(self, data: ExperimentData) -> list[RunParameters]:
        return list_strategy_runs(self.strategies, self.budgets, self.seeds, data)

    def measure(self, run: RunParameters, data: ExperimentData) -> dict[str, float | None]:
        strategy = find_strategy(self.strategies, run["strategy"])
        selection = strategy.select(data.certain, run["k"], data.priors, seed=run["seed"])
        return dict(data.evaluate(selection, run["k"]))

    def present(self, measured: list[Measured], data: ExperimentData) -> Results:
        tables = tuple(
            Table(
                f"{self.name}-k{k}",
                f"{self.title}, at {k}, {data.name}",
                metric_columns(k),
                strategy_rows(self.strategies, measured, k, spread=len(self.seeds) > 1),
            )
            for k in self.budgets
        )
        return Results(tables, notes=(NOTE,))
