"""The steps of ``tailwise run``: read, train, select, evaluate, write down."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from tailwise.cli.outputs import RECORD
from tailwise.cli.propensity import choose_propensity
from tailwise.cli.run_data import load_run_data
from tailwise.cli.search_options import read_search_options
from tailwise.cli.tree_options import build_calibrator, build_tree, fit_calibrator
from tailwise.datasets import LabelNames, save, save_label_names, save_priors, save_selection
from tailwise.datasets.formats.disk import written_beside
from tailwise.errors import InputError
from tailwise.inputs.checks import check_choice
from tailwise.metrics import Evaluation, evaluate
from tailwise.runs.record import Stopwatch, as_json, describe_files, describe_selection, describe_versions
from tailwise.selection import Selection, select
from tailwise.selection.select import METHODS
from tailwise.utilities import LabelPriors, as_utility

__all__ = ["Pipeline"]

ON_TREE = "tree"


class Pipeline:
    """One run; whatever can be refused is refused here, before the training."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.watch = options, Stopwatch()
        self.progress = sys.stderr.isatty() and not options.quiet
        self.model = build_tree(options, progress=self.progress)
        self.calibrator = None if options.calibration is None else build_calibrator(options.calibration, options)
        with self.watch.measure("load"):
            data = load_run_data(options.data)
        self.X, self.Y, self.X_test, self.truth = data.X, data.Y, data.X_test, data.truth
        self.names, self.files = data.names, data.files
        self.priors = LabelPriors.from_labels(self.Y)
        self.propensity = choose_propensity(options, data.benchmark)
        self.utility = as_utility(options.utility, self.priors, self.propensity)
        self._rehearse()
        self.probabilities: sp.csr_array | None = None
        self.baseline: Evaluation | None = None
        self.evaluation: Evaluation | None = None

    def train(self) -> None:
        """Train the label tree, and the calibrator by cross-validation where it is asked for."""
        with self.watch.measure("train"):
            self.model.fit(self.X, self.Y)
        if self.calibrator is not None:
            with self.watch.measure("calibrate"):
                fit_calibrator(self.calibrator, self.model, self.X, self.Y, self.options)

    def select(self) -> None:
        """Predict the test instances and choose their labels."""
        options = self.options
        if options.method == ON_TREE:
            self.selection: Selection = self._select_on_tree()
            return
        with self.watch.measure("predict"):
            self.probabilities = self.model.predict_proba(self.X_test, top=options.top, beam=options.beam)
            if self.calibrator is not None:
                self.probabilities = self.calibrator.transform(self.probabilities)
        with self.watch.measure("select"):
            self.selection = self._select(self.probabilities, progress=self.progress)

    def evaluate(self) -> None:
        """Score the selection on the test labels, and the most probable labels beside it."""
        if self.truth is None:
            return
        with self.watch.measure("evaluate"):
            more: dict[str, Any] = {"priors": self.priors, "propensity": self.propensity, "k": self.options.k}
            basis = {"condition_positives": read_search_options(self.options)["condition_positives"]}
            basis |= {"expectation": self.selection.expectation, "probabilities": self.probabilities}
            self.evaluation = evaluate(self.truth, self.selection, **basis, **more)
            if self.probabilities is not None and self.options.k is not None:
                top = select(self.probabilities, "precision", self.options.k, fill="none")
                self.baseline = evaluate(self.truth, top, **more)

    def save(self, folder: Path) -> None:
        """Write everything into the folder, the record last."""
        self.model.save(folder / "model.tree")
        if self.calibrator is not None:
            self.calibrator.save(folder / "calibrator.npz")
        if self.probabilities is not None:
            save(folder / "probabilities.npz", self.probabilities)
        save_selection(folder / "selection.npz", self.selection)
        if self.truth is not None:
            save(folder / "truth.npz", self.truth)
        save_priors(folder / "priors.npz", self.priors)
        if self.names is not None:
            save_label_names(folder / "labels.txt", self.names)
            _write_names(folder / "selection.tsv", self.selection, self.names)
        with written_beside(folder / RECORD) as file:
            names = sorted([RECORD, *(each.name for each in folder.iterdir() if each.is_file())])
            file.write(as_json({**self.describe(), "files": names}).encode())

    def describe(self) -> dict[str, Any]:
        """The record of the run."""
        return {
            "configuration": self._describe_configuration(),
            "seed": self.options.seed,
            "versions": describe_versions(),
            "inputs": describe_files(self.files),
            "shapes": {"X.trn": self.X.shape, "Y.trn": self.Y.shape, "X.tst": self.X_test.shape},
            "seconds": self.watch.seconds,
            "selection": describe_selection(self.selection),
            "metrics": None if self.evaluation is None else self.evaluation.to_dict(),
            "expected_metrics": None if self.evaluation is None else self.evaluation.expected,
            "top_k_metrics": None if self.baseline is None else self.baseline.to_dict(),
        }

    def summary(self) -> str:
        """What a user wants to see at once."""
        seconds = ", ".join(f"{step} {value:.1f} s" for step, value in self.watch.seconds.items())
        lines = [f"expected {self.selection.utility}: {self.selection.expected:.6f}"]
        if self.selection.certificate is not None:
            lines.append(str(self.selection.certificate))
        if self.evaluation is not None:
            lines.append(str(self.evaluation))
        return "\n".join([*lines, seconds, f"everything is in {self.options.output}"])

    def _rehearse(self) -> None:
        """Choose for a single instance with a single candidate: bad options are refused in a moment, not in hours."""
        options = self.options
        for name, value in (("top", options.top), ("beam", options.beam)):
            if value is not None and value < 1:
                msg = f"--{name} must be an integer of at least 1. Got {value}."
                raise InputError(msg)
        check_choice("method", options.method, (*METHODS, ON_TREE))
        if options.method == ON_TREE:
            if options.calibration is not None or options.certify or options.k is None:
                msg = "--method tree needs a budget, and goes without --calibration and --certify. Use --method auto."
                raise InputError(msg)
            return
        one = np.eye(1, self.Y.shape[1]) / 2
        self._select(one, progress=False)

    def _select(self, probabilities: Any, *, progress: bool) -> Selection:
        options = self.options
        more = {"priors": self.priors, "progress": progress, **read_search_options(options)}
        return select(probabilities, self.utility, options.k, **more)

    def _select_on_tree(self) -> Selection:
        options = self.options
        more = {name: read_search_options(options)[name] for name in ("seed", "condition_positives")}
        with self.watch.measure("select"):
            return self.model.select(self.X_test, self.utility, options.k, method=ON_TREE, **more)

    def _describe_configuration(self) -> dict[str, Any]:
        options = self.options
        skipped = ("n_jobs", "progress", "random_state")
        tree = {name: value for name, value in self.model.get_params().items() if name not in skipped}
        calibration = None if self.calibrator is None else {**self.calibrator.get_params(), "folds": options.folds}
        search = {name: value for name, value in read_search_options(options).items() if name != "seed"}
        what = {"utility": str(self.selection.utility), "k": options.k, "top": options.top, "beam": options.beam}
        more = {"propensity": self.propensity, "tree": tree, "calibration": calibration, "selection": search}
        return {**what, **more}


def _write_names(path: Path, selection: Selection, names: LabelNames) -> None:
    with written_beside(path) as file:
        file.write(b"instance\trank\tlabel\tname\n")
        for i, row in enumerate(selection.labels):
            for rank, j in enumerate(row[row >= 0], start=1):
                words = dict.fromkeys((names.ids[j], names.title_of(j)))  # once, where they are the same
                file.write(f"{i}\t{rank}\t{j}\t{' '.join(words).replace(chr(9), ' ')}\n".encode())
