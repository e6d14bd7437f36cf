"""Evaluation of selections with true labels."""

from tailwise.metrics.evaluate import evaluate
from tailwise.metrics.evaluation import Evaluation
from tailwise.metrics.metric_names import METRIC_NAMES

__all__ = ["METRIC_NAMES", "Evaluation", "evaluate"]
