"""Calibration on test halves, and of a label tree by cross-validation: the error at 5, macro-F1 by exact selection."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from harness import Result, find_data

import tailwise as tw
from tailwise.datasets import load, load_labels
from tailwise.models.calibrator import Calibrator
from tailwise.models.label_tree import LabelTree
from tailwise.models.out_of_fold import predict_out_of_fold
from tailwise.models.reliability import reliability

DATA = find_data()
PROBABILITIES = {
    "tibkat-gnd-en": "plt-top100.tst.npz",
    "cve-libraries": "plt-top100.tst.npz",
    "mulan-delicious": "plt-top100.tst.npz",
    "mulan-bibtex": "plt-top100.tst.npz",
    "dnb-gnd-predictions": "P.mean.tst.npz",
}
UTILITY, K = "macro-f1", 5
SPLITS = range(3)  # seeds; either half is fitted on once, so that there are twice as many judgements
KINDS = {
    "isotonic": {"method": "isotonic"},
    "platt": {"method": "platt"},
    "temperature": {"method": "temperature"},
    "isotonic by frequency": {"method": "isotonic", "by": "frequency"},
    "context": {"method": "context"},
}
ASKED_ON = "tibkat-gnd-en"
TOP, FOLDS = 100, 5  # of the label tree


class Problem(NamedTuple):
    """Probabilities and true labels of a test set, and the training frequencies (None if unknown)."""

    probabilities: sp.csr_array
    truth: sp.csr_array
    priors: tw.LabelPriors | None

    def half(self, rows: np.ndarray) -> Problem:
        return Problem(self.probabilities[rows], self.truth[rows], self.priors)


class Judgement(NamedTuple):
    """In percent: the error at 5 in bins of equal size, by chance alone, in bins of equal width; then macro-F1."""

    error: float
    chance: float
    error_by_width: float
    realised: float
    expected: float


def run() -> Iterator[Result]:
    for name, file in PROBABILITIES.items():
        if not (DATA / name / file).is_file():
            yield Result(f"{name}: calibration", "for information", "data not present", is_met=True)
            continue
        problem = read(DATA / name, file)
        raw = judge_all(problem, None)
        for kind, parameters in KINDS.items():
            if problem.priors is None and "by" in parameters:
                continue
            yield from compare(f"{name}, halves", kind, raw, judge_all(problem, parameters))
    if (DATA / ASKED_ON / "X.trn.npz").is_file():
        yield from measure_tree()


def read(folder: Path, file: str) -> Problem:
    training = folder / "Y.trn.npz"
    priors = tw.LabelPriors.from_labels(load_labels(training)) if training.is_file() else None
    return Problem(load(folder / file), load_labels(folder / "Y.tst.npz"), priors)


def judge_all(problem: Problem, parameters: dict | None) -> list[Judgement]:
    """One judgement per split and half."""
    judgements = []
    for seed in SPLITS:
        halves = np.array_split(np.random.default_rng(seed).permutation(problem.truth.shape[0]), 2)
        first, second = (problem.half(np.sort(rows)) for rows in halves)
        judgements += [judge(first, second, parameters), judge(second, first, parameters)]
    return judgements


def measure_tree() -> Iterator[Result]:
    """A label tree calibrated by cross-validation of its training set, judged on the whole test set."""
    folder = DATA / ASKED_ON
    X, Y = load(folder / "X.trn.npz"), load_labels(folder / "Y.trn.npz")
    priors = tw.LabelPriors.from_labels(Y)
    out_of_fold = Problem(predict_out_of_fold(LabelTree(), X, Y, FOLDS, 0, {"top": TOP}), Y, priors)
    predicted = LabelTree().fit(X, Y).predict_proba(load(folder / "X.tst.npz"), top=TOP)
    test = Problem(predicted, load_labels(folder / "Y.tst.npz"), priors)
    raw = [judge(out_of_fold, test, None)]
    for kind, parameters in KINDS.items():
        calibrated = [judge(out_of_fold, test, parameters)]
        yield from compare(f"{ASKED_ON}, label tree, {FOLDS} folds", kind, raw, calibrated)


def judge(fitted_on: Problem, judged_on: Problem, parameters: dict | None) -> Judgement:
    probabilities, truth = judged_on.probabilities, judged_on.truth
    if parameters is not None:
        calibrator = Calibrator(**parameters).fit(fitted_on.probabilities, fitted_on.truth, priors=fitted_on.priors)
        probabilities = calibrator.transform(probabilities)
    selection = tw.select(probabilities, UTILITY, K)
    found = reliability(probabilities, truth, K)
    return Judgement(
        100 * found.error,
        100 * found.chance_error,
        100 * reliability(probabilities, truth, K, strategy="uniform").error,
        100 * tw.evaluate(truth, selection, [UTILITY])[UTILITY],
        100 * selection.expected,
    )


def compare(name: str, kind: str, raw: list[Judgement], calibrated: list[Judgement]) -> Iterator[Result]:
    before, after = mean(raw), mean(calibrated)
    is_asked = kind != "temperature"  # which cannot make up for probabilities that are too small in all
    figures = {"raw": [each._asdict() for each in raw], "calibrated": [each._asdict() for each in calibrated]}
    yield Result(
        f"{name}, {kind}: calibration error at {K}",
        "at most half" if is_asked else "for information",
        f"{before.error:.2f} % before, {after.error:.2f} % after ({after.chance:.2f} % by chance alone); bins of equal "
        f"width {before.error_by_width:.2f} %, {after.error_by_width:.2f} %",
        not is_asked or after.error <= before.error / 2,
        figures,
    )
    gains = np.array([each.realised for each in calibrated]) - [each.realised for each in raw]
    yield Result(
        f"{name}, {kind}: {UTILITY} at {K}, true labels (expected)",
        "better than uncalibrated" if is_asked else "for information",
        f"{before.realised:.2f} % ({before.expected:.2f} %) before, {after.realised:.2f} % ({after.expected:.2f} %) "
        f"after; gain {gains.mean():+.3f}, better in {np.sum(gains > 0)} of {gains.size}",
        not is_asked or bool(gains.mean() > 0),
    )


def mean(judgements: list[Judgement]) -> Judgement:
    return Judgement(*np.mean(judgements, axis=0))
