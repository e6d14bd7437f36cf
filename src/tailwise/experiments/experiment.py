"""The base class of experiments: a frozen specification that lists runs, measures them, and presents the results."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from tailwise.errors import InputError
from tailwise.experiments.experiment_data import ExperimentData
from tailwise.experiments.results import Results
from tailwise.selection.rules import check_budgets

__all__ = ["Experiment", "Measured", "RunParameters", "average", "name_run"]

RunParameters = dict[str, Any]  # JSON values that identify a run of an experiment
SEEDS = (0, 1, 2, 3, 4)


@dataclasses.dataclass(frozen=True)
class Measured:
    """The parameters of a run, the values measured by name, and its duration."""

    run: RunParameters
    values: dict[str, float | None]
    seconds: float = 0.0


@dataclasses.dataclass(frozen=True)
class Experiment(ABC):
    """A table or figure of the paper.

    Attributes
    ----------
    name, title, paper : str
        Its name on the command line, its title, and its place in the paper.
    has_curves : bool
        Whether there are curves to draw.
    uses_seeds, takes_probabilities : bool
        Whether several seeds, and given probabilities, make a difference.
    needs_probabilities : bool
        Whether probabilities, or features from which a tree predicts them, are required.
    budgets : tuple of int
        Labels per instance, k.
    seeds : tuple of int
        Seeds of the visiting order; results are averaged over them.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str]
    has_curves: ClassVar[bool] = False
    uses_seeds: ClassVar[bool] = True
    takes_probabilities: ClassVar[bool] = True
    needs_probabilities: ClassVar[bool] = True

    budgets: tuple[int, ...]
    seeds: tuple[int, ...] = (0,)

    def check(self, data: ExperimentData) -> None:
        """Refuse data that the experiment cannot run on, before anything is written."""
        if data.given is not None and not self.takes_probabilities:
            msg = f"The experiment {self.name} does not use probabilities. Got --probabilities {data.given}. Omit it."
            raise InputError(msg)
        if self.needs_probabilities:
            data.check()
        for k in self.budgets:
            check_budgets(k, *data.truth.shape)
        data.check_store()
        self.list_runs(data)

    @abstractmethod
    def list_runs(self, data: ExperimentData) -> list[RunParameters]:
        """List all runs in the order of execution."""

    @abstractmethod
    def measure(self, run: RunParameters, data: ExperimentData) -> dict[str, float | None]:
        """Execute one run and return the values measured."""

    @abstractmethod
    def present(self, measured: list[Measured], data: ExperimentData) -> Results:
        """Build tables and curves from all runs."""

    def describe(self) -> dict[str, Any]:
        """Return the specification as JSON values."""
        return {"experiment": self.name, **json.loads(json.dumps(dataclasses.asdict(self)))}


def name_run(run: RunParameters) -> str:
    """Return a readable and unique file name for the record of a run."""
    text = json.dumps(run, sort_keys=True)
    words = "-".join(str(value) for value in run.values()).lower()
    return f"{re.sub(r'[^a-z0-9.]+', '-', words).strip('-')}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def average(measured: list[Measured]) -> tuple[dict[str, float | None], dict[str, float | None]]:
    """Compute mean and standard deviation of each value over runs with different seeds; None if a value is missing."""
    means: dict[str, float | None] = {}
    deviations: dict[str, float | None] = {}
    for key in measured[0].values:
        values = [each.values[key] for each in measured]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            means[key] = deviations[key] = None
            continue
        means[key] = mean = sum(known) / len(known)
        deviations[key] = (sum((value - mean) ** 2 for value in known) / len(known)) ** 0.5
    return means, deviations
