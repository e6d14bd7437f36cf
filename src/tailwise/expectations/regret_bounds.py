"""How far the semi-empirical value can be from the exact one, and what wrong probabilities cost (paper, section 5).

Here t, q and p are shares of the batch, t/n, q/n and p/n, as in the paper. Every constant below follows from one line.
A ratio a/A of two shares, 0 <= a <= A, changes by

    a/A - a'/A' = (a - a')/A + (a'/A') (A' - A)/A,    so    |a/A - a'/A'| <= (|a - a'| + |A - A'|) / A.

The paper requires this for 0 < p' < 1, but a draw of the labels may have no positive (p' = 0) or no negative (p' = 1).
The constants also hold there, whatever 0/0 is: |p - p'| is then p or 1 - p, and P |p - p'| covers the largest possible
change of a ratio.
"""

from __future__ import annotations

import copy
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailwise.errors import InputError, UtilityError
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.checks import is_integer
from tailwise.utilities import macro
from tailwise.utilities.linear import InstanceWise
from tailwise.utilities.parse import as_utility
from tailwise.utilities.utility import Batch, SingleUtility, Utility

_NOT_LIPSCHITZ: dict[type, str] = {
    macro.MacroPrecision: "its slope is unbounded near q = 0 (its semi-empirical value is exact anyway)",
    macro.Coverage: "it jumps at t = 0 (its semi-empirical value is exact anyway)",
    macro.MacroGMean: "the slope of its square root is infinite at t = 0",
}


class LipschitzConstants(NamedTuple):
    """How fast psi_j changes with t/n, q/n and p/n, at the p of each label; each of shape (m,)."""

    on_t: NDArray
    on_q: NDArray
    on_p: NDArray


def lipschitz_constants(
    utility: Utility | str, condition_positives: Any, n_instances: int, *, priors: Any = None, k: float = 1
) -> LipschitzConstants:
    r"""Constants :math:`T_j, Q_j, P_j` of each label such that, for all counts t', q', p' of a batch of size n,

    .. math:: |\psi_j(t, q, p) - \psi_j(t', q', p')| \le \frac{T_j |t - t'| + Q_j |q - q'| + P_j |p - p'|}{n}.

    They depend on p, not on p' ("p-Lipschitz"). With :math:`r = p / n`, before the 1/m of a macro average:

    ==================  ===========================  ==================  ==================
    utility             T                            Q                   P
    ==================  ===========================  ==================  ==================
    recall              1/r                          0                   1/r
    F-beta              (1 + beta²) / (beta² r)      1 / (beta² r)       1/r
    Jaccard             2/r                          1/r                 1/r
    balanced accuracy   1 / (2 r (1-r))              1 / (2 (1-r))       1 / (2 r (1-r))
    AUC                 1 / (r (1-r))                1 / (1-r)           1 / (r (1-r))
    H-mean              2 / (r (1-r))                2 / (1-r)           2 / (r (1-r))
    instance-wise       \|w11 - w01 - w10 + w00\|    \|w01 - w00\|       \|w10 - w00\|
    ==================  ===========================  ==================  ==================

    The constants of a mixture are the sums of those of its parts, times their factors. Macro-precision, coverage and
    G-mean (the paper lists its square) have no such constants, and for a user's formula they are unknown: these are
    refused.

    Parameters
    ----------
    utility : Utility or str
        An object or a name.
    condition_positives : array_like of shape (m,)
        p of each label, a count from 0 to n. At 0 or n, constants can be infinite by their formula.
    n_instances : int
        Size n of the batch.
    priors : LabelPriors or 0/1 matrix, optional
        Training frequencies, for names that need them.
    k : float
        Budget per instance (the mean, if budgets differ), by which precision and its weighted variants are divided.

    Returns
    -------
    LipschitzConstants
        Including the 1/m of macro averages and the factors of mixtures, so that the utility is a sum over labels.

    Examples
    --------
    >>> from tailwise.expectations.regret_bounds import lipschitz_constants
    >>> lipschitz_constants("macro-f1", [50, 2], n_instances=100)
    LipschitzConstants(on_t=array([ 2., 50.]), on_q=array([ 1., 25.]), on_p=array([ 1., 25.]))
    """
    utility = as_utility(utility, priors)
    if not is_integer(n_instances) or n_instances < 1:
        msg = f"n_instances must be an integer of at least 1. Got {n_instances!r}."
        raise InputError(msg)
    if not (isinstance(k, (int, float, np.number)) and 0 < k < math.inf):
        msg = f"k must be a finite number above 0, the mean budget per instance. Got {k!r}."
        raise InputError(msg)
    p = np.asarray(condition_positives, dtype=np.float64)
    if p.ndim != 1 or p.size == 0 or not (p.min() >= 0 and p.max() <= n_instances):
        came = f"values from {p.min():g} to {p.max():g}" if p.ndim == 1 and p.size else f"shape {p.shape}"
        msg = f"condition_positives must be one count per label, from 0 to n_instances={n_instances}. Got {came}."
        raise InputError(msg)
    batch = Batch(int(n_instances), p.size, max(1, round(n_instances * k)), p)
    with np.errstate(divide="ignore"):
        parts = [[factor * part for part in _constants_of(term, batch)] for factor, term in utility.terms]
    return LipschitzConstants(*(np.sum(part, axis=0) for part in zip(*parts, strict=True)))


