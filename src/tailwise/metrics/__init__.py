"""A selection against true labels."""

from tailwise.metrics.evaluation import Evaluation
from tailwise.metrics.names import METRIC_NAMES
from tailwise.metrics.scoring import evaluate

__all__ = ["METRIC_NAMES", "Evaluation", "evaluate"]
