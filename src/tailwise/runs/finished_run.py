"""A finished run, in memory and as a folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from tailwise.certificates import Certificate
from tailwise.datasets import LabelNames, save, save_label_names, save_priors, save_selection
from tailwise.datasets.formats.disk import file_errors_of, parse_json, written_beside
from tailwise.datasets.formats.output_folders import claimed_folder
from tailwise.errors import FileError
from tailwise.inputs.candidates import Origin
from tailwise.inputs.ids import Ids
from tailwise.metrics import Evaluation, evaluate
from tailwise.models.calibrator import Calibrator
from tailwise.models.model import load_model
from tailwise.runs.record import as_json, identify, list_changes, write_json
from tailwise.runs.run_folder import INSTANCES, MODEL_FILE, RUN_CONFIG, RUN_KIND, RUN_RECORD, RunFolder, read_run_folder
from tailwise.selection import Selection, select
from tailwise.utilities import LabelPriors, as_utility


@dataclass(eq=False, repr=False)
class Run:
    """A finished run, returned by :func:`run` or read from its folder by :meth:`load`.

    Attributes
    ----------
    model : Model
        The model, trained on all training instances; one that was trained on texts takes texts.
    calibrator : Calibrator or None
        The calibrator, fitted by cross-validation; None without calibration.
    probabilities : csr_array of shape (n, m) or None
        The shortlists of the test instances, calibrated if there is a calibrator; None for ``method="tree"``.
    selection : Selection
        The labels chosen for the test instances.
    priors : LabelPriors
        Training frequencies.
    truth : csr_array of shape (n, m) or None
        The labels of the test instances, if known.
    label_names : LabelNames or None
        The names of the labels.
    record : dict
        The contents of ``run.json``: configuration, seed, versions, inputs with their SHA-256, seconds, metrics.
    instance_names : Ids or None
        The ids of the test instances, if the data have any.
    """

    model: Any
    calibrator: Calibrator | None
    probabilities: sp.csr_array | None
    selection: Selection
    priors: LabelPriors
    truth: sp.csr_array | None
    label_names: LabelNames | None
    record: dict[str, Any] = field(default_factory=dict)
    instance_names: Ids | None = None

    @property
    def seconds(self) -> dict[str, float]:
        """The duration of each step."""
        return self.record["seconds"]

    @cached_property
    def evaluation(self) -> Evaluation | None:
        """The evaluation of the selection with expected values; None without true labels."""
        if self.truth is None:
            return None
        basis: dict[str, Any] = {"expectation": self.selection.expectation, "probabilities": self.probabilities}
        basis |= {"condition_positives": self._configuration["selection"]["condition_positives"]}
        return evaluate(self.truth, self.selection, **basis, **self._measures)

    @cached_property
    def baseline(self) -> Evaluation | None:
        """The evaluation of the k most probable labels; None without true labels, probabilities or a budget."""
        k = self._configuration["k"]
        if self.truth is None or self.probabilities is None or k is None:
            return None
        return evaluate(self.truth, select(self.probabilities, "precision", k, fill="none"), **self._measures)

    @property
    def _configuration(self) -> dict[str, Any]:
        return self.record["configuration"]

    @property
    def _measures(self) -> dict[str, Any]:
        a, b = self._configuration["propensity"]
        return {"priors": self.priors, "propensity": (a, b), "k": self._configuration["k"]}

    def summary(self) -> str:
        """Return a short summary as text."""
        lines = [f"expected {self.selection.utility}: {self.selection.expected:.6f}"]
        lines += [str(each) for each in (self.selection.certificate, self.evaluation) if each is not None]
        lines += self.selection.messages
        return "\n".join([*lines, ", ".join(f"{step} {value:.1f} s" for step, value in self.seconds.items())])

    def __repr__(self) -> str:
        k = self._configuration["k"]
        budget = "without budget" if k is None else f"at {k}"
        return f"Run({self.selection.utility} {budget}, {self.selection.n_instances:,} test instances)"

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a folder as ``tailwise run`` does.

        Parameters
        ----------
        folder : path
            A new or empty folder or, with `overwrite`, that of an earlier run; other files in it are left alone.
        overwrite : bool
            Whether to replace an earlier run.
        """
        with claimed_folder(folder, RUN_KIND, overwrite=overwrite) as draft, file_errors_of(folder):
            self.write(draft)

    def write(self, folder: Path, config: str | None = None) -> None:
        """Write everything to an existing folder, the record last; users call :meth:`save`.

        `config` is the text of run.toml, with which the command repeats the run.
        """
        self.model.save(folder / MODEL_FILE)
        if self.calibrator is not None:
            self.calibrator.save(folder / "calibrator.npz")
        if self.probabilities is not None:
            save(folder / "probabilities.npz", self.probabilities)
        save_selection(folder / "selection.npz", self.selection)
        if self.truth is not None:
            save(folder / "truth.npz", self.truth)
        save_priors(folder / "priors.npz", self.priors)
        if self.label_names is not None:
            save_label_names(folder / "labels.txt", self.label_names)
            self._save_by_name(folder / "selection.tsv")
        if self.instance_names is not None:
            with written_beside(folder / INSTANCES) as file:
                file.writelines(f"{_in_one_field(name)}\n".encode() for name in self.instance_names)
        if config is not None:
            with written_beside(folder / RUN_CONFIG) as file:
                file.write(config.encode())
        self.record["files"] = sorted([RUN_RECORD, *(each.name for each in folder.iterdir() if each.is_file())])
        write_json(folder / RUN_RECORD, self.record)

    def _save_by_name(self, path: Path) -> None:
        names: dict[str, Any] = {"label_names": self.label_names, "instance_names": self.instance_names}
        save_selection(path, self.selection, probabilities=self.probabilities, **names)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Run:
        """Read the folder of a finished run; :func:`run` resumes an unfinished one.

        The ``history`` of the selection and the ``prices`` of its certificate are not stored, and are empty.
        """
        found = read_run_folder(folder)
        is_calibrated = found.record.part("configuration").get("calibration", dict, may_be_none=True) is not None
        return cls(
            load_model(found.path / MODEL_FILE),
            Calibrator.load(found.path / "calibrator.npz") if is_calibrated else None,
            found.probabilities,
            _read_selection(found),
            found.priors,
            found.truth,
            found.names,
            found.record.values,
            found.instances,
        )


