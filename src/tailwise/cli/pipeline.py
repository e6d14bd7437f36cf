"""The steps of ``tailwise run``: read, train, select, evaluate, write down."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from tailwise.cli.data_folder import find_parts, read_label_names
from tailwise.cli.outputs import RECORD
from tailwise.cli.search_options import read_search_options
from tailwise.cli.tree_options import build_calibrator, build_tree, fit_calibrator
from tailwise.datasets import load, load_labels, save, save_selection
from tailwise.errors import InputError
from tailwise.experiments.recording import Stopwatch, as_json, describe_files, describe_selection, describe_versions
from tailwise.metrics import Evaluation, evaluate
from tailwise.selection import Selection, select
from tailwise.utilities import LabelPriors

__all__ = ["Pipeline"]

ON_TREE = "tree"


class Pipeline:
    """One run; whatever can be refused is refused here, before the training."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.watch = options, Stopwatch()
        self.progress = sys.stderr.isatty() and not options.quiet
        self.model = build_tree(options, progress=self.progress)
        self.calibrator = None if options.calibration is None else build_calibrator(options.calibration, options)
        self.files = find_parts(options.data, ("X.trn.npz", "Y.trn.npz", "X.tst.npz"))
        with self.watch.measure("load"):
            self.X, self.X_test = load(self.files["X.trn.npz"]), load(self.files["X.tst.npz"])
            self.Y = load_labels(self.files["Y.trn.npz"])
            self.truth = load_labels(self.files["Y.tst.npz"]) if "Y.tst.npz" in self.files else None
            has_names = "labels.txt" in self.files
            self.names = read_label_names(self.files["labels.txt"], self.Y.shape[1]) if has_names else None
        self._check_shapes()
        self.priors = LabelPriors.from_labels(self.Y)
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
        if self.selection.interrupted:
            raise KeyboardInterrupt

    def evaluate(self) -> None:
        """Score the selection on the test labels, and the most probable labels beside it."""
        if self.truth is None:
            return
        with self.watch.measure("evaluate"):
            self.evaluation = evaluate(self.truth, self.selection, priors=self.priors, probabilities=self.probabilities)
            if self.probabilities is not None and self.options.k is not None:
                top = select(self.probabilities, "precision", self.options.k)
                self.baseline = evaluate(self.truth, top, priors=self.priors)

    def save(self, folder: Path) -> None:
        """Write everything into the folder, the record last."""
        self.model.save(folder / "model.tree")
        if self.calibrator is not None:
            self.calibrator.save(folder / "calibrator.npz")
        if self.probabilities is not None:
            save(folder / "probabilities.npz", self.probabilities)
        save_selection(folder / "selection.npz", self.selection)
        if self.names is not None:
            _write_names(folder / "selection.tsv", self.selection, self.names)
        (folder / RECORD).write_text(as_json(self.describe()), encoding="utf-8")

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

    def _check_shapes(self) -> None:
        n, m = self.Y.shape
        if self.X.shape[0] != n:
            msg = f"X.trn.npz must have the {n} rows of Y.trn.npz. Got {self.X.shape[0]}."
            raise InputError(msg)
        if self.X_test.shape[1] != self.X.shape[1]:
            msg = f"X.tst.npz must have the {self.X.shape[1]} features of X.trn.npz. Got {self.X_test.shape[1]}."
            raise InputError(msg)
        if self.truth is not None and self.truth.shape != (self.X_test.shape[0], m):
            shape = self.X_test.shape[0], m
            msg = f"Y.tst.npz must have shape {shape}, as X.tst.npz and Y.trn.npz say. Got {self.truth.shape}."
            raise InputError(msg)

    def _rehearse(self) -> None:
        """Choose for a single instance with a single candidate: bad options are refused in a moment, not in hours."""
        options = self.options
        if options.top < 1 or (options.beam is not None and options.beam < 1):
            msg = f"top and beam must be integers of at least 1. Got top={options.top} and beam={options.beam}."
            raise InputError(msg)
        if options.method == ON_TREE:
            if options.calibration is not None or options.certify or options.k is None:
                msg = "method=tree needs a budget, and goes without --calibration and --certify. Use method=auto."
                raise InputError(msg)
            return
        one = sp.csr_array((np.array([0.5]), np.array([0]), np.array([0, 1])), shape=(1, self.Y.shape[1]))
        self._select(one, progress=False)

    def _select(self, probabilities: sp.csr_array, *, progress: bool) -> Selection:
        options = self.options
        more = {"priors": self.priors, "progress": progress, **read_search_options(options)}
        return select(probabilities, options.utility, options.k, **more)

    def _select_on_tree(self) -> Selection:
        options = self.options
        more = {name: read_search_options(options)[name] for name in ("seed", "condition_positives")}
        with self.watch.measure("select"):
            return self.model.select(self.X_test, options.utility, options.k, method=ON_TREE, **more)

    def _describe_configuration(self) -> dict[str, Any]:
        options = self.options
        skipped = ("n_jobs", "progress", "random_state")
        tree = {name: value for name, value in self.model.get_params().items() if name not in skipped}
        calibration = None if self.calibrator is None else {**self.calibrator.get_params(), "folds": options.folds}
        search = {name: value for name, value in read_search_options(options).items() if name != "seed"}
        what = {"utility": str(self.selection.utility), "k": options.k, "top": options.top, "beam": options.beam}
        return {**what, "tree": tree, "calibration": calibration, "selection": search}


def _write_names(path: Path, selection: Selection, names: list[str]) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write("instance\trank\tlabel\tname\n")
        for i, row in enumerate(selection.labels):
            for rank, j in enumerate(row[row >= 0], start=1):
                file.write(f"{i}\t{rank}\t{j}\t{names[j].replace(chr(9), ' ')}\n")
