"""Mixed utilities: curves of precision versus macro-precision, macro-F1 and coverage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tailwise.errors import InputError
from tailwise.experiments.experiment import SEEDS, Experiment, Measured, RunParameters, average
from tailwise.experiments.experiment_data import ExperimentData
from tailwise.experiments.measuring import list_strategy_runs, measure_strategy
from tailwise.experiments.results import Column, MeanCurve, MeanPoint, Results, Row, Table
from tailwise.experiments.strategies import ASCENT_STRATEGIES, INSTANCE_STRATEGIES, Strategy, find_strategy
from tailwise.experiments.trade_off import PAPER_ALPHAS
from tailwise.metrics import METRIC_NAMES
from tailwise.utilities.parse import UTILITY_NAMES

FIRST = "precision"
# Utilities that are also metrics.
SECONDS = tuple(name for name in UTILITY_NAMES if name in METRIC_NAMES and name not in (FIRST, "ps-precision"))
BASELINES = (*INSTANCE_STRATEGIES, *ASCENT_STRATEGIES)


@dataclass(frozen=True)
class Mixed(Experiment):
    """(1 - alpha) precision + alpha second, for the paper's alphas; means over seeds."""

    name = "mixed"
    title = "Mixed utilities"
    paper = "the figures of mixed utilities in section 6 and the appendix"
    has_curves = True

    budgets: tuple[int, ...] = (3, 5)
    seeds: tuple[int, ...] = SEEDS
    seconds: tuple[str, ...] = ("macro-precision", "macro-f1", "coverage")
    alphas: tuple[float, ...] = PAPER_ALPHAS
    baselines: tuple[Strategy, ...] = BASELINES

    def check(self, data: ExperimentData) -> None:
        for second in self.seconds:
            if second not in SECONDS:
                msg = f"The second utility must be one of {', '.join(SECONDS)}. Got {second!r}."
                raise InputError(msg)
        super().check(data)

    def list_runs(self, data: ExperimentData) -> list[RunParameters]:
        mixtures = [
            {"second": second, "k": k, "alpha": alpha, "seed": seed}
            for k in self.budgets
            for second in self.seconds
            for alpha in self.alphas
            for seed in self.seeds
        ]
        return [*list_strategy_runs(self.baselines, self.budgets, self.seeds[:1], data), *mixtures]

    def measure(self, run: RunParameters, data: ExperimentData) -> dict[str, float | None]:
        if "strategy" in run:
            strategy = find_strategy(self.baselines, run["strategy"])
        else:
            strategy = _mix(run["alpha"], run["second"], has_priors=data.priors is not None)
        return measure_strategy(strategy, data, run["k"], run["seed"])

    def present(self, measured: list[Measured], data: ExperimentData) -> Results:
        pairs = [(k, second) for k in self.budgets for second in self.seconds]
        curves = [self._curve(k, second, measured, data) for k, second in pairs]
        return Results(tuple(map(_tabulate, curves)), tuple(curves), notes=data.notes)

    def _curve(self, k: int, second: str, measured: list[Measured], data: ExperimentData) -> MeanCurve:
        points = [self._point({"second": second, "k": k, "alpha": alpha}, measured) for alpha in self.alphas]
        baselines = [each for each in measured if "strategy" in each.run and each.run["k"] == k]
        others = {each.run["strategy"]: _pair(each.values, second) for each in baselines}
        title = f"{FIRST} and {second}, mixed, at {k}, {data.name}"
        options: dict[str, Any] = {} if data.priors is None else {"condition_positives": "priors"}
        options |= {"shift_to_priors": True} if data.is_shifted else {}
        name = f"{self.name}-{second}-k{k}"
        return MeanCurve(name, title, FIRST, second, k, tuple(points), others, data.file_name, options=options)

    def _point(self, wanted: RunParameters, measured: list[Measured]) -> MeanPoint:
        means, deviations = average([each for each in measured if wanted.items() <= each.run.items()])
        spread = _pair(deviations, wanted["second"]) if len(self.seeds) > 1 else ()
        return MeanPoint(wanted["alpha"], *_pair(means, wanted["second"]), *spread)


def _mix(alpha: float, second: str, *, has_priors: bool) -> Strategy:
    """Return a mixture with default options, and with training frequencies if available."""
    options = {"condition_positives": "priors"} if has_priors else {}
    return Strategy("mixture", f"{1 - alpha:.12g}*{FIRST} + {alpha:.12g}*{second}", options, shifted=has_priors)


def _pair(values: dict[str, float | None], second: str) -> tuple[float, float]:
    return values[FIRST] or 0.0, values[second] or 0.0


def _tabulate(curve: MeanCurve) -> Table:
    """Convert the points of a curve to a table, followed by the other strategies."""
    names = (curve.first, curve.second)
    columns = tuple(Column(name, name) for name in names)
    mixtures = [
        Row(
            f"alpha {point.alpha:g}",
            dict(zip(names, (point.first, point.second), strict=True)),
            dict(zip(names, (point.first_deviation, point.second_deviation), strict=True)),
            "mixed",
        )
        for point in curve.points
    ]
    others = [Row(name, dict(zip(names, pair, strict=True)), {}, "others") for name, pair in curve.others.items()]
    return Table(curve.name, curve.title, columns, (*mixtures, *others))
