"""The experiments by name."""

from __future__ import annotations

from tailwise.experiments.experiment import Experiment
from tailwise.experiments.head_labels import HeadLabels
from tailwise.experiments.label_tree_table import LabelTreeTable
from tailwise.experiments.main_table import ExtendedTable, MainTable
from tailwise.experiments.mixed import Mixed
from tailwise.experiments.parameter_study import Parameters
from tailwise.experiments.true_labels import TrueLabels

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: dict[str, type[Experiment]] = {
    each.name: each for each in (HeadLabels, MainTable, ExtendedTable, TrueLabels, Parameters, Mixed, LabelTreeTable)
}
