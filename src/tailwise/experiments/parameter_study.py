"""The impact of k' (candidates per instance) and epsilon (stopping criterion) on metrics, passes and time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tailwise.experiments.experiment import SEEDS, Experiment, Measured, RunParameters, average
from tailwise.experiments.experiment_data import ExperimentData
from tailwise.experiments.measuring import metric_columns
from tailwise.experiments.results import Column, Results, Row, Table
from tailwise.experiments.strategies import ASCENT_STRATEGIES, Strategy, find_strategy

COST_COLUMNS = (
    Column("passes", "passes", "cost", better=None, digits=1, percent=False),
    Column("seconds", "seconds", "cost", better=None, digits=3, percent=False),
)


@dataclass(frozen=True)
class Parameters(Experiment):
    """Block coordinate ascent with several k' and epsilon; means over seeds."""

    name = "parameters"
    title = "The impact of k' and epsilon"
    paper = "the table of the stopping criterion and top-k' in the appendix"

    budgets: tuple[int, ...] = (3, 5)
    seeds: tuple[int, ...] = SEEDS
    tops: tuple[int, ...] = (25, 100, 1000)
    tolerances: tuple[float, ...] = (1e-3, 1e-5, 1e-7)
    strategies: tuple[Strategy, ...] = tuple(each for each in ASCENT_STRATEGIES if each.is_seeded)

    def list_runs(self, data: ExperimentData) -> list[RunParameters]:
        return [
            {"strategy": strategy.name, "k": k, "top": top, "tolerance": tolerance, "seed": seed}
            for k in self.budgets
            for top in self._tops_of(data)
            for strategy in self.strategies
            for tolerance in self.tolerances
            for seed in self.seeds
        ]

    def _tops_of(self, data: ExperimentData) -> list[int]:
        """Return the k' that the probabilities allow; a tree can predict any number of labels."""
        longest = data.truth.shape[1] if data.given is None else int(data.candidates.sizes.max())
        return sorted({min(top, longest) for top in self.tops})

    def measure(self, run: RunParameters, data: ExperimentData) -> dict[str, float | None]:
        strategy = find_strategy(self.strategies, run["strategy"])
        strategy = replace(strategy, options={**strategy.options, "tolerance": run["tolerance"]})
        candidates = data.shorten(run["top"], max(self._tops_of(data)))
        selection = strategy.select(candidates, run["k"], data.priors, seed=run["seed"])
        return {**data.evaluate(selection, run["k"]), "passes": float(selection.passes), "seconds": selection.seconds}

    def present(self, measured: list[Measured], data: ExperimentData) -> Results:
        tables = []
        for k in self.budgets:
            for top in self._tops_of(data):
                rows = [row for each in self.strategies for row in self._rows(each, k, top, measured)]
                title = f"{self.title}: k' = {top} at {k}, {data.name}"
                columns = (*metric_columns(k), *COST_COLUMNS)
                tables.append(Table(f"{self.name}-k{k}-top{top}", title, columns, tuple(rows)))
        return Results(tuple(tables), notes=("The seconds of the first run include loading compiled code.",))

    def _rows(self, strategy: Strategy, k: int, top: int, measured: list[Measured]) -> list[Row]:
        rows = []
        for tolerance in self.tolerances:
            wanted = {"strategy": strategy.name, "k": k, "top": top, "tolerance": tolerance}
            mine = [each for each in measured if wanted.items() <= each.run.items()]
            means, deviations = average(mine)
            name = f"{strategy.name}, epsilon {tolerance:g}"
            spread = deviations if len(mine) > 1 else {}
            rows.append(Row(name, means, spread, strategy.name, own=(strategy.utility,)))
        return rows
