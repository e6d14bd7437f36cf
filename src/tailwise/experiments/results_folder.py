"""The folder of an experiment: what it is for, a record of each run, and at the end the results."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from tailwise.datasets.formats.disk import file_errors_of, real
from tailwise.datasets.formats.drafts import LOCK_FILE, held, is_draft, remove_leftovers
from tailwise.errors import FileError
from tailwise.experiments.experiment import Measured, Run, name_run
from tailwise.runs.record import as_json, describe_versions, list_changes, read_json, write_json

__all__ = ["RECORD", "SPECIFICATION", "Store"]

SPECIFICATION = "specification.json"
RECORD = "experiment.json"
RUNS = "runs"
IDENTITY = {"specification", "inputs", "tailwise"}
# In the order in which they are removed: until the last has gone, the folder is finished, and nothing goes on with it.
WRITTEN = (
    *(f"{RUNS}/*.json", "model.tree", "probabilities-*.npz", "priors.npz"),
    *(f"tables/*{suffix}" for suffix in (".txt", ".csv", ".tex", ".html")),
    *(f"figures/*{suffix}" for suffix in (".png", ".svg")),
    *("report.html", RECORD),
)


class Store:
    """Where an experiment keeps what it has measured.

    Parameters
    ----------
    path : path
        The folder; a link is followed.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = real(path)

    @contextmanager
    def opened(self, identity: dict[str, Any], *, overwrite: bool = False) -> Iterator[None]:
        """Make the folder, or go on with one that was begun with the same identity; meanwhile, keep others out of it.

        One that is finished, or of another experiment, is only replaced when told to; any other folder is left alone.
        """
        identity = json.loads(as_json(identity))  # as it is read back
        self._look(identity, overwrite=overwrite)
        with self._locked():
            is_begun = self._look(identity, overwrite=overwrite)  # again: others may have been here in between
            for name in ("", RUNS, "tables", "figures"):
                remove_leftovers(self.path / name)
            if is_begun and overwrite:
                self._clear()
            if not is_begun or overwrite:
                write_json(self.path / SPECIFICATION, identity)
            yield

    def _look(self, identity: dict[str, Any], *, overwrite: bool) -> bool:
        """Whether the folder is that of an experiment; one that must not be touched is refused."""
        found = self._read_identity()
        if found is None and self.path.exists() and not _is_unused(self.path):
            msg = f"out must be a new folder, or that of an experiment. Got {self.path}, which exists. Choose another."
            raise FileError(msg)
        if found is not None and not overwrite:
            self._check_going_on(found, identity)
        return found is not None

    def find(self, run: Run) -> Measured | None:
        """The record of a run, where there is one."""
        path = self._path(run)
        if not path.is_file():
            return None
        record = read_json(path, "Remove it; the run is then made again")
        if not (isinstance(record, dict) and record.get("run") == run and _holds_numbers(record)):
            msg = f"{path} must be the record of {run}. It is broken. Remove it; the run is then made again."
            raise FileError(msg)
        return Measured(run, record["values"], record["seconds"])

    def keep(self, measured: Measured) -> None:
        """Write the record of a run."""
        write_json(self._path(measured.run), {**dataclasses.asdict(measured), "versions": describe_versions()})

    def finish(self, record: dict[str, Any]) -> None:
        """Write down the results: the folder is finished."""
        write_json(self.path / RECORD, record)

    def count(self) -> int:
        """Number of runs with a record."""
        return len(list((self.path / RUNS).glob("*.json")))

    def _path(self, run: Run) -> Path:
        return self.path / RUNS / f"{name_run(run)}.json"

    def _read_identity(self) -> dict[str, Any] | None:
        path = self.path / SPECIFICATION
        if not path.is_file():
            return None
        found = read_json(path, "Choose another folder")
        if not (isinstance(found, dict) and set(found) == IDENTITY):
            msg = f"{path} must be the specification of an experiment. It is something else. Choose another folder."
            raise FileError(msg)
        return found

    def _check_going_on(self, found: dict[str, Any], identity: dict[str, Any]) -> None:
        if (self.path / RECORD).exists():
            msg = f"out must not be finished yet. Got {self.path}, which is. Use --overwrite to make it anew."
            raise FileError(msg)
        if found != identity:
            changed = ", ".join(list_changes(found, identity))
            msg = (
                f"{self.path} must be a folder of the same experiment on the same data. It was begun with other values "
                f"of: {changed}. Choose another folder, or use --overwrite."
            )
            raise FileError(msg)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Take the folder for this process."""
        refusal = f"out must not be in use. Got {self.path}, which another process works on. Wait for it to end."
        with ExitStack() as stack:
            with file_errors_of(self.path):
                (self.path / RUNS).mkdir(parents=True, exist_ok=True)
                stack.enter_context(held(self.path / LOCK_FILE, refusal))
            yield

    def _clear(self) -> None:
        """Remove what experiments write, and nothing else."""
        with file_errors_of(self.path):
            for pattern in WRITTEN:
                for path in self.path.glob(pattern):
                    path.unlink()
        for name in ("tables", "figures"):
            with suppress(OSError):  # not there, or with files of others in it
                (self.path / name).rmdir()


def _is_unused(path: Path) -> bool:
    """Whether a folder holds nothing, or no more than what a start that failed at once leaves behind."""
    if not path.is_dir():
        return False
    inner = [each for each in path.iterdir() if not is_draft(each)]
    return inner == [] or (inner == [path / RUNS] and inner[0].is_dir() and not any(inner[0].iterdir()))


def _holds_numbers(record: dict[str, Any]) -> bool:
    values, seconds = record.get("values"), record.get("seconds")
    if not (isinstance(values, dict) and values and isinstance(seconds, float)):
        return False
    return all(each is None or isinstance(each, (int, float)) for each in values.values())
