"""Reading the folder of a run."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from tailwise.datasets import LabelNames, load, load_label_names, load_labels, load_priors, load_selection
from tailwise.datasets.formats.disk import parse_json
from tailwise.datasets.formats.output_folders import UNFINISHED, FolderKind
from tailwise.datasets.formats.text_lines import read_texts
from tailwise.errors import FileError
from tailwise.inputs.chosen import Chosen
from tailwise.inputs.ids import Ids
from tailwise.inputs.priors import USUAL_PROPENSITY
from tailwise.runs.record import REMEDY, Record
from tailwise.utilities import LabelPriors

RUN_RECORD, RUN_CONFIG, REPORT = "run.json", "run.toml", "report.html"
MODEL_FILE, INSTANCES = "model.tailwise", "instances.txt"
STEPS = ".tailwise-steps"
RUN_FILES = (
    *(MODEL_FILE, "calibrator.npz", "probabilities.npz", "selection.npz", "selection.tsv", "truth.npz"),
    *("priors.npz", "labels.txt", INSTANCES, RUN_CONFIG, RUN_RECORD),
)


def _list_files(folder: Path) -> list[str]:
    """List the files of a run, according to its record, and its report."""
    try:
        names = parse_json((folder / RUN_RECORD).read_text(encoding="utf-8")).get("files")
    except (OSError, ValueError, AttributeError):
        names = None
    known = [name for name in names if name in RUN_FILES] if isinstance(names, list) else [RUN_RECORD]
    return [*known, REPORT]


RUN_KIND = FolderKind(RUN_RECORD, "hold an earlier run", _list_files, steps=STEPS)


@dataclass(frozen=True, eq=False)
class RunFolder:
    """The contents of a folder written by ``tailwise run``; None for parts that the run did not have."""

    path: Path
    record: Record  # run.json
    utility: str
    k: int | None  # None for no budget
    search: dict[str, Any]  # the options of the selection
    selection: Chosen
    priors: LabelPriors
    propensity: tuple[float, float]
    probabilities: sp.csr_array | None
    truth: sp.csr_array | None
    names: LabelNames | None
    instances: Ids | None

    @property
    def n_instances(self) -> int:
        return self.selection.n_instances

    @property
    def n_labels(self) -> int:
        return self.selection.n_labels

    @property
    def basis(self) -> dict[str, Any]:
        """The expectation used by the run, as options of :func:`tailwise.expected_utility`."""
        return {
            "expectation": self.record.part("selection").get("expectation", str),
            "priors": self.priors,
            "condition_positives": self.search.get("condition_positives"),
        }

    @property
    def messages(self) -> tuple[str, ...]:
        """What the selection had to say, such as of labels that only make up the number k."""
        return tuple(map(str, self.record.part("selection").get("messages", list, may_be_none=True) or ()))

    def name_of(self, label: int) -> str:
        """Return the title of a label."""
        return f"label {label}" if self.names is None else self.names.title_of(label)


def is_run(path: str | os.PathLike[str]) -> bool:
    """Whether a path is the folder of a run, finished or not; any other folder is read as a set of files."""
    return any((Path(path) / name).is_file() for name in (RUN_RECORD, UNFINISHED))


def refuse_unfinished(path: str | os.PathLike[str]) -> None:
    """Refuse the folder of an unfinished run."""
    if (Path(path) / UNFINISHED).is_file():
        msg = f"{path} must be the folder of a finished run. It is not finished. Start the same run again to resume it."
        raise FileError(msg)


def read_run_folder(path: str | os.PathLike[str]) -> RunFolder:
    """Read a folder; all files that its record lists must exist."""
    folder = Path(path)
    if not (folder / RUN_RECORD).is_file():
        refuse_unfinished(path)
    record = Record.read(folder / RUN_RECORD)
    configuration = record.part("configuration")
    search = configuration.get("selection", dict)
    has_truth = record.get("metrics", dict, may_be_none=True) is not None
    has_probabilities = search.get("method") != "tree"
    names, instances = folder / "labels.txt", folder / INSTANCES
    run = RunFolder(
        folder,
        record,
        configuration.get("utility", str),
        configuration.get("k", int, may_be_none=True),
        search,
        load_selection(_find(folder, "selection.npz")),
        load_priors(_find(folder, "priors.npz")),
        _read_propensity(configuration),
        load(_find(folder, "probabilities.npz")) if has_probabilities else None,
        load_labels(_find(folder, "truth.npz")) if has_truth else None,
        load_label_names(names) if names.is_file() else None,
        Ids(read_texts(instances)) if instances.is_file() else None,
    )
    _check_shapes(run)
    return run


def _read_propensity(configuration: Record) -> tuple[float, float]:
    """Read the propensity parameters of the run; records without them used the default ones."""
    given = configuration.get("propensity", list, may_be_none=True)
    if given is None:
        return USUAL_PROPENSITY
    if len(given) != 2 or not all(isinstance(each, (int, float)) and each > 0 for each in given):
        msg = f"{configuration.place} must hold 'propensity', two numbers above 0. Got {given}. {REMEDY}."
        raise FileError(msg)
    return given[0], given[1]


def _find(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.is_file():
        msg = f"{folder} must hold {name}, which {RUN_RECORD} lists. It is missing. {REMEDY}."
        raise FileError(msg)
    return path


def _check_shapes(run: RunFolder) -> None:
    shape = run.selection.shape
    for name, came, wanted in (
        ("probabilities.npz", None if run.probabilities is None else run.probabilities.shape, shape),
        ("truth.npz", None if run.truth is None else run.truth.shape, shape),
        ("priors.npz", (run.priors.n_labels,), shape[1:]),
        ("labels.txt", None if run.names is None else (len(run.names),), shape[1:]),
        (INSTANCES, None if run.instances is None else (len(run.instances),), shape[:1]),
    ):
        if came is not None and tuple(came) != wanted:
            msg = f"{run.path / name} must have shape {wanted} to match selection.npz. Got {tuple(came)}."
            raise FileError(msg)
    n_slots = run.selection.labels.shape[1]
    if run.k is not None and run.k > n_slots:
        msg = f"{run.path / RUN_RECORD} must hold k = {n_slots} to match selection.npz. Got {run.k}. {REMEDY}."
        raise FileError(msg)