def approximation_bound(probabilities: Any, utility: Utility | str, *, priors: Any = None, k: float = 1) -> float:
    r"""Bound the difference between the exact and the semi-empirical expected utility of any selection.

    .. math:: |E[\Psi(t, q, p)] - \Psi(E[t], q, E[p])| \le \frac{1}{2 \sqrt n} \sum_j (T_j + P_j)

    with the constants at the expected positives :math:`p_j = \sum_i \eta_{ij}` (paper, first theorem of section 5). A
    label that is certain, with :math:`p_j` 0 or n, adds nothing to the sum, because its t and p are not random.

    Parameters
    ----------
    probabilities : array_like
        Label probabilities eta, in any form that :meth:`tailwise.Candidates.of` takes.
    utility, priors, k
        As for :func:`lipschitz_constants`.

    Notes
    -----
    The bound is loose, especially for rare labels: it is often above 1, which says nothing. For a utility that is
    linear in the labels, such as precision, the two values are equal, whatever the bound.

    Examples
    --------
    >>> import numpy as np
    >>> from tailwise.expectations.regret_bounds import approximation_bound
    >>> approximation_bound(np.full((100, 2), 0.5), "macro-recall")
    0.2
    """
    candidates = Candidates.of(probabilities)
    n, p = candidates.n_instances, candidates.condition_positives()
    sums = np.where(_is_certain(p, n), 0.0, _sums(p, n, as_utility(utility, priors), k))
    return float(sums.sum()) / (2 * math.sqrt(n))


def misspecification_bound(
    probabilities: Any, estimates: Any, utility: Utility | str, *, priors: Any = None, k: float = 1
) -> float:
    r"""Bound the change of the semi-empirical utility of any selection if estimates replace the true probabilities.

    .. math:: \frac1n \sum_j (T_j + P_j) \sum_i |\eta_{ij} - \hat\eta_{ij}|

    with the constants at :math:`p_j = \sum_i \eta_{ij}` (paper, appendix, lemma on misspecification).

    Parameters
    ----------
    probabilities, estimates : array_like
        The true eta and their estimates, in any form that :meth:`tailwise.Candidates.of` takes.
    utility, priors, k
        As for :func:`lipschitz_constants`.

    Notes
    -----
    The inequality behind the constants also holds with p and its estimate exchanged. For a label that is certain, with
    :math:`p_j` 0 or n, constants may be infinite; then those at :math:`\sum_i \hat\eta_{ij}` are used. If the estimates
    agree, the label adds nothing; if they are certain of the opposite, the bound may be infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from tailwise.expectations.regret_bounds import misspecification_bound
    >>> round(misspecification_bound(np.full((100, 2), 0.5), np.full((100, 2), 0.4), "macro-recall"), 6)
    0.4
    """
    truth, guess = _check_pair(probabilities, estimates)
    sums = _sums_against(truth, guess, as_utility(utility, priors), k)
    return float(sums @ abs(_difference(truth, guess)).sum(axis=0)) / truth.n_instances


