"""A shift of all log odds that matches the label density of the training data, without true labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special
from scipy.optimize import brentq

from tailwise.errors import InputError
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.joining import Space
from tailwise.inputs.paths import Source
from tailwise.utilities import LabelPriors

WIDEST = 30.0


def shift_to_priors(probabilities: Any, priors: Any) -> Candidates:
    r"""Shift the log odds of all candidates by one number to match the label density of the training data.

    .. math:: \eta'_{ij} = \sigma(\operatorname{logit} \eta_{ij} + b) \quad\text{with b such that}\quad
        \frac1n \sum_{ij} \eta'_{ij} = \sum_j \hat\pi_j ,

    where :math:`\hat\pi_j` is the fraction of training instances with label j. The probabilities of shortlists, and of
    models trained with many negatives, often sum to too few labels. The shift corrects the total, keeps the order
    within an instance, and needs no true labels of the batch. A :class:`tailwise.Calibrator` does more, but needs them.

    Parameters
    ----------
    probabilities : array_like or path
        Label probabilities in any form that :meth:`tailwise.Candidates.of` accepts, or a file.
    priors : LabelPriors, 0/1 matrix of training labels, or path
        Training frequencies.

    Returns
    -------
    Candidates
        The same candidates, with their ids and shifted probabilities. Probabilities of 0 and 1 do not change.

    Examples
    --------
    >>> import numpy as np, tailwise as tw
    >>> priors = np.array([[1, 1, 0], [1, 0, 0]])  # 1.5 labels per instance
    >>> tw.shift_to_priors(np.array([[0.5, 0.2, 0.1], [0.4, 0.3, 0.2]]), priors).to_csr().sum(axis=1).round(1)
    array([1.4, 1.6])
    """
    source = Source.of(probabilities)
    candidates = Candidates.of(source.matrix).with_names(source.names, source.instance_ids)
    found = source.read_priors(priors)
    if found is not None:
        found = Space("probabilities", None, candidates.label_names).read_priors(found)
    if found is None:
        msg = "priors must be training labels or LabelPriors. Got None."
        raise InputError(msg)
    if found.n_labels != candidates.n_labels:
        msg = f"priors must cover the {candidates.n_labels} labels of probabilities. Got {found.n_labels}."
        raise InputError(msg)
    shifted = shift_if_possible(candidates, found)
    if shifted is None:
        wanted, values = _count_wanted(candidates, found), candidates.rows.values
        msg = (
            f"probabilities must be able to sum to {wanted:.1f}, the number of labels expected from the priors. Got "
            f"{int((values == 1).sum())} candidates with probability 1 and {int((values > 0).sum())} above 0. Keep "
            "more candidates."
        )
        raise InputError(msg)
    return shifted


def shift_if_possible(candidates: Candidates, priors: LabelPriors) -> Candidates | None:
    """Return the shifted candidates, or None if no shift matches the label density of the training data."""
    rows, wanted = candidates.rows, _count_wanted(candidates, priors)
    odds = scipy.special.logit(rows.values.astype(np.float64))

    def surplus(shift: float) -> float:
        return float(scipy.special.expit(odds + shift).sum() - wanted)

    if surplus(-WIDEST) >= 0 or surplus(WIDEST) <= 0:
        return None
    shifted = scipy.special.expit(odds + brentq(surplus, -WIDEST, WIDEST, xtol=1e-6))
    return candidates.with_entries(rows.indptr, rows.labels, shifted.astype(rows.values.dtype))


def _count_wanted(candidates: Candidates, priors: LabelPriors) -> float:
    """Return the number of labels expected from the priors for this number of instances."""
    return float(priors.counts.sum() / priors.n_instances * candidates.n_instances)
