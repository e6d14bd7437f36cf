"""What an experiment is: a frozen specification that lists its runs, measures one, and turns all into tables."""

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

__all__ = ["Experiment", "Measured", "Run", "average", "name_run"]

Run = dict[str, Any]  # the parameters of one run, values of JSON; they identify it
SEEDS = (0, 1, 2, 3, 4)


@dataclasses.dataclass(frozen=True)
class Measured:
    """A run, what was measured (numbers by name), and the seconds that it all took."""

    run: Run
    values: dict[str, float | None]
    seconds: float = 0.0


@dataclasses.dataclass(frozen=True)
class Experiment(ABC):
    """A table or figure of the paper.

    Attributes
    ----------
    name, title, paper : str
        On the command line; for people; and where the paper has it.
    has_curves : bool
        Whether there is anything to draw.
    uses_seeds, takes_probabilities : bool
        Whether more seeds, and given probabilities, make a difference.
    needs_probabilities : bool
        Whether there must be probabilities, or features for a tree to predict them from.
    budgets : tuple of int
        Labels per instance, k.
    seeds : tuple of int
        Of the visiting order; figures are means over them.
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
            msg = f"The experiment {self.name} takes no probabilities. Got --probabilities {data.given}. Leave it out."
            raise InputError(msg)
        if self.needs_probabilities:
            data.check()
        for k in self.budgets:
            check_budgets(k, *data.truth.shape)
        data.check_store()
        self.list_runs(data)

    @abstractmethod
    def list_runs(self, data: ExperimentData) -> list[Run]:
        """All runs, in the order in which they are made."""

    @abstractmethod
    def measure(self, run: Run, data: ExperimentData) -> dict[str, float | None]:
        """Make one run."""

    @abstractmethod
    def present(self, measured: list[Measured], data: ExperimentData) -> Results:
        """Tables and curves from all runs."""

    def describe(self) -> dict[str, Any]:
        """The specification, as JSON has it."""
        return {"experiment": self.name, **json.loads(json.dumps(dataclasses.asdict(self)))}


def name_run(run: Run) -> str:
    """A file name for the record of a run: readable, and different for different runs."""
    text = json.dumps(run, sort_keys=True)
    words = "-".join(str(value) for value in run.values()).lower()
    return f"{re.sub(r'[^a-z0-9.]+', '-', words).strip('-')}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def average(measured: list[Measured]) -> tuple[dict[str, float | None], dict[str, float | None]]:
    """Mean and standard deviation of each value over runs that differ in their seed; None where one has none."""
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
