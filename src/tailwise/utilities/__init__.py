"""WHAT is maximised: utilities psi(t, q, p), their names, their algebra."""

from tailwise.utilities.base import Utility, UtilityClass
from tailwise.utilities.custom import Custom
from tailwise.utilities.instance_wise import (
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
from tailwise.utilities.names import UTILITY_NAMES, as_utility
from tailwise.utilities.priors import LabelPriors

__all__ = [
    "UTILITY_NAMES",
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