def find_finished(folder: str | os.PathLike[str], identity: Mapping[str, Any]) -> Run | None:
    """Return the finished run in a folder if it has this identity and is complete."""
    try:
        record = read_run_folder(folder).record
        version = record.part("versions").get("tailwise", str)
        own = identify(record.get("configuration", dict), record.get("seed", int), record.get("inputs", dict), version)
    except FileError:
        return None
    return None if list_changes(own, parse_json(as_json(identity))) else Run.load(folder)


def _read_selection(found: RunFolder) -> Selection:
    """Build the selection from the labels in the folder and the facts in the record."""
    record = found.record.part("selection")
    utility, expectation = as_utility(found.utility, found.priors, found.propensity), record.get("expectation", str)
    proof, certificate = record.get("certificate", dict, may_be_none=True), None
    if proof is not None:
        parts = {name: proof[name] for name in ("value", "upper", "rounds", "seconds", "interrupted")}
        certificate = Certificate(**parts, prices=np.empty(0), history=(), utility=utility, expectation=expectation)
    return Selection(
        found.selection.labels,
        found.n_labels,
        utility,
        record.get("expected", float),
        (),
        record.get("passes", int),
        found.record.part("seconds").get("select", float),
        bool(record.values.get("converged")),
        interrupted=False,
        method=record.get("method", str),
        expectation=expectation,
        certificate=certificate,
        instance_ids=found.instances,
        label_names=found.names,
        origin=Origin(messages=found.messages),
    )


def _in_one_field(value: Any) -> str:
    """Return a value as text without tabs and line breaks."""
    return " ".join(str(value).split())
