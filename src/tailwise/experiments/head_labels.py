"""All labels versus head labels: which metrics change if a model never predicts the tail."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from tailwise.errors import InputError
from tailwise.experiments.experiment import Experiment, Measured, RunParameters
from tailwise.experiments.experiment_data import TOP, ExperimentData
from tailwise.experiments.paper_figures import paper_values, side_by_side
from tailwise.experiments.results import Column, Results, Row, Table
from tailwise.inputs.candidates import Candidates
from tailwise.selection import select

METRICS = {
    "precision": "precision",
    "ndcg": "nDCG",
    "ps-precision-normalised": "PS-precision",
    "macro-precision": "macro-precision",
    "macro-recall": "macro-recall",
    "macro-f1": "macro-F1",
    "coverage": "coverage",
}
FULL, HEAD = "full", "head"


@dataclass(frozen=True)
class HeadLabels(Experiment):
    """Top-k predictions of a model for all labels and of one for the most frequent labels, evaluated on all labels.

    Two models are trained; given probabilities are used with and without the tail labels.
    """

    name = "head-labels"
    title = "All labels versus head labels"
    paper = "the first table, in the introduction"
    uses_seeds = False

    budgets: tuple[int, ...] = (1, 3, 5)
    n_head: int = 1000
    largest_share: float = 0.1

    def list_runs(self, data: ExperimentData) -> list[RunParameters]:
        if data.priors is None:
            msg = f"The experiment {self.name} needs training labels. Got {data.source.path}, which has none."
            raise InputError(msg)
        return [{"labels": which, "k": k} for which in (FULL, HEAD) for k in self.budgets]

    def measure(self, run: RunParameters, data: ExperimentData) -> dict[str, float | None]:
        candidates = data.candidates if run["labels"] == FULL else self._predict_head(data)
        return dict(data.evaluate(select(candidates, "precision", run["k"], fill="none"), run["k"]))

    def _head(self, data: ExperimentData) -> np.ndarray:
        """Return the most frequent labels: `n_head`, as in the paper, but at most `largest_share` of all."""
        assert data.priors is not None
        size = max(1, min(self.n_head, int(self.largest_share * data.priors.n_labels)))
        return np.sort(np.argsort(-data.priors.counts, kind="stable")[:size])

    def _predict_head(self, data: ExperimentData) -> Candidates:
        head = self._head(data)
        if data.given is not None:
            return Candidates.of(_keep_columns(data.candidates.to_csr(), head))
        return data.keep("probabilities-head.npz", lambda: self._train_head(data, head))

    def _train_head(self, data: ExperimentData, head: np.ndarray) -> sp.csr_array:
        model = data.fit(data.source.Y[:, head])
        found = sp.coo_array(model.predict_proba(data.rows("X_test"), top=min(TOP, head.size)))
        return sp.csr_array((found.data, (found.coords[0], head[found.coords[1]])), shape=data.truth.shape)

    def present(self, measured: list[Measured], data: ExperimentData) -> Results:
        columns = [
            Column(f"{which}@{k}", f"@{k}", f"{which} labels", better=None)
            for which in (FULL, HEAD)
            for k in self.budgets
        ]
        change = [Column(f"change@{k}", f"@{k}", "change", better=None, digits=1) for k in self.budgets]
        by_run = {(each.run["labels"], each.run["k"]): each.values for each in measured}
        rows = [Row(title, self._line(key, by_run)) for key, title in METRICS.items()]
        title = f"{self.title}, {data.name}, percent; {self._head(data).size:,} head labels"
        tables = [Table(self.name, title, (*columns, *change), tuple(rows))]
        golden = paper_values(self.name, data.name)
        for k in (k for k in self.budgets if (FULL, k) in golden):
            ours = [Row(which, by_run[which, k]) for which in (FULL, HEAD)]
            paper = {which: golden[which, k] for which in (FULL, HEAD)}
            shown = [Column(key, title) for key, title in METRICS.items()]
            tables.append(side_by_side(f"{self.name}-paper-k{k}", f"Paper and ours at {k}", shown, ours, paper))
        return Results(tuple(tables))

    def _line(self, key: str, by_run: dict[tuple[str, int], dict]) -> dict[str, float | None]:
        values = {f"{which}@{k}": by_run[which, k][key] for which in (FULL, HEAD) for k in self.budgets}
        for k in self.budgets:
            full, head = values[f"{FULL}@{k}"], values[f"{HEAD}@{k}"]
            values[f"change@{k}"] = head / full - 1 if full else None
        return values


def _keep_columns(csr: sp.csr_array, columns: np.ndarray) -> sp.csr_array:
    is_kept = np.zeros(csr.shape[1])
    is_kept[columns] = 1
    kept = sp.csr_array(csr @ sp.diags_array(is_kept))
    kept.eliminate_zeros()
    return kept
