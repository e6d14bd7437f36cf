"""Probabilities that add up to as many labels as training promises: one shift of all log odds, without true labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special
from scipy.optimize import brentq

from tailwise.errors import InputError
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.paths import Source
from tailwise.utilities import LabelPriors

__all__ = ["shift_if_possible", "shift_to_priors"]

WIDEST = 30.0


def shift_to_priors(probabilities: Any, priors: Any) -> Candidates:
    r"""Shift the log odds of all candidates by one number, so that they promise as many labels as training had.

    .. math:: \eta'_{ij} = \sigma(\operatorname{logit} \eta_{ij} + b) \quad\text{with b such that}\quad
        \frac1n \sum_{ij} \eta'_{ij} = \sum_j \hat\pi_j ,

    where :math:`\hat\pi_j` is the share of training instances that have label j. Models trained with many negatives,
    and shortlists, promise too few labels: the shift brings the total right, keeps the order within an instance, and
    needs no true labels of the batch. A :class:`tailwise.Calibrator` does more, and needs them.

    Parameters
    ----------
    probabilities : array_like or path
        Label probabilities in any form that :meth:`tailwise.Candidates.of` takes, or a file.
    priors : LabelPriors, 0/1 matrix of training labels, or path
        Training frequencies.

    Returns
    -------
    Candidates
        The same candidates with shifted probabilities. 0 and 1 stay what they are.

    Examples
    --------
    >>> import numpy as np, tailwise as tw
    >>> priors = np.array([[1, 1, 0], [1, 0, 0]])  # 1.5 labels for an instance
    >>> tw.shift_to_priors(np.array([[0.5, 0.2, 0.1], [0.4, 0.3, 0.2]]), priors).to_csr().sum(axis=1).round(1)
    array([1.4, 1.6])
    """
    source = Source.of(probabilities)
    found, candidates = source.read_priors(priors), Candidates.of(source.matrix)
    if found is None:
        msg = "priors must be training frequencies. Got None. Give the training labels."
        raise InputError(msg)
    if found.n_labels != candidates.n_labels:
        msg = f"priors must cover the {candidates.n_labels} labels of probabilities. Got {found.n_labels}."
        raise InputError(msg)
    shifted = shift_if_possible(candidates, found)
    if shifted is None:
        wanted, values = _count_wanted(candidates, found), candidates.rows.values
        msg = (
            f"probabilities must be able to add up to {wanted:.1f}, what the priors promise. Got "
            f"{int((values == 1).sum())} candidates of probability 1 and {int((values > 0).sum())} above 0. Keep more "
            "candidates."
        )
        raise InputError(msg)
    return shifted


def shift_if_possible(candidates: Candidates, priors: LabelPriors) -> Candidates | None:
    """The shifted candidates; None where no shift lets them promise as many labels as training had."""
    rows, wanted = candidates.rows, _count_wanted(candidates, priors)
    odds = scipy.special.logit(rows.values.astype(np.float64))

    def surplus(shift: float) -> float:
        return float(scipy.special.expit(odds + shift).sum() - wanted)

    if surplus(-WIDEST) >= 0 or surplus(WIDEST) <= 0:
        return None
    shifted = scipy.special.expit(odds + brentq(surplus, -WIDEST, WIDEST, xtol=1e-6))
    return Candidates(rows.indptr, rows.labels, shifted.astype(rows.values.dtype), candidates.n_labels)


def _count_wanted(candidates: Candidates, priors: LabelPriors) -> float:
    """The labels that as many instances have in training."""
    return float(priors.counts.sum() / priors.n_instances * candidates.n_instances)