def regret_bound(
    probabilities: Any, estimates: Any, utility: Utility | str, *, priors: Any = None, k: float = 1
) -> float:
    r"""Bound the loss, in exact expected utility, of the selection that is semi-empirically best for estimates.

    .. math:: \frac{m}{\sqrt n} B + \frac{2 \sqrt m}{n} B \sum_i \|\eta_i - \hat\eta_i\|_2, \qquad
              B = \sqrt{\frac1m \sum_j (T_j + P_j)^2}

    compared with the best selection of all, with the constants at :math:`p_j = \sum_i \eta_{ij}` (paper, second theorem
    of section 5). Labels that are certain are treated as in :func:`misspecification_bound`.

    Parameters
    ----------
    probabilities, estimates : array_like
        The true eta and their estimates, in any form that :meth:`tailwise.Candidates.of` takes.
    utility, priors, k
        As for :func:`lipschitz_constants`.

    Examples
    --------
    >>> import numpy as np
    >>> from tailwise.expectations.regret_bounds import regret_bound
    >>> round(regret_bound(np.full((100, 2), 0.5), np.full((100, 2), 0.4), "macro-recall"), 6)
    1.2
    """
    truth, guess = _check_pair(probabilities, estimates)
    n, m = truth.shape
    sums = _sums_against(truth, guess, as_utility(utility, priors), k)
    quadratic_mean = math.sqrt(float(np.mean(sums**2)))
    difference = _difference(truth, guess)
    distances = np.sqrt(difference.multiply(difference).sum(axis=1))
    return float(m / math.sqrt(n) * quadratic_mean + 2 * math.sqrt(m) / n * quadratic_mean * distances.sum())


def summed_regret_bound(
    probabilities: Any, estimates: Any, utility: Utility | str, *, priors: Any = None, k: float = 1
) -> float:
    r"""The regret bound without its last step, summed label by label; never larger than :func:`regret_bound`.

    .. math:: \frac1{\sqrt n} \sum_j (T_j + P_j) + \frac2n \sum_j (T_j + P_j) \sum_i |\eta_{ij} - \hat\eta_{ij}|

    which is twice the :func:`approximation_bound` and twice the :func:`misspecification_bound` (paper, appendix, lemma
    on the regret of the approximation).

    Parameters
    ----------
    probabilities, estimates, utility, priors, k
        As for :func:`regret_bound`.

    Examples
    --------
    >>> import numpy as np
    >>> from tailwise.expectations.regret_bounds import summed_regret_bound
    >>> round(summed_regret_bound(np.full((100, 2), 0.5), np.full((100, 2), 0.4), "macro-recall"), 6)
    1.2
    """
    truth, guess = _check_pair(probabilities, estimates)
    utility = as_utility(utility, priors)
    return 2 * (approximation_bound(truth, utility, k=k) + misspecification_bound(truth, guess, utility, k=k))


def exact_regret_bound(
    probabilities: Any, estimates: Any, utility: Utility | str, *, priors: Any = None, k: float = 1
) -> float:
    r"""Bound the loss, in exact expected utility, of the selection that is best for estimates by the exact expectation.

    .. math:: \frac1{\sqrt n} \sum_j (T_j + P_j + \hat T_j + \hat P_j)
              + \frac2n \sum_j (T_j + P_j) \sum_i |\eta_{ij} - \hat\eta_{ij}|

    with :math:`\hat T_j, \hat P_j` at the estimated :math:`\sum_i \hat\eta_{ij}` (paper, appendix, regret of the
    unapproximated utility). It is larger because its proof goes through the semi-empirical value; with true
    probabilities the loss is 0.

    Parameters
    ----------
    probabilities, estimates, utility, priors, k
        As for :func:`regret_bound`.

    Examples
    --------
    >>> import numpy as np
    >>> from tailwise.expectations.regret_bounds import exact_regret_bound
    >>> round(exact_regret_bound(np.full((100, 2), 0.5), np.full((100, 2), 0.4), "macro-recall"), 6)
    1.7
    """
    truth, guess = _check_pair(probabilities, estimates)
    utility = as_utility(utility, priors)
    approximations = approximation_bound(truth, utility, k=k) + approximation_bound(guess, utility, k=k)
    return 2 * (approximations + misspecification_bound(truth, guess, utility, k=k))


def _constants_of(term: SingleUtility, batch: Batch) -> tuple[NDArray, NDArray, NDArray]:
    """T, Q and P of a utility that is not a mixture."""
    weights = term.weights_in(batch)
    if weights is not None:
        plain = copy.copy(term)
        plain.weights = None
        on_t, on_q, on_p = _constants_of(plain, batch)
        return weights * on_t, weights * on_q, weights * on_p
    if isinstance(term, InstanceWise):
        return _of_instance_wise(term, batch)
    share = batch.condition_positives / batch.n_instances
    for kind, constants in _MACRO.items():
        if isinstance(term, kind):
            on_t, on_q, on_p = constants(share, term)
            return on_t / batch.n_labels, on_q / batch.n_labels, on_p / batch.n_labels
    reason = _NOT_LIPSCHITZ.get(type(term), "the slopes of a user-defined formula are unknown")
    msg = (
        f"utility must be p-Lipschitz to have this bound. Got {term}: {reason}. Compute its exact expectation instead."
    )
    raise UtilityError(msg)


