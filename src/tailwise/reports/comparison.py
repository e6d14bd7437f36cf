"""Comparison of a selection with the k most probable labels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tailwise.inputs.chosen import EMPTY, Chosen
from tailwise.metrics import METRIC_NAMES, Evaluation, evaluate
from tailwise.metrics.expected_metrics import expect_metrics
from tailwise.metrics.frequency import DEFAULT_EDGES, FrequencyBin
from tailwise.runs.run_folder import RunFolder
from tailwise.selection import expected_utility, select
from tailwise.utilities import Utility, as_utility

RARE, FREQUENT = map(int, DEFAULT_EDGES)
BINS = {"tail": f"up to {RARE}", "torso": f"{RARE + 1} to {FREQUENT}", "head": f"over {FREQUENT}"}  # training instances
N_MOST = 12  # labels listed as gaining and as losing most


@dataclass(frozen=True, eq=False)
class Judgement:
    """The quality of a selection.

    ``values`` are those shown: realised metrics, or expected ones without true labels; the utility of the run comes
    first if it is not a metric.
    """

    chosen: Chosen
    predicted: NDArray  # (m,): how often each label was chosen
    realised: Evaluation | None
    expected: dict[str, float]
    values: dict[str, float]

    @property
    def n_found(self) -> int | None:
        """The number of labels that were correctly chosen at least once."""
        return None if self.realised is None else int((self.realised.per_label()["true_positives"] > 0).sum())


@dataclass(frozen=True)
class BinGain:
    """The labels in one range of training counts under two selections; `top` is the k most probable labels."""

    name: str
    training: str  # the range
    n_labels: int
    top_share: float  # of all chosen labels
    own_share: float
    top: FrequencyBin | None  # averages on the true labels
    own: FrequencyBin | None


@dataclass(frozen=True)
class LabelChange:
    """One label under two selections; pairs are for the k most probable labels and for the selection."""

    label: int
    n_training: int
    predicted: tuple[int, int]
    positives: int | None = None
    found: tuple[int, int] | None = None
    f1: tuple[float, float] | None = None


def judge_top(run: RunFolder) -> Judgement | None:
    """Judge the k most probable labels of each instance; None without probabilities or a budget."""
    if run.probabilities is None or run.k is None:
        return None
    return judge(run, select(run.probabilities, "precision", run.k, fill="none"))


def judge(run: RunFolder, chosen: Chosen) -> Judgement:
    """Judge a selection by the true labels and by the probabilities."""
    predicted = np.bincount(chosen.labels[chosen.labels != EMPTY], minlength=run.n_labels)
    realised = None
    if run.truth is not None:
        realised = evaluate(run.truth, chosen, k=run.k, priors=run.priors, propensity=run.propensity)
    expected = {}
    if run.probabilities is not None:
        names = METRIC_NAMES if realised is None else tuple(realised)
        expected = expect_metrics(names, run.probabilities, chosen, run.k, propensity=run.propensity, **run.basis)
    values = expected if realised is None else realised.to_dict()
    judgement = Judgement(chosen, predicted, realised, expected, values)
    worth = measure(run, judgement, as_utility(run.utility, run.priors))
    if worth is None or _metric_of(run) in values:
        return judgement
    return replace(judgement, values={run.utility: worth, **values})


def _metric_of(run: RunFolder) -> str | None:
    """Return the metric that the run maximised, or None if its utility is not a metric."""
    if run.utility in METRIC_NAMES:
        return run.utility
    weighted = as_utility("ps-precision", run.priors, run.propensity)
    return "ps-precision" if as_utility(run.utility, run.priors) == weighted else None


def measure(run: RunFolder, judgement: Judgement, utility: Utility) -> float | None:
    """Compute a utility on the true labels, or its expectation as in the run; None without either."""
    if judgement.realised is not None:
        table = judgement.realised.per_label()
        counts = [table[name] for name in ("true_positives", "predicted_positives", "condition_positives")]
        k = run.k or judgement.predicted.sum() / run.n_instances
        return float(utility.psi(*counts, n_instances=run.n_instances, k=k).sum())
    if run.probabilities is None:
        return None
    return expected_utility(run.probabilities, utility, judgement.chosen, run.k, **run.basis)


def compare_bins(run: RunFolder, top: Judgement, own: Judgement) -> list[BinGain]:
    """Compare rare and frequent labels separately, from rare to frequent; bins without labels are omitted."""
    bins = np.searchsorted(DEFAULT_EDGES, run.priors.counts, side="left")
    rows = []
    for b, (name, training) in enumerate(BINS.items()):
        members = bins == b
        shares = [float(each.predicted[members].sum() / max(1, each.predicted.sum())) for each in (top, own)]
        averages = [None if each.realised is None else each.realised.by_frequency()[b] for each in (top, own)]
        if members.any():
            rows.append(BinGain(name, training, int(members.sum()), shares[0], shares[1], averages[0], averages[1]))
    return rows


def find_changes(run: RunFolder, top: Judgement, own: Judgement) -> tuple[list[LabelChange], list[LabelChange]]:
    """Find the labels that gained and lost most in F1 or, without true labels, in how often they are chosen.

    Ties are broken by the number of true instances, then by the label number.
    """
    if top.realised is None or own.realised is None:
        change, weight = (own.predicted - top.predicted).astype(np.float64), own.predicted + top.predicted
    else:
        tables = top.realised.per_label(), own.realised.per_label()
        change, weight = tables[1]["f1"] - tables[0]["f1"], tables[0]["condition_positives"]
    labels = np.arange(change.size)
    gained = [int(j) for j in np.lexsort((labels, -weight, -change))[:N_MOST] if change[j] > 0]
    lost = [int(j) for j in np.lexsort((labels, -weight, change))[:N_MOST] if change[j] < 0]
    return [_describe(run, top, own, j) for j in gained], [_describe(run, top, own, j) for j in lost]


def _describe(run: RunFolder, top: Judgement, own: Judgement, j: int) -> LabelChange:
    change = LabelChange(j, int(run.priors.counts[j]), (int(top.predicted[j]), int(own.predicted[j])))
    if top.realised is None or own.realised is None:
        return change
    before, after = top.realised.per_label(), own.realised.per_label()
    found = int(before["true_positives"][j]), int(after["true_positives"][j])
    f1 = float(before["f1"][j]), float(after["f1"][j])
    return replace(change, positives=int(before["condition_positives"][j]), found=found, f1=f1)
