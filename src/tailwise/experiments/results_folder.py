"""The folder of an experiment: its specification, a record of each run and, when finished, the results."""

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
from tailwise.datasets.formats.output_files import EXISTS, IN_USE
from tailwise.errors import FileError
from tailwise.experiments.experiment import Measured, RunParameters, name_run
from tailwise.runs.record import as_json, describe_versions, list_changes, read_json, write_json
from tailwise.runs.run_folder import MODEL_FILE

SPECIFICATION = "specification.json"
RECORD = "experiment.json"
RUNS = "runs"
IDENTITY = {"specification", "model", "inputs", "tailwise"}
# Removed in this order: until the last file is gone, the folder counts as finished and is not resumed.
WRITTEN = (
    *(f"{RUNS}/*.json", MODEL_FILE, "probabilities-*.npz", "priors.npz"),
    *(f"tables/*{suffix}" for suffix in (".txt", ".csv", ".tex", ".html")),
    *(f"figures/*{suffix}" for suffix in (".png", ".svg")),
    *("report.html", RECORD),
)


class ResultsFolder:
    """The folder of an experiment; links are followed."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = real(path)

    @contextmanager
    def opened(self, identity: dict[str, Any], *, overwrite: bool = False) -> Iterator[None]:
        """Create the folder, or resume one with the same identity, and lock it meanwhile.

        Experiments that are finished or different are replaced only with `overwrite`; other folders are refused.
        """
        identity = json.loads(as_json(identity))  # in the form in which it is read back
        self._look(identity, overwrite=overwrite)
        with self._locked():
            is_begun = self._look(identity, overwrite=overwrite)  # again: another process may just have finished
            for name in ("", RUNS, "tables", "figures"):
                remove_leftovers(self.path / name)
            if is_begun and overwrite:
                self._clear()
            if not is_begun or overwrite:
                write_json(self.path / SPECIFICATION, identity)
            yield

    def _look(self, identity: dict[str, Any], *, overwrite: bool) -> bool:
        """Whether the folder holds an experiment; refuse a folder that must not be changed."""
        found = self._read_identity()
        if found is None and self.path.exists() and not _is_unused(self.path):
            rule = "The output must be new or hold an experiment"
            msg = f"{rule}. Got {self.path}, which holds other files. Choose another folder."
            raise FileError(msg)
        if found is not None and not overwrite:
            self._check_resumable(found, identity)
        return found is not None

    def find(self, run: RunParameters) -> Measured | None:
        """Read the record of a run; None if there is none."""
        path = self._path(run)
        if not path.is_file():
            return None
        record = read_json(path, "Remove it to repeat the run")
        if not (isinstance(record, dict) and record.get("run") == run and _holds_numbers(record)):
            msg = f"{path} must be the record of {run}. It is damaged. Remove it to repeat the run."
            raise FileError(msg)
        return Measured(run, record["values"], record["seconds"])

    def keep(self, measured: Measured) -> None:
        """Write the record of a run."""
        write_json(self._path(measured.run), {**dataclasses.asdict(measured), "versions": describe_versions()})

    def finish(self, record: dict[str, Any]) -> None:
        """Write the results, which marks the folder as finished."""
        write_json(self.path / RECORD, record)

    def count(self) -> int:
        """Number of runs with a record."""
        return len(list((self.path / RUNS).glob("*.json")))

    def _path(self, run: RunParameters) -> Path:
        return self.path / RUNS / f"{name_run(run)}.json"

    def _read_identity(self) -> dict[str, Any] | None:
        path = self.path / SPECIFICATION
        if not path.is_file():
            return None
        found = read_json(path, "Choose another folder")
        if not (isinstance(found, dict) and set(found) == IDENTITY):
            msg = f"{path} must be the specification of an experiment. It is another file. Choose another folder."
            raise FileError(msg)
        return found

    def _check_resumable(self, found: dict[str, Any], identity: dict[str, Any]) -> None:
        if (self.path / RECORD).exists():
            msg = EXISTS.format(path=self.path, hint="It holds a finished experiment. ")
            raise FileError(msg)
        if found != identity:
            changed = ", ".join(list_changes(found, identity))
            msg = (
                f"The output must be new, or an unfinished folder of the same experiment. Got {self.path}, which has "
                f"other values of: {changed}. Choose another one, or use overwrite=True (--overwrite)."
            )
            raise FileError(msg)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock the folder for this process."""
        with ExitStack() as stack:
            with file_errors_of(self.path):
                (self.path / RUNS).mkdir(parents=True, exist_ok=True)
                stack.enter_context(held(self.path / LOCK_FILE, IN_USE.format(path=self.path)))
            yield

    def _clear(self) -> None:
        """Remove the files that experiments write, and nothing else."""
        with file_errors_of(self.path):
            for pattern in WRITTEN:
                for path in self.path.glob(pattern):
                    path.unlink()
        for name in ("tables", "figures"):
            with suppress(OSError):  # missing, or with files of others in it
                (self.path / name).rmdir()


def _is_unused(path: Path) -> bool:
    """Whether a folder is empty, or holds only what a failed start leaves behind."""
    if not path.is_dir():
        return False
    inner = [each for each in path.iterdir() if not is_draft(each)]
    return inner == [] or (inner == [path / RUNS] and inner[0].is_dir() and not any(inner[0].iterdir()))


def _holds_numbers(record: dict[str, Any]) -> bool:
    values, seconds = record.get("values"), record.get("seconds")
    if not (isinstance(values, dict) and values and isinstance(seconds, float)):
        return False
    return all(each is None or isinstance(each, (int, float)) for each in values.values())
