"""WHAT is maximised: utilities psi(t, q, p), their names, their algebra."""

from tailwise.inputs.priors import LabelPriors
from tailwise.utilities.by_label import ByLabel
from tailwise.utilities.formula import Custom
from tailwise.utilities.instance_weights import (
    Hamming,
    LogPrecision,
    PowerLawPrecision,
    Precision,
    PropensityScoredPrecision,
    WeightedInstance,
)
from tailwise.utilities.macro import (
    Coverage,
    MacroAccuracy,
    MacroAUC,
    MacroBalancedAccuracy,
    MacroF1,
    MacroFBeta,
    MacroGMean,
    MacroHMean,
    MacroJaccard,
    MacroPrecision,
    MacroRecall,
)
from tailwise.utilities.parse import UTILITY_NAMES, as_utility
from tailwise.utilities.utility import Utility, UtilityClass

__all__ = [
    "UTILITY_NAMES",
    "ByLabel",
    "Coverage",
    "Custom",
    "Hamming",
    "LabelPriors",
    "LogPrecision",
    "MacroAUC",
    "MacroAccuracy",
    "MacroBalancedAccuracy",
    "MacroF1",
    "MacroFBeta",
    "MacroGMean",
    "MacroHMean",
    "MacroJaccard",
    "MacroPrecision",
    "MacroRecall",
    "PowerLawPrecision",
    "Precision",
    "PropensityScoredPrecision",
    "Utility",
    "UtilityClass",
    "WeightedInstance",
    "as_utility",
]
