"""From features to probabilities: the label tree, calibration, and how well calibrated probabilities are."""

from tailwise.estimators.calibrator import Calibrator
from tailwise.estimators.label_tree import LabelTree
from tailwise.estimators.prior_shift import shift_to_priors
from tailwise.estimators.reliability import reliability
from tailwise.estimators.searching import Found
from tailwise.estimators.selecting import TreeSelection
from tailwise.estimators.tree import Tree

__all__ = ["Calibrator", "Found", "LabelTree", "Tree", "TreeSelection", "reliability", "shift_to_priors"]
