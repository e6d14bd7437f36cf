"""Executing an experiment, with one record per run so that it can be resumed."""

from __future__ import annotations

import dataclasses
import math
import time
from typing import Any

from tailwise import __version__
from tailwise.datasets import save_priors
from tailwise.experiments.experiment import Experiment, Measured, RunParameters
from tailwise.experiments.experiment_data import ExperimentData
from tailwise.experiments.head_labels import HeadLabels
from tailwise.experiments.label_tree_table import LabelTreeTable
from tailwise.experiments.main_table import ExtendedTable, MainTable
from tailwise.experiments.mixed import Mixed
from tailwise.experiments.parameter_study import Parameters
from tailwise.experiments.results import Results
from tailwise.experiments.results_folder import ResultsFolder
from tailwise.experiments.true_labels import TrueLabels
from tailwise.progress import track
from tailwise.runs.record import describe_versions

EXPERIMENTS: dict[str, type[Experiment]] = {
    each.name: each for each in (HeadLabels, MainTable, ExtendedTable, TrueLabels, Parameters, Mixed, LabelTreeTable)
}


def identify(experiment: Experiment, data: ExperimentData) -> dict[str, Any]:
    """Return what the runs of one table must share: specification, model, input files and version of tailwise."""
    inputs = {role: facts["sha256"] for role, facts in data.inputs.items()}
    model = data.describe_model() if experiment.needs_probabilities else None
    return {"specification": experiment.describe(), "model": model, "inputs": inputs, "tailwise": __version__}


def run_experiment(
    experiment: Experiment, data: ExperimentData, store: ResultsFolder, *, progress: bool = False
) -> Results:
    """Execute all runs that the open folder does not hold yet, and return the tables and curves."""
    if data.priors is not None:  # for users who reproduce points of the curves with `tailwise select`
        save_priors(store.path / "priors.npz", data.priors)
    measured = []
    for run in (bar := track(experiment.list_runs(data), title=experiment.name, unit="runs", shown=progress)):
        bar.set_postfix_str(" ".join(str(value) for value in run.values()), refresh=False)
        measured.append(store.find(run) or _make(run, experiment, data, store))
    results = experiment.present(measured, data)
    return dataclasses.replace(results, seconds=sum(each.seconds for each in measured))


def summarise(experiment: Experiment, data: ExperimentData, results: Results) -> dict[str, Any]:
    """Return the record of a finished experiment."""
    return {
        "experiment": experiment.name,
        "title": f"{experiment.title}: {data.name}",
        "paper": experiment.paper,
        "specification": experiment.describe(),
        "data": data.describe(),
        "versions": describe_versions(),
        **dataclasses.asdict(results),
    }


def _make(run: RunParameters, experiment: Experiment, data: ExperimentData, store: ResultsFolder) -> Measured:
    start = time.perf_counter()
    values = experiment.measure(run, data)
    # As stored in records, so that tables do not depend on which runs were resumed.
    finite = {key: value if value is not None and math.isfinite(value) else None for key, value in values.items()}
    measured = Measured(run, finite, time.perf_counter() - start)
    store.keep(measured)
    return measured
