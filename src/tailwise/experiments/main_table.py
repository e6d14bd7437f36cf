"""The main table of strategies and metrics at several k, and the extended table over several seeds."""

from __future__ import annotations

from dataclasses import dataclass

from tailwise.experiments.experiment import SEEDS, Experiment, Measured, RunParameters
from tailwise.experiments.experiment_data import ExperimentData
from tailwise.experiments.measuring import (
    EXPECTED_COLUMNS,
    GAP_COLUMN,
    list_strategy_runs,
    measure_strategy,
    metric_columns,
    strategy_rows,
)
from tailwise.experiments.results import Results, Table
from tailwise.experiments.strategies import (
    ASCENT_STRATEGIES,
    EXACT_STRATEGIES,
    INSTANCE_STRATEGIES,
    STRATEGIES,
    Strategy,
    find_strategy,
)

MAIN_STRATEGIES = (*INSTANCE_STRATEGIES, *ASCENT_STRATEGIES, *EXACT_STRATEGIES)
METRICS_NOTE = "P precision, R recall, F1, Cov coverage, on the true labels, percent."
EXPECTED_NOTE = (
    "claimed: the expected value of the strategy's own utility, according to the expectation and the probabilities "
    "that it uses; exact: the same with the exact expectation."
)
GAP_NOTE = (
    "gap: an upper bound on the distance to the optimum, in percent of the value reached. Computing the bound may "
    "improve a selection, so these values may be slightly higher than in the extended table."
)
EXACT_NOTE = "Exact strategies maximise the exact expectation, with p from training counts."


@dataclass(frozen=True)
class MainTable(Experiment):
    """Metrics of the strategies, with expected values and, for exact strategies, the gap to the optimum."""

    name = "main"
    title = "Inference strategies"
    paper = "the main table of section 6"

    budgets: tuple[int, ...] = (1, 3, 5, 10)
    strategies: tuple[Strategy, ...] = MAIN_STRATEGIES
    certify: bool = True

    def list_runs(self, data: ExperimentData) -> list[RunParameters]:
        return list_strategy_runs(self.strategies, self.budgets, self.seeds, data)

    def measure(self, run: RunParameters, data: ExperimentData) -> dict[str, float | None]:
        strategy = find_strategy(self.strategies, run["strategy"])
        certify = self.certify and strategy in EXACT_STRATEGIES
        return measure_strategy(strategy, data, run["k"], run["seed"], certify=certify)

    def present(self, measured: list[Measured], data: ExperimentData) -> Results:
        spread, is_proven = len(self.seeds) > 1, self.certify and data.priors is not None
        tables = tuple(
            Table(
                f"{self.name}-k{k}",
                f"{self.title} at {k}, {data.name}",
                (*metric_columns(k), *EXPECTED_COLUMNS, *((GAP_COLUMN,) if is_proven else ())),
                strategy_rows(self.strategies, measured, k, spread=spread),
            )
            for k in self.budgets
        )
        notes = [METRICS_NOTE, EXPECTED_NOTE, *([GAP_NOTE] if is_proven else [])]
        notes += [] if data.priors is None else [EXACT_NOTE]
        return Results(tables, notes=(*notes, *data.notes))


@dataclass(frozen=True)
class ExtendedTable(MainTable):
    """The main table with additional strategies; mean and standard deviation over seeds."""

    name = "extended"
    title = "Inference strategies, including greedy ones and macro-recall with priors"
    paper = "the extended tables of the appendix"

    seeds: tuple[int, ...] = SEEDS
    strategies: tuple[Strategy, ...] = STRATEGIES
    certify: bool = False
