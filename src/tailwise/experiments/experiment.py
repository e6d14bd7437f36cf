"""The base class of experiments: a frozen specification that lists runs, measures them, and presents the results."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import statistics
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from tailwise.errors import InputError
from tailwise.experiments.experiment_data import ExperimentData
from tailwise.experiments.results import Results
from tailwise.models.choosing import needed_tree
from tailwise.selection.rules import check_budgets

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
    """A table or figure of the paper; results are averaged over the seeds of the visiting order."""

    name: ClassVar[str]  # on the command line
    title: ClassVar[str]
    paper: ClassVar[str]  # its place in the paper
    has_curves: ClassVar[bool] = False
    uses_seeds: ClassVar[bool] = True
    takes_probabilities: ClassVar[bool] = True
    needs_probabilities: ClassVar[bool] = True  # or features or texts, from which a model predicts them
    needs_tree: ClassVar[bool] = False  # whether the model must be a label tree

    budgets: tuple[int, ...]  # labels per instance, k
    seeds: tuple[int, ...] = (0,)

    def check(self, data: ExperimentData) -> None:
        """Refuse data that the experiment cannot run on, before anything is written."""
        if data.given is not None and not self.takes_probabilities:
            msg = f"The experiment {self.name} does not use probabilities. Got --probabilities {data.given}. Omit it."
            raise InputError(msg)
        if self.needs_probabilities:
            data.check()
        if self.needs_tree:
            needed_tree(data.choice, f"The experiment {self.name} needs", "Use --model tree.")
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
        known = [value for each in measured if (value := each.values[key]) is not None]
        is_whole = len(known) == len(measured)
        means[key] = statistics.fmean(known) if is_whole else None
        deviations[key] = statistics.pstdev(known) if is_whole else None
    return means, deviations