def _of_instance_wise(term: InstanceWise, batch: Batch) -> tuple[NDArray, NDArray, NDArray]:
    """Linear: the absolute slopes of w00 tn + w01 fp + w10 fn + w11 tp."""
    n = batch.n_instances
    coefficients = term.coefficients(batch)
    w00, _, w10, _ = term.outcome_weights(batch)
    on_p = np.broadcast_to(np.abs(np.subtract(w10, w00, dtype=np.float64)), batch.n_labels)
    return n * np.abs(coefficients.on_t), n * np.abs(coefficients.on_q), on_p


def _of_recall(r: NDArray, term: Any) -> tuple[NDArray, NDArray, NDArray]:
    """The ratio t/p."""
    return 1 / r, np.zeros_like(r), 1 / r


def _of_f_beta(r: NDArray, term: Any) -> tuple[NDArray, NDArray, NDArray]:
    """With b = beta², A = b p + q >= b p: psi - psi' = (1 + b)(t - t')/A + psi' (A' - A)/A, psi' <= 1.

    There |A - A'| <= b |p - p'| + |q - q'|.
    """
    b = term.beta**2
    return (1 + b) / (b * r), 1 / (b * r), 1 / r


def _of_jaccard(r: NDArray, term: Any) -> tuple[NDArray, NDArray, NDArray]:
    """The ratio t/A with A = p + q - t >= p and |A - A'| <= |t - t'| + |q - q'| + |p - p'|."""
    return 2 / r, 1 / r, 1 / r


def _of_both_rates(r: NDArray, scale: float) -> tuple[NDArray, NDArray, NDArray]:
    """A utility that changes by at most scale (|tpr - tpr'| + |fpr - fpr'|).

    tpr = t/p is recall; fpr = (q - t)/(1 - p) is a ratio whose parts change with t and q, and with p.
    """
    on_t = scale * (1 / r + 1 / (1 - r))
    return on_t, scale / (1 - r), on_t


# Balanced accuracy is (tpr + 1 - fpr)/2. AUC is 1 - fpr (1 - tpr), a product of factors within [0, 1]. H-mean is
# 2 tpr tnr / (tpr + tnr) with tnr = 1 - fpr, and its slopes 2 tnr²/(tpr + tnr)² and 2 tpr²/(tpr + tnr)² are at most 2.
_MACRO = {
    macro.MacroRecall: _of_recall,
    macro.MacroFBeta: _of_f_beta,
    macro.MacroJaccard: _of_jaccard,
    macro.MacroBalancedAccuracy: lambda r, term: _of_both_rates(r, 0.5),
    macro.MacroAUC: lambda r, term: _of_both_rates(r, 1.0),
    macro.MacroHMean: lambda r, term: _of_both_rates(r, 2.0),
}


def _sums(p: NDArray, n_instances: int, utility: Utility, k: float) -> NDArray:
    """T + P of each label at its p."""
    constants = lipschitz_constants(utility, p, n_instances, k=k)
    return constants.on_t + constants.on_p


def _sums_against(truth: Candidates, guess: Candidates, utility: Utility, k: float) -> NDArray:
    """T + P of each label at its p; for a certain label, at its estimated p, or 0 if that is the same."""
    n, p, estimated = truth.n_instances, truth.condition_positives(), guess.condition_positives()
    sums, others = _sums(p, n, utility, k), _sums(estimated, n, utility, k)
    return np.where(_is_certain(p, n), np.where(p == estimated, 0.0, others), sums)


def _is_certain(p: NDArray, n_instances: int) -> NDArray:
    """Whether all probabilities of a label are 0, or all are 1."""
    return (p == 0) | (p == n_instances)


def _difference(truth: Candidates, guess: Candidates) -> Any:
    return truth.to_csr().astype(np.float64) - guess.to_csr().astype(np.float64)


def _check_pair(probabilities: Any, estimates: Any) -> tuple[Candidates, Candidates]:
    truth, guess = Candidates.of(probabilities), Candidates.of(estimates)
    if guess.shape != truth.shape:
        msg = (
            "estimates must have the same instances and labels as probabilities, "
            f"{truth.n_instances} and {truth.n_labels}. Got {guess.n_instances} and {guess.n_labels}."
        )
        raise InputError(msg)
    return truth, guess
