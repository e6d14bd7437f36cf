"""The expected utility by random draws: slow, but right for any utility, and a check of all other expectations."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailwise.errors import InputError
from tailwise.expectations.distributions import count_predicted, mark_chosen
from tailwise.expectations.terms import check_terms
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.checks import check_seed, is_integer
from tailwise.inputs.chosen import Chosen
from tailwise.inputs.totals import known_slots
from tailwise.utilities.parse import as_utility
from tailwise.utilities.utility import Batch, SingleUtility, Utility

# Entries drawn at once; results do not depend on it.
CHUNK = 2**20


@dataclass(frozen=True, eq=False, repr=False)
class MonteCarlo:
    r"""The mean of a utility over drawn labels, :math:`\bar u = \frac1D \sum_d u_d`, and its standard error.

    Attributes
    ----------
    mean : float
        The mean.
    standard_error : float
        Its standard error: the standard deviation of the values, divided by the square root of their number.
    values : ndarray of shape (draws,)
        The utility on each draw.
    n_draws : int
        Number of draws.
    """

    mean: float
    standard_error: float
    values: NDArray

    @property
    def n_draws(self) -> int:
        return self.values.size

    def __repr__(self) -> str:
        if self.standard_error == 0:
            return f"{self.mean:.6g} +- 0 ({self.n_draws:,} draws)"
        decimals = max(0, -math.floor(math.log10(self.standard_error)))
        return f"{self.mean:.{decimals}f} +- {self.standard_error:.{decimals}f} ({self.n_draws:,} draws)"


def monte_carlo(
    probabilities: Any,
    utility: Utility | str,
    selection: Any,
    draws: int = 100,
    seed: int = 0,
    *,
    k: float | None = None,
    priors: Any = None,
) -> MonteCarlo:
    r"""Estimate the expected utility of a selection from labels drawn at random from their probabilities.

    .. math:: \frac1D \sum_{d=1}^D \sum_j \psi_j\bigl(t_j^{(d)}, q_j, p_j^{(d)}\bigr), \qquad
              y_{ij}^{(d)} \sim \text{Bernoulli}(\eta_{ij}) \text{ independent}

    is an unbiased estimate; :math:`t_j` and :math:`p_j` count the labels drawn.

    Parameters
    ----------
    probabilities : array_like
        Probabilities of shape (n, m), in any form that ``select`` takes.
    utility : Utility or str
        What to estimate: an object or a name.
    selection : Selection, ndarray or sparse matrix
        The labels chosen: a Selection, an integer array (n, k) with -1 for an empty slot, or a 0/1 matrix.
    draws : int
        Number of draws D, at least 2. The standard error falls with its square root.
    seed : int
        Seed of the draws.
    k : float, optional
        Labels per instance, for utilities that are divided by it. Default: the mean budget of a Selection, including
        empty slots; for other forms, the mean number of labels in the selection.
    priors : LabelPriors or 0/1 matrix, optional
        Training frequencies, for names that need them.

    Returns
    -------
    MonteCarlo
        Mean, standard error and the value of each draw.

    Notes
    -----
    Each draw reads every candidate once, O(nnz), and evaluates formulas only at distinct (t, q, p).

    Examples
    --------
    >>> import numpy as np
    >>> from tailwise.expectations.drawn import monte_carlo
    >>> result = monte_carlo(np.array([[0.9, 0.4], [0.1, 0.8]]), "macro-f1", np.array([[0], [1]]), draws=1000)
    >>> result
    0.793 +- 0.007 (1,000 draws)
    >>> result.values.shape
    (1000,)
    """
    candidates = Candidates.of(probabilities)
    chosen = Chosen.of(selection, candidates.n_labels)
    utility = as_utility(utility, priors)
    if not is_integer(draws) or draws < 2:
        msg = f"draws must be an integer of at least 2, as one draw has no standard error. Got {draws!r}."
        raise InputError(msg)
    check_seed(seed)
    check_terms(utility, Batch(*candidates.shape, 1, np.zeros(candidates.n_labels)))
    marks, q = mark_chosen(candidates, chosen), count_predicted(chosen).astype(np.float64)
    slots = known_slots(selection, candidates.n_instances)
    n_slots = slots if k is None and slots is not None else _count_slots(k, q, candidates.n_instances)
    rng, values = np.random.default_rng(seed), np.empty(draws)
    for d in range(draws):
        t, p = _draw(candidates, marks, rng)
        values[d] = _value(utility, t, q, Batch(*candidates.shape, n_slots, p))
    values.flags.writeable = False
    spread = float(values.std(ddof=1)) if np.ptp(values) > 0 else 0.0  # not just rounding of the mean
    return MonteCarlo(float(values.mean()), spread / math.sqrt(draws), values)


def _count_slots(k: float | None, q: NDArray, n_instances: int) -> int:
    if k is None:
        return max(1, int(q.sum()))
    if not isinstance(k, (int, float, np.number)) or isinstance(k, bool) or not 0 < k < np.inf:
        msg = f"k must be a finite number above 0. Got {k!r}. Omit it to use the mean number of the selection."
        raise InputError(msg)
    return max(1, round(n_instances * k))


def _draw(candidates: Candidates, marks: NDArray, rng: np.random.Generator) -> tuple[NDArray, NDArray]:
    """Draw labels once, and return the true and condition positives of all labels."""
    t, p = np.zeros(candidates.n_labels), np.zeros(candidates.n_labels)
    for start in range(0, candidates.n_entries, CHUNK):
        part = slice(start, start + CHUNK)
        values = candidates.rows.values[part]
        is_positive = rng.random(values.size) < values
        labels = candidates.rows.labels[part]
        t += np.bincount(labels[is_positive & marks[part]], minlength=t.size)
        p += np.bincount(labels[is_positive], minlength=p.size)
    return t, p


def _value(utility: Utility, t: NDArray, q: NDArray, batch: Batch) -> float:
    """The utility at the counts of one draw."""
    values = (factor * _sum_labels(term, t, q, batch) for factor, term in utility.terms)
    return float(sum(values))


def _sum_labels(term: SingleUtility, t: NDArray, q: NDArray, batch: Batch) -> float:
    """Sum over labels; in a long tail most have the same few counts, for which a formula is called only once."""
    if term.formula is None or term.formula.parameters.ndim == 2 or term.weights is not None:
        return float(term.psi_of(t, q, batch).sum())
    counts = np.stack([t, q, batch.condition_positives])
    counts = counts[:, np.lexsort(counts)]
    firsts = np.flatnonzero(np.append(True, (np.diff(counts) != 0).any(axis=0)))
    t, q, p = counts[:, firsts]
    repeats = np.diff(np.append(firsts, batch.n_labels))
    return float(repeats @ term.psi_of(t, q, replace(batch, condition_positives=p)))
