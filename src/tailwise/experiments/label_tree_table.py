"""Inference on a label tree: metrics, time, nodes visited, and speed-up over shortlists of 100 and 1000 labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tailwise.experiments.experiment import Experiment, Measured, RunParameters
from tailwise.experiments.experiment_data import TOP, ExperimentData
from tailwise.experiments.measuring import metric_columns, with_propensity
from tailwise.experiments.paper_figures import paper_values, side_by_side
from tailwise.experiments.results import Column, Results, Row, Table
from tailwise.experiments.strategies import (
    EXACT_STRATEGIES,
    GREEDY_STRATEGIES,
    INSTANCE_STRATEGIES,
    PRIOR_RECALL,
    Strategy,
    find_strategy,
)
from tailwise.inputs.candidates import Candidates
from tailwise.models.prior_shift import shift_if_possible
from tailwise.runs.record import Stopwatch

SHORTLISTS = (1000, TOP)
TREE_STRATEGIES = (
    *INSTANCE_STRATEGIES,
    *(each for each in GREEDY_STRATEGIES if each.utility == "macro-precision"),
    PRIOR_RECALL,
    *(each for each in GREEDY_STRATEGIES if each.utility == "coverage"),
)
SECONDS = Column("seconds", "seconds", "test set", better="smaller", percent=False, digits=3)
COST = (
    Column("milliseconds", "ms", "an instance", better="smaller", percent=False, digits=3),
    Column("nodes", "nodes", "an instance", better=None, percent=False, digits=1),
)


@dataclass(frozen=True)
class LabelTreeTable(Experiment):
    """Strategies by search on the tree itself, compared with shortlists and with exact strategies on a shortlist."""

    name = "label-tree"
    title = "Inference on a label tree"
    paper = "the table of inference with probabilistic label trees in the appendix"
    uses_seeds = False
    takes_probabilities = False
    needs_tree = True

    budgets: tuple[int, ...] = (3, 5)
    strategies: tuple[Strategy, ...] = TREE_STRATEGIES
    shortlisted: tuple[Strategy, ...] = EXACT_STRATEGIES

    def list_runs(self, data: ExperimentData) -> list[RunParameters]:
        names = [each.name for each in (*self.strategies, *self.shortlisted)]
        strategies = [{"strategy": name, "k": k, "seed": self.seeds[0]} for k in self.budgets for name in names]
        longest = data.truth.shape[1]
        tops = sorted({min(top, longest) for top in SHORTLISTS}, reverse=True)
        return [*({"shortlist": top} for top in tops), *strategies]

    def measure(self, run: RunParameters, data: ExperimentData) -> dict[str, float | None]:
        if "shortlist" in run:
            return _measure_shortlist(run["shortlist"], data)
        strategy = find_strategy((*self.strategies, *self.shortlisted), run["strategy"])
        if strategy in self.shortlisted:
            return _measure_shortlisted(strategy, run, data)
        return _measure_on_tree(strategy, run, data)

    def present(self, measured: list[Measured], data: ExperimentData) -> Results:
        n = data.truth.shape[0]
        shortlists = {each.run["shortlist"]: each.values for each in measured if "shortlist" in each.run}
        speed_up = [
            Column(f"speed-up {top}", f"k'={top}", "speed-up", better=None, percent=False) for top in sorted(shortlists)
        ]
        tables = []
        for k in self.budgets:
            mine = {each.run["strategy"]: each.values for each in measured if each.run.get("k") == k}
            lines = {**{f"Top-{top}": values for top, values in shortlists.items()}, **mine}
            own = {each.name: (each.utility,) for each in (*self.strategies, *self.shortlisted)}
            rows = [
                Row(name, _per_instance(values, n, shortlists), {}, self._group(name), own.get(name, ()))
                for name, values in lines.items()
            ]
            columns = (*metric_columns(k), *COST)  # the columns of the paper
            tables.append(
                Table(
                    f"{self.name}-k{k}",
                    f"{self.title} at {k}, {data.name}",
                    (*columns, SECONDS, *speed_up),
                    tuple(rows),
                )
            )
            golden = {name: line for (name, at), line in paper_values(self.name, data.name).items() if at == k}
            if golden:
                title = f"Paper and ours at {k}, {data.name}"
                tables.append(side_by_side(f"{self.name}-paper-k{k}", title, columns, rows, golden))
        return Results(
            tuple(tables), notes=("Exact strategies select from the shortlist of 100, whose time is included.",)
        )

    def _group(self, name: str) -> str:
        if name in {each.name for each in self.shortlisted}:
            return "shortlisted"
        return "tree" if name in {each.name for each in self.strategies} else "shortlist"


def _one_then_all(data: ExperimentData) -> tuple[Any, Any]:
    """The test features; first those of one instance, to load compiled code and weights before time is measured."""
    return data.test_features[:1], data.test_features


def _measure_shortlist(top: int, data: ExperimentData) -> dict[str, float | None]:
    for features in _one_then_all(data):
        watch = Stopwatch()
        with watch.measure("search"):
            found = data.tree.search(features, top)
    return {"seconds": watch.seconds["search"], "nodes": float(found.visited.mean())}


def _measure_on_tree(strategy: Strategy, run: RunParameters, data: ExperimentData) -> dict[str, float | None]:
    utility = with_propensity(strategy, data).utility
    for features in _one_then_all(data):
        selection = data.tree.select(features, utility, run["k"], method="tree", seed=run["seed"])
    assert selection.visited is not None
    metrics: dict[str, float | None] = dict(data.evaluate(selection, run["k"]))
    return {**metrics, "seconds": selection.seconds, "nodes": float(selection.visited.mean())}


def _measure_shortlisted(strategy: Strategy, run: RunParameters, data: ExperimentData) -> dict[str, float | None]:
    assert data.priors is not None
    for features in _one_then_all(data):
        watch = Stopwatch()
        with watch.measure("select"):
            candidates = Candidates.of(data.tree.predict_proba(features, top=TOP))
            shifted = shift_if_possible(candidates, data.priors) or candidates
            selection = strategy.select(shifted, run["k"], data.priors, seed=run["seed"])
    metrics: dict[str, float | None] = dict(data.evaluate(selection, run["k"]))
    return {**metrics, "seconds": watch.seconds["select"], "nodes": None}


def _per_instance(
    values: dict[str, float | None], n: int, shortlists: dict[int, dict[str, float | None]]
) -> dict[str, float | None]:
    seconds = values["seconds"] or 0.0
    speed = {f"speed-up {top}": (each["seconds"] or 0.0) / seconds for top, each in shortlists.items()}
    return {**values, **speed, "milliseconds": 1000 * seconds / n}
