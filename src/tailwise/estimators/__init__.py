"""From features to probabilities: the label tree."""

from tailwise.estimators.tree import Tree

__all__ = ["Tree"]
