"""Runs an experiment: one record for each run, written when it is done, so that a second start goes on from there."""

from __future__ import annotations

import dataclasses
import json
import shutil
import time
from pathlib import Path
from typing import Any

from tailwise.datasets import save_priors
from tailwise.datasets.writing import written_beside
from tailwise.errors import FileError
from tailwise.experiments.data import ExperimentData
from tailwise.experiments.experiment import Experiment, Measured, Run, name_run
from tailwise.experiments.recording import as_json, describe_versions
from tailwise.experiments.results import Results

__all__ = ["RECORD", "SPECIFICATION", "Store", "run_experiment"]

SPECIFICATION = "specification.json"
RECORD = "experiment.json"
RUNS = "runs"


class Store:
    """The folder of an experiment: its specification, a record of each run, and at the end the results."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def open(self, *, overwrite: bool = False) -> None:
        """Make the folder, or go on with one that was begun; one that is finished is only replaced when told to."""
        is_ours = (self.path / SPECIFICATION).is_file()
        if overwrite and is_ours:
            shutil.rmtree(self.path)
        if self.path.exists() and not is_ours and not _is_empty_folder(self.path):
            msg = f"out must be a new folder, or that of an experiment. Got {self.path}, which exists. Choose another."
            raise FileError(msg)
        if (self.path / RECORD).exists():
            msg = f"out must not be finished yet. Got {self.path}, which is. Use --overwrite to make it anew."
            raise FileError(msg)
        try:
            (self.path / RUNS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            msg = f"{self.path} could not be made: {error.strerror}. Choose another folder."
            raise FileError(msg) from error

    def claim(self, identity: dict[str, Any]) -> None:
        """Write down what the folder is for; one that is for something else is refused."""
        path = self.path / SPECIFICATION
        if not path.is_file():
            _write(path, identity)
        elif _read(path) != json.loads(as_json(identity)):
            msg = (
                f"{self.path} must be a folder of the same experiment on the same data. It was begun with another "
                "specification or other files. Choose another folder, or use --overwrite."
            )
            raise FileError(msg)

    def find(self, run: Run) -> Measured | None:
        """The record of a run, where there is one."""
        path = self._path(run)
        if not path.is_file():
            return None
        record = _read(path)
        return Measured(run, record["values"], record["seconds"])

    def keep(self, measured: Measured) -> None:
        """Write the record of a run."""
        _write(self._path(measured.run), {**dataclasses.asdict(measured), "versions": describe_versions()})

    def finish(self, experiment: Experiment, data: ExperimentData, results: Results) -> None:
        """Write down the results: the folder is finished."""
        record = {
            "experiment": experiment.name,
            "title": f"{experiment.title}: {data.name}",
            "paper": experiment.paper,
            **_read(self.path / SPECIFICATION),
            "versions": describe_versions(),
            "seconds": results.seconds,
            "notes": results.notes,
            "tables": [table.to_dict() for table in results.tables],
            "curves": [curve.to_dict() for curve in results.curves],
        }
        _write(self.path / RECORD, record)

    def count(self) -> int:
        """Number of runs with a record."""
        return len(list((self.path / RUNS).glob("*.json")))

    def _path(self, run: Run) -> Path:
        return self.path / RUNS / f"{name_run(run)}.json"


def run_experiment(experiment: Experiment, data: ExperimentData, store: Store, *, progress: bool = False) -> Results:
    """Make all runs that the store does not hold yet, and gather what they come to.

    Parameters
    ----------
    experiment : Experiment
        The specification.
    data : ExperimentData
        What it runs on.
    store : Store
        Where records are kept.
    progress : bool
        Show a progress bar over the runs on standard error.

    Returns
    -------
    Results
        Tables and curves.
    """
    from tqdm import tqdm

    store.claim({"specification": experiment.describe(), "data": data.describe()})
    if data.priors is not None:  # for whoever selects by what the curves show
        save_priors(store.path / "priors.npz", data.priors)
    measured = []
    for run in (bar := tqdm(experiment.list_runs(data), desc=experiment.name, unit="run", disable=not progress)):
        bar.set_postfix_str(" ".join(str(value) for value in run.values()), refresh=False)
        measured.append(store.find(run) or _make(run, experiment, data, store))
    results = experiment.present(measured, data)
    return dataclasses.replace(results, seconds=sum(each.seconds for each in measured))


def _make(run: Run, experiment: Experiment, data: ExperimentData, store: Store) -> Measured:
    start = time.perf_counter()
    values = experiment.measure(run, data)
    measured = Measured(run, values, time.perf_counter() - start)
    store.keep(measured)
    return measured


def _is_empty_folder(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())


def _write(path: Path, record: dict[str, Any]) -> None:
    with written_beside(path) as file:
        file.write(as_json(record).encode())


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        msg = f"{path} must be a record in JSON. Reading it failed: {error}. Remove it; the run is then made again."
        raise FileError(msg) from error
