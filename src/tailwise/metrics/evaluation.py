"""Evaluation: the values of metrics by name, and the counts behind them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from numpy.typing import NDArray

from tailwise.errors import InputError, extra_needed
from tailwise.inputs.ids import Ids
from tailwise.inputs.label_names import LabelNames
from tailwise.metrics.counts import LabelCounts
from tailwise.metrics.frequency import FrequencyBin, average_by_frequency
from tailwise.metrics.metric_formulas import LABEL_METRICS


class Evaluation(Mapping[str, float]):
    """Metrics of a selection by name, as :func:`evaluate` returns them.

    Parameters
    ----------
    values : mapping of str to float
        Value of each metric.
    counts : LabelCounts
        Confusion matrices of the labels over which macro metrics are averaged.
    title : str
        First line of the printed table.
    training_counts, edges : ndarray, optional
        Training count of each of the m labels, and the edges between frequency bins.
    expected : mapping of str to float, optional
        Expected values of the metrics that are utilities.

    instance_ids, label_names : Ids, LabelNames, optional
        The ids of the instances and labels.
    notes : tuple of str
        Notes about the values: which instances were evaluated, and how many labels are averaged.

    Attributes
    ----------
    expected : dict of str to float
        Expected values according to the probabilities; empty if none were given.

    Examples
    --------
    >>> import numpy as np, tailwise as tw
    >>> truth = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1]])
    >>> evaluation = tw.evaluate(truth, np.array([[0, 1], [0, 1], [0, 2]]), ["precision", "macro-f1"])
    >>> evaluation
    Evaluation of 3 instances and 3 labels
      precision  0.6667
      macro-f1   0.8222
    >>> round(evaluation["macro-f1"], 4)
    0.8222
    >>> evaluation.per_label()["true_positives"]
    array([2, 1, 1])
    """

    def __init__(
        self,
        values: Mapping[str, float],
        counts: LabelCounts,
        title: str,
        training_counts: NDArray | None = None,
        edges: NDArray | None = None,
        expected: Mapping[str, float] | None = None,
        instance_ids: Ids | None = None,
        label_names: LabelNames | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        self._values = dict(values)
        self._counts = counts
        self._title = title
        self._training_counts = training_counts
        self._edges = edges
        self.expected: dict[str, float] = dict(expected or {})
        self.instance_ids = instance_ids
        self.label_names = label_names
        self.notes = notes

    @property
    def n_instances(self) -> int:
        """Number of instances evaluated."""
        return self._counts.n_instances

    def __getitem__(self, name: str) -> float:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def to_dict(self) -> dict[str, float]:
        """Return the values by name as a new dict."""
        return dict(self._values)

    def per_label(self) -> dict[str, NDArray]:
        """Return counts, precision, recall and F1 of each label over which macro metrics are averaged.

        Returns
        -------
        dict of str to ndarray
            ``label`` (ids, or numbers if labels have none), ``true_positives``, ``predicted_positives``,
            ``condition_positives``, ``precision``, ``recall``, ``f1``; one entry per label in each, with
            ``zero_division`` for 0/0.
        """
        counts = self._counts
        names = ("label", "true_positives", "predicted_positives", "condition_positives")
        table = {name: getattr(counts, name).copy() for name in names}
        ratios = {name: counts.values(LABEL_METRICS[f"macro-{name}"]) for name in ("precision", "recall", "f1")}
        if self.label_names is not None:
            table["label"] = self.label_names.values[counts.label]
        return table | ratios

    def by_frequency(self) -> list[FrequencyBin]:
        """Compute macro metrics separately for rare and frequent labels, by training count.

        Returns
        -------
        list of FrequencyBin
            ``name``, ``n_labels``, ``macro_precision``, ``macro_recall``, ``macro_f1``, ``coverage`` of each bin, from
            rare to frequent labels. The averages of a bin without labels are ``zero_division``.
        """
        if self._training_counts is None or self._edges is None:
            msg = "by_frequency needs label priors. Got priors=None. Use evaluate(..., priors=training_labels)."
            raise InputError(msg)
        return average_by_frequency(self._counts, self._training_counts, self._edges)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row per metric, a column ``value`` and, if available, ``expected``."""
        with extra_needed("to_frame needs pandas", "pandas"):
            import pandas as pd
        columns = {"value": list(self.values())}
        if self.expected:
            columns["expected"] = [self.expected.get(name, math.nan) for name in self]
        return pd.DataFrame(columns, index=pd.Index(list(self), name="metric"))

    def __repr__(self) -> str:
        width = max(map(len, self._values), default=0)
        notes = [f"  {note}" for note in self.notes]
        if not self.expected:
            return "\n".join(
                [self._title, *(f"  {name:<{width}}  {value:.4f}" for name, value in self.items()), *notes]
            )
        lines = [self._title, f"  {'':<{width}}  realised  expected"]
        for name, value in self.items():
            expected = f"{self.expected[name]:.4f}" if name in self.expected else ""
            lines.append(f"  {name:<{width}}  {value:>8.4f}  {expected:>8}".rstrip())
        return "\n".join([*lines, *notes])
