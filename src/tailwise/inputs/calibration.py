"""Warnings if priors or true labels show that probabilities are not calibrated.

The limits follow from statistics, not from data sets. A warning needs a difference that chance does not explain
(4 standard deviations of a mean, 5 of a sum whose terms are known) and that is large enough to matter for decisions:
a factor of 1.5 for labels per instance, and of 1.25 for true positives, in either direction.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import numpy as np

from tailwise.errors import CalibrationWarning

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.inputs.candidates import Candidates
    from tailwise.inputs.priors import LabelPriors

__all__ = ["warn_of_density", "warn_of_truth"]

# The number of labels of an instance varies more than a Poisson number; its variance is taken as the mean times this.
DISPERSION = 4.0
DEVIATIONS_OF_DENSITY, FACTOR_OF_DENSITY = 4.0, 1.5
DEVIATIONS_OF_TRUTH, FACTOR_OF_TRUTH = 5.0, 1.25


def warn_of_density(candidates: Candidates, priors: LabelPriors) -> None:
    """Warn if the probabilities imply far more or fewer labels per instance than the training data have."""
    n, density = candidates.n_instances, float(priors.counts.sum() / priors.n_instances)
    implied = float(candidates.rows.values.sum(dtype=np.float64)) / n
    deviation = math.sqrt(DISPERSION * max(density, implied) * (1 / n + 1 / priors.n_instances))
    is_far = not density / FACTOR_OF_DENSITY <= implied <= density * FACTOR_OF_DENSITY
    if is_far and abs(implied - density) > DEVIATIONS_OF_DENSITY * deviation:
        msg = (
            f"The probabilities imply {implied:.3g} labels per instance, but the training labels have {density:.3g}. "
            "They are not calibrated, which misleads the selection. Use shift_to_priors(probabilities, priors), or "
            "Calibrator if there are true labels of other instances."
        )
        warnings.warn(msg, CalibrationWarning, stacklevel=4)


def warn_of_truth(expected: NDArray, realised: NDArray) -> None:
    """Warn if far more or fewer of the chosen labels are true than their probabilities say.

    Both are sums for each instance, so that labels of one instance may depend on each other.
    """
    implied, true = float(expected.sum()), float(realised.sum())
    deviation = math.sqrt(float(((expected - realised) ** 2).sum()))
    is_far = not true / FACTOR_OF_TRUTH <= implied <= true * FACTOR_OF_TRUTH
    if is_far and abs(implied - true) > DEVIATIONS_OF_TRUTH * deviation:
        msg = (
            f"The probabilities imply {implied:,.0f} true positives among the chosen labels, but {true:,.0f} are true. "
            "They are not calibrated. Fit a Calibrator to true labels of other instances, or use "
            "shift_to_priors(probabilities, training_labels)."
        )
        warnings.warn(msg, CalibrationWarning, stacklevel=4)
