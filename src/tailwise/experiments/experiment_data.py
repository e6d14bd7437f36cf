"""The data of an experiment: a data set, and probabilities from a file or from a model that is trained."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import scipy.sparse as sp
from sklearn.base import clone

from tailwise.datasets import Contents, load, load_filter, load_like, save
from tailwise.errors import FileError, InputError
from tailwise.experiments.paper_models import describe_models
from tailwise.inputs.candidates import Candidates
from tailwise.metrics import Evaluation, evaluate
from tailwise.models.choosing import Choice, Wish, choose_model, describe_model, needed_tree
from tailwise.models.label_tree import LabelTree
from tailwise.models.model import load_model
from tailwise.models.on_texts import OnTexts
from tailwise.models.prior_shift import shift_if_possible
from tailwise.runs.record import describe_files
from tailwise.runs.run_data import USUAL_COLUMNS, TextColumns, read_data
from tailwise.runs.run_folder import MODEL_FILE
from tailwise.utilities import LabelPriors

TOP = 100
PAPERS_MODEL = Wish("tree")


class ExperimentData:
    """A data set with probabilities of its test set, from a file or, on first use, from a model.

    The model, by default a label tree as in the paper, and its predictions are kept in the folder `store` for reuse.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        probabilities: str | os.PathLike[str] | None,
        store: Path,
        *,
        wish: Wish = PAPERS_MODEL,
        columns: TextColumns = USUAL_COLUMNS,
        progress: bool = False,
    ) -> None:
        self.source, self.store, self.progress = read_data(path, needs=["Y_test"], columns=columns), store, progress
        self.given, self.wish = None if probabilities is None else Path(probabilities), wish
        self._shortened: dict[tuple[int, int], Candidates] = {}

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def truth(self) -> sp.csr_array:
        """0/1 matrix of the test labels."""
        return self.source.Y_test

    @property
    def priors(self) -> LabelPriors | None:
        """Training frequencies; None without training labels."""
        return self.source.priors

    @cached_property
    def candidates(self) -> Candidates:
        """The probabilities of the test set: those given, or the 100 most probable labels of the model."""
        if self.given is None:
            return self.predict(TOP)
        names = self.source.label_names
        test = Contents(self.truth, label_names=names, instance_names=self.source.instance_names)
        candidates = Candidates.of(load_like(self.given, test, self.source.files["test labels"], names).matrix)
        if candidates.shape != self.truth.shape:
            msg = (
                f"probabilities must have the shape {self.truth.shape} of the test labels. Got {candidates.shape} in "
                f"{self.given}. Use probabilities of the same test set."
            )
            raise InputError(msg)
        return candidates

    @cached_property
    def shifted(self) -> Candidates:
        """The probabilities shifted to the label density of the training data; unchanged if that is not possible."""
        if self.priors is None:
            return self.candidates
        return shift_if_possible(self.candidates, self.priors) or self.candidates

    @property
    def is_shifted(self) -> bool:
        return self.shifted is not self.candidates

    @cached_property
    def certain(self) -> Candidates:
        """The true labels with probability 1."""
        return Candidates.of(self.truth)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about the data for readers of the results."""
        if self.priors is None:
            return ("Without training labels, strategies that need their frequencies are omitted.",)
        if not self.is_shifted:
            own = "Log odds are not shifted, because the candidates cannot match the training label density."
        else:
            own = "Exact strategies and mixtures use log odds shifted to match the label density of the training data."
        return own, *describe_models(self)

    def check(self) -> None:
        """Check the given probabilities, or that a model can be trained."""
        if self.given is None:
            self.rows("X")
            self.rows("X_test")
            _ = self.choice
        elif self.candidates.n_entries == 0:
            msg = f"probabilities must hold at least one candidate. Got {self.given}, which has none."
            raise InputError(msg)

    def shorten(self, top: int, longest: int) -> Candidates:
        """Return the `top` most probable labels of each instance, as given or among the `longest` of the model."""
        if (top, longest) not in self._shortened:
            whole = self.predict(longest) if self.given is None else self.candidates
            self._shortened[top, longest] = whole.keep_top(top)
        return self._shortened[top, longest]

    @property
    def file_name(self) -> str:
        """The name of the file of probabilities, given or predicted by the model."""
        return name_predictions(TOP) if self.given is None else self.given.name

    def predict(self, top: int) -> Candidates:
        """Predict the most probable labels of each test instance, or read them from the store."""
        return self.keep(name_predictions(top), lambda: self.model.predict_proba(self.rows("X_test"), top=top))

    def keep(self, name: str, predict: Callable[[], sp.csr_array]) -> Candidates:
        """Read a file of the store; write the result of `predict` to it first if it is missing."""
        path = self.store / name
        if not path.is_file():
            save(path, predict())
        candidates = Candidates.of(load(path))
        if candidates.shape != self.truth.shape:
            msg = f"{path} must have the shape {self.truth.shape} of the truth. Got {candidates.shape}. Remove it."
            raise FileError(msg)
        return candidates

    @cached_property
    def choice(self) -> Choice:
        """The model to train, unfitted."""
        chosen = choose_model(self.wish, self.source.rows, self.source.Y.shape[0])
        chosen.model.set_params(progress=self.progress)
        return chosen

    @cached_property
    def model(self) -> Any:
        """The model, trained on the training set or read from the store."""
        path = self.store / MODEL_FILE
        if path.is_file():
            return load_model(path)
        model = self.fit(self.source.Y)
        model.save(path)
        return model

    def fit(self, labels: Any) -> Any:
        """Train a copy of the model on these labels of the training instances."""
        return clone(self.choice.model).fit(self.rows("X"), labels)

    @property
    def tree(self) -> LabelTree:
        """The label tree, of a model that is one; it takes features."""
        needed_tree(self.choice)
        return self.model.model_ if isinstance(self.model, OnTexts) else self.model

    @property
    def test_features(self) -> Any:
        """The test rows as the label tree sees them."""
        rows = self.rows("X_test")
        return self.model.transform(rows) if isinstance(self.model, OnTexts) else rows

    def rows(self, name: str) -> Any:
        """Return the features or texts "X" or "X_test", which a model needs."""
        rows = getattr(self.source, name)
        if rows is None or self.source.Y is None:
            part = "train" if name == "X" else "test"
            msg = (
                f"A model needs features or texts, and labels, of the {part} set. Got {self.source.path}, which lacks "
                "them. Use --probabilities FILE if the experiment accepts it."
            )
            raise InputError(msg)
        return rows

    def evaluate(self, selection: Any, k: int) -> Evaluation:
        """Evaluate a selection of k labels with the test labels, without the pairs in the filter of the data set."""
        options = {"priors": self.priors, "propensity": self.source.propensity, "filter": self._filter}
        return evaluate(self.truth, selection, k=k, **options)

    @cached_property
    def _filter(self) -> Any:
        path = self.source.files.get("filter")
        return None if path is None else load_filter(path)

    def check_store(self) -> None:
        """Refuse to write to a folder that holds input files."""
        if any(self.store.resolve() in path.resolve().parents for path in self._files.values()):
            msg = f"The output must not hold input files of the experiment. Got {self.store}. Choose another folder."
            raise InputError(msg)

    @property
    def _files(self) -> dict[str, Path]:
        """The input files by role."""
        return self.source.files | ({} if self.given is None else {"probabilities": self.given})

    @cached_property
    def inputs(self) -> dict[str, dict[str, Any]]:
        """Name, size and SHA-256 of each input file by role."""
        facts = describe_files(self._files)
        return {role: {"file": path.name, **facts[role]} for role, path in self._files.items()}

    @property
    def has_model(self) -> bool:
        """Whether a model is to be trained."""
        return self.given is None and self.source.X is not None and self.source.Y is not None

    def describe_model(self) -> dict[str, Any] | None:
        """Return name and parameters of the model; None for given probabilities."""
        if not self.has_model:
            return None
        return {"name": self.choice.name, "parameters": describe_model(self.choice.model)}

    def describe(self) -> dict[str, Any]:
        """Return name, sizes and input files."""
        n, m = self.truth.shape
        return {
            "name": self.name,
            "instances": n,
            "labels": m,
            "training instances": 0 if self.priors is None else self.priors.n_instances,
            "probabilities": "model" if self.given is None else self.given.name,
            "model": self.describe_model(),
            "inputs": self.inputs,
        }


def name_predictions(top: int) -> str:
    """Return the file name for predictions of the model."""
    return f"probabilities-top{top}.npz"
