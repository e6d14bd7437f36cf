"""Runs an experiment: one record for each run, written when it is done, so that a second start goes on from there."""

from __future__ import annotations

import dataclasses
import math
import time
from typing import Any

from tailwise import __version__
from tailwise.datasets import save_priors
from tailwise.experiments.experiment import Experiment, Measured, Run
from tailwise.experiments.experiment_data import ExperimentData
from tailwise.experiments.results import Results
from tailwise.experiments.results_folder import Store
from tailwise.runs.record import describe_versions

__all__ = ["identify", "run_experiment", "summarise"]


def identify(experiment: Experiment, data: ExperimentData) -> dict[str, Any]:
    """What records must share to stand in one table: the specification, the input files, and the program."""
    inputs = {role: facts["sha256"] for role, facts in data.inputs.items()}
    return {"specification": experiment.describe(), "inputs": inputs, "tailwise": __version__}


def run_experiment(experiment: Experiment, data: ExperimentData, store: Store, *, progress: bool = False) -> Results:
    """Make all runs that the store does not hold yet, and gather what they come to.

    Parameters
    ----------
    experiment : Experiment
        The specification.
    data : ExperimentData
        What it runs on.
    store : Store
        Where records are kept; open.
    progress : bool
        Show a progress bar over the runs on standard error.

    Returns
    -------
    Results
        Tables and curves.
    """
    from tqdm import tqdm

    if data.priors is not None:  # for whoever selects by what the curves show
        save_priors(store.path / "priors.npz", data.priors)
    measured = []
    for run in (bar := tqdm(experiment.list_runs(data), desc=experiment.name, unit="run", disable=not progress)):
        bar.set_postfix_str(" ".join(str(value) for value in run.values()), refresh=False)
        measured.append(store.find(run) or _make(run, experiment, data, store))
    results = experiment.present(measured, data)
    return dataclasses.replace(results, seconds=sum(each.seconds for each in measured))


def summarise(experiment: Experiment, data: ExperimentData, results: Results) -> dict[str, Any]:
    """The record of a finished experiment."""
    return {
        "experiment": experiment.name,
        "title": f"{experiment.title}: {data.name}",
        "paper": experiment.paper,
        "specification": experiment.describe(),
        "data": data.describe(),
        "versions": describe_versions(),
        "seconds": results.seconds,
        "notes": results.notes,
        "tables": [table.to_dict() for table in results.tables],
        "curves": [curve.to_dict() for curve in results.curves],
    }


def _make(run: Run, experiment: Experiment, data: ExperimentData, store: Store) -> Measured:
    start = time.perf_counter()
    values = experiment.measure(run, data)
    # As a record has it, so that the tables of a first and of a second start are the same.
    finite = {key: value if value is not None and math.isfinite(value) else None for key, value in values.items()}
    measured = Measured(run, finite, time.perf_counter() - start)
    store.keep(measured)
    return measured
