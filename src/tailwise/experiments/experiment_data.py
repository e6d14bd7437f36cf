"""The data of an experiment: a folder with a data set, and probabilities from a file or from a label tree."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from tailwise.datasets import (
    Contents,
    DataFolder,
    DataSet,
    load,
    load_filter,
    load_like,
    open_folder,
    save,
)
from tailwise.datasets.catalogue.benchmarks import find_data_set_of_size
from tailwise.datasets.catalogue.data_folder import made_as_wide, read_lock
from tailwise.errors import FileError, InputError
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.priors import USUAL_PROPENSITY
from tailwise.metrics import Evaluation, evaluate
from tailwise.models import LabelTree
from tailwise.models.prior_shift import shift_if_possible
from tailwise.runs.record import describe_files
from tailwise.utilities import LabelPriors

__all__ = ["ExperimentData", "open_data"]

TOP = 100


class ExperimentData:
    """What experiments share; each part is read, trained or predicted when it is first asked for.

    Parameters
    ----------
    folder : DataFolder
        With test labels; training labels and features where an experiment needs them.
    probabilities : path, optional
        Probabilities of the test set. Without, a label tree is trained.
    store : path
        The folder where the tree and what it predicts are kept for the next time.
    seed : int
        Seed of the tree.
    progress : bool
        Show progress bars on standard error.
    """

    def __init__(
        self,
        folder: DataFolder,
        probabilities: str | os.PathLike[str] | None,
        store: Path,
        *,
        seed: int = 0,
        progress: bool = False,
    ) -> None:
        self.folder, self.store, self.seed, self.progress = folder, store, seed, progress
        self.given = None if probabilities is None else Path(probabilities)
        self._shortened: dict[tuple[int, int], Candidates] = {}
        if "test" not in folder.labels:
            msg = f"data must hold labels of a test set. Got {folder.path}, which has none."
            raise InputError(msg)

    @property
    def name(self) -> str:
        """The benchmark's name where the sizes are its sizes, else the folder's."""
        if self._drawn is not None:
            return f"{self._drawn} (synthetic)"
        return self.folder.path.resolve().name if self.benchmark is None else self.benchmark.name

    @cached_property
    def _drawn(self) -> str | None:
        """The benchmark that synthetic data were drawn after."""
        lock = read_lock(self.folder.path)
        return lock["name"] if lock is not None and lock.get("source") == "synthetic" else None

    @cached_property
    def benchmark(self) -> DataSet | None:
        """The entry of the catalogue with the same sizes: such data can be compared with published figures."""
        if self.priors is None or self._drawn is not None:
            return None
        return find_data_set_of_size(self.priors.n_instances, *self.truth.shape)

    @property
    def test(self) -> Contents:
        return self._parts["test"]

    @property
    def train(self) -> Contents:
        return self._parts["train"]

    @cached_property
    def _parts(self) -> dict[str, Contents]:
        parts = {part: self.folder.load(part) for part in self.folder.labels}
        if "train" in parts:
            parts["train"], parts["test"] = made_as_wide(parts["train"], parts["test"])
        return parts

    @property
    def truth(self) -> sp.csr_array:
        """0/1 matrix of the test labels."""
        return self.test.matrix

    @cached_property
    def priors(self) -> LabelPriors | None:
        """Training frequencies; None without training labels."""
        return LabelPriors.from_labels(self.train.matrix) if "train" in self.folder.labels else None

    @cached_property
    def candidates(self) -> Candidates:
        """The probabilities of the test set: those given, or the tree's 100 most probable labels."""
        if self.given is None:
            return self.predict(TOP)
        like = load_like(self.given, self.test, self.folder.labels["test"], self.test.label_names)
        candidates = Candidates.of(like.matrix)
        if candidates.shape != self.truth.shape:
            msg = (
                f"probabilities must have the shape {self.truth.shape} of the test labels. Got {candidates.shape} in "
                f"{self.given}. Give those of the same test set."
            )
            raise InputError(msg)
        return candidates

    @cached_property
    def shifted(self) -> Candidates:
        """The probabilities, shifted to the training labels' density; as they are where the candidates are too few."""
        if self.priors is None:
            return self.candidates
        return shift_if_possible(self.candidates, self.priors) or self.candidates

    @property
    def is_shifted(self) -> bool:
        return self.shifted is not self.candidates

    @cached_property
    def certain(self) -> Candidates:
        """The true labels, each of probability 1."""
        return Candidates.of(self.truth)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader has to know about the data."""
        if self.priors is None:
            return ("Without training labels, strategies that need their frequencies are left out.",)
        if not self.is_shifted:
            return ("The candidates cannot promise as many labels as training had: their log odds are not shifted.",)
        return (
            "Log odds are shifted to the training labels' density for strategies by exact expectation and mixtures.",
        )

    def check(self, *, needs_probabilities: bool = True) -> None:
        """Read what was given, or see that a tree can be trained."""
        self._check_labels()
        if not needs_probabilities:
            return
        if self.given is None and self.features("train").shape[1] != self.features("test").shape[1]:
            msg = (
                f"Training and test features must be the same. Got {self.features('train').shape[1]} and "
                f"{self.features('test').shape[1]} of them in {self.folder.path}."
            )
            raise InputError(msg)
        if self.given is not None and self.candidates.n_entries == 0:
            msg = f"probabilities must hold at least one candidate. Got {self.given} without any."
            raise InputError(msg)

    def _check_labels(self) -> None:
        m = self.truth.shape[1]
        if self.priors is not None and self.priors.n_labels != m:
            msg = (
                f"Training and test labels must be the same. Got {self.priors.n_labels} and {m} of them in "
                f"{self.folder.path}."
            )
            raise InputError(msg)

    def shorten(self, top: int, longest: int) -> Candidates:
        """The `top` most probable labels of each instance, of those given or of a tree's `longest` list."""
        if (top, longest) not in self._shortened:
            whole = self.predict(longest) if self.given is None else self.candidates
            self._shortened[top, longest] = whole.keep_top(top)
        return self._shortened[top, longest]

    @property
    def file_name(self) -> str:
        """The name of the file with the probabilities: the one given, or that of the tree's in the store."""
        return name_predictions(TOP) if self.given is None else self.given.name

    def predict(self, top: int) -> Candidates:
        """The tree's most probable labels of each test instance; kept in the store."""
        return self.keep(name_predictions(top), lambda: self.tree.predict_proba(self.test_features, top=top))

    def keep(self, name: str, predict: Callable[[], sp.csr_array]) -> Candidates:
        """What a file of the store holds; where it is not there yet, what `predict` gives, written down."""
        path = self.store / name
        if not path.is_file():
            save(path, predict())
        candidates = Candidates.of(load(path))
        if candidates.shape != self.truth.shape:
            msg = f"{path} must have the shape {self.truth.shape} of the truth. Got {candidates.shape}. Remove it."
            raise FileError(msg)
        return candidates

    @cached_property
    def tree(self) -> LabelTree:
        """A label tree with its default parameters, trained on the training set or read from the store."""
        path = self.store / "model.tree"
        if path.is_file():
            return LabelTree.load(path)
        tree = self.fit_tree(self.train.matrix)
        tree.save(path)
        return tree

    def fit_tree(self, labels: Any) -> LabelTree:
        """Train a label tree for these labels of the training instances."""
        return LabelTree(random_state=self.seed, progress=self.progress).fit(self.features("train"), labels)

    @property
    def test_features(self) -> sp.csr_array:
        return self.features("test")

    def features(self, part: str) -> sp.csr_array:
        """Features of the part "train" or "test", which a label tree needs."""
        features = getattr(self, part).features if part in self.folder.labels else None
        if features is None:
            msg = (
                f"A label tree needs features and labels of the {part} set. Got {self.folder.path}, which lacks them. "
                "Use --probabilities FILE, where the experiment takes it."
            )
            raise InputError(msg)
        return features

    @property
    def propensity(self) -> tuple[float, float]:
        """a and b of the propensity model: the benchmark's, or the usual ones."""
        return USUAL_PROPENSITY if self.benchmark is None else self.benchmark.propensity

    def evaluate(self, selection: Any, k: int) -> Evaluation:
        """Score a selection of k labels on the test labels, without the pairs that the data set wants left out."""
        options = {"priors": self.priors, "propensity": self.propensity, "filter": self._left_out}
        return evaluate(self.truth, selection, k=k, **options)

    @cached_property
    def _left_out(self) -> Any:
        return None if self.folder.filter is None else load_filter(self.folder.filter)

    def lies_in(self, folder: Path) -> bool:
        """Whether what the experiment reads lies in a folder."""
        return any(folder.resolve() in path.resolve().parents for path in self._files().values())

    def _files(self) -> dict[str, Path]:
        """What is read, by its role."""
        files = {f"{part} labels": path for part, path in self.folder.labels.items()}
        files |= {f"{part} features": path for part, path in self.folder.features.items()}
        others = {"label names": self.folder.names, "filter": self.folder.filter, "probabilities": self.given}
        return files | {role: path for role, path in others.items() if path is not None}

    @cached_property
    def _hashes(self) -> dict[str, Any]:
        return describe_files(self._files())

    def describe(self) -> dict[str, Any]:
        """Name, sizes, and the files with their SHA-256."""
        files = self._files()
        n, m = self.truth.shape
        trained = 0 if self.priors is None else self.priors.n_instances
        return {
            "name": self.name,
            "instances": n,
            "labels": m,
            "training instances": trained,
            "probabilities": "label tree" if self.given is None else self.given.name,
            "inputs": {role: {"file": files[role].name, **facts} for role, facts in self._hashes.items()},
        }


def name_predictions(top: int) -> str:
    """The file for a tree's most probable labels."""
    return f"probabilities-top{top}.npz"


def open_data(
    path: str | os.PathLike[str], probabilities: str | os.PathLike[str] | None, store: Path, **options: Any
) -> ExperimentData:
    """The data set in a folder of any layout that :func:`tailwise.datasets.open_folder` knows."""
    return ExperimentData(open_folder(path), probabilities, store, **options)
