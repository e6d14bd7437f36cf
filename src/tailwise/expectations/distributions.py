"""The expectation of any formula, exact up to an error that is stated: a dynamic program over the positives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import scipy.sparse as sp

from tailwise.errors import InputError
from tailwise.expectations.terms import make_terms
from tailwise.inputs.chosen import EMPTY
from tailwise.kernels import poisson_binomial as kernels
from tailwise.kernels.rows import find_positions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tailwise.expectations.terms import Weighted
    from tailwise.inputs.candidates import Candidates
    from tailwise.inputs.chosen import Chosen
    from tailwise.inputs.totals import Totals
    from tailwise.utilities.utility import Batch

__all__ = ["Splitter", "count_predicted", "expect_by_probabilities", "mark_chosen"]

# A smaller difference between the positives given and those of the candidates is rounding.
SMALLEST_EXTRA = 1e-9


class Splitter(Protocol):
    """Whoever shares work between threads, like :class:`tailwise.engines.Threads`."""

    def split(self, size: int, task: Callable[[int, int], object]) -> None:
        """Call ``task(first, last)`` for parts of ``range(size)``, and wait for all of them."""


def expect_by_probabilities(
    parts: Sequence[Weighted],
    candidates: Candidates,
    chosen: Chosen,
    batch: Batch,
    context: Totals,
    *,
    tolerance: float = 1e-10,
    threads: Splitter | None = None,
) -> tuple[NDArray, NDArray]:
    r"""The exact expectation of formulas, label by label.

    With :math:`T_j` the positives of label j among the instances :math:`S_j` it is chosen for, :math:`R_j` those among
    the others, :math:`q_j = |S_j|` and factors :math:`c_f`,

    .. math:: E_j = \frac1m \sum_f c_f w_{fj} \sum_{a, b} P(T_j = a)\, P(R_j = b)\, \psi_f(a, q_j, a + b).

    Both counts are sums of independent Bernoulli variables. Where the batch has more positives of a label than its
    candidates expect, the rest joins :math:`R_j` as a Poisson variable; expected hits and misses of what was decided
    elsewhere join as Poisson variables, too, and observed ones as constants. Each distribution is kept where all but
    ``tolerance`` of it lies on each side; the mass left out is not made up for, but bounds the error.

    Parameters
    ----------
    parts : sequence of (float, SingleUtility)
        The factors c_f, and utilities that have a formula psi_f.
    candidates : Candidates
        Probabilities of shape (n, m).
    chosen : Chosen
        The selection; a label that is no candidate of its instance counts in q, with probability 0.
    batch : Batch
        Its ``condition_positives`` are the expected positives of each label, candidates and others.
    context : Totals
        What was decided elsewhere.
    tolerance : float
        Probability that may be left out, on each side of each distribution.
    threads : Splitter, optional
        Threads that share the labels. The result does not depend on them.

    Returns
    -------
    expected : ndarray of shape (m,)
        The expectation for each label.
    errors : ndarray of shape (m,)
        How far it may be from the truth: the mass left out, and what rounding may take, times the largest absolute psi
        met. Met are all pairs that are kept, and those where T and R are both as small or large as can be.

    Notes
    -----
    A label with c candidates whose distributions have standard deviations s and r takes O(c (s + r) + s r) steps.

    Examples
    --------
    >>> import numpy as np
    >>> from tailwise.inputs.candidates import Candidates
    >>> from tailwise.inputs.chosen import Chosen
    >>> from tailwise.expectations.distributions import expect_by_probabilities
    >>> from tailwise.inputs.totals import Totals
    >>> from tailwise.utilities import MacroF1
    >>> from tailwise.utilities.utility import Batch
    >>> candidates = Candidates.of(np.array([[0.5, 0.0], [0.5, 0.2]]))
    >>> chosen = Chosen.of(np.array([[0], [1]]), n_labels=2)
    >>> batch = Batch(2, 2, 2, candidates.condition_positives())
    >>> expected, errors = expect_by_probabilities([(2.0, MacroF1())], candidates, chosen, batch, Totals.nothing(2))
    >>> expected.round(6)  # of label 0: 1/4 for both positive, 2/3, and 1/4 for the first alone, 1
    array([0.416667, 0.2     ])
    >>> bool(errors.max() < 1e-9)
    True
    """
    _check_tolerance(tolerance)
    columns = _read_columns(candidates, chosen, batch, context)
    terms, _ = make_terms(parts, batch)
    expected, errors = np.zeros(candidates.n_labels), np.zeros(candidates.n_labels)

    def expect(first: int, last: int) -> None:
        kernels.expect_labels(columns, terms, float(tolerance), first, last, expected, errors)

    if threads is None:
        expect(0, candidates.n_labels)
    else:
        threads.split(candidates.n_labels, expect)
    return expected, errors


def mark_chosen(candidates: Candidates, chosen: Chosen) -> NDArray:
    """Whether each entry of the candidates is chosen, (nnz,) in the order of the rows."""
    if chosen.shape != candidates.shape:
        msg = (
            f"selection must have the {candidates.n_instances} instances and {candidates.n_labels} labels of the "
            f"probabilities. Got {chosen.n_instances} instances and {chosen.n_labels} labels."
        )
        raise InputError(msg)
    positions = np.empty_like(chosen.labels)
    find_positions(candidates.rows, chosen.labels, positions)
    marks = np.zeros(candidates.n_entries, dtype=bool)
    marks[(candidates.rows.indptr[:-1, None] + positions)[positions >= 0]] = True
    return marks


def count_predicted(chosen: Chosen) -> NDArray:
    """For how many instances each label is chosen, (m,)."""
    return np.bincount(chosen.labels[chosen.labels != EMPTY], minlength=chosen.n_labels)


def _read_columns(candidates: Candidates, chosen: Chosen, batch: Batch, context: Totals) -> kernels.Columns:
    rows = candidates.to_csr()
    marks = sp.csr_array((mark_chosen(candidates, chosen), rows.indices, rows.indptr), shape=rows.shape)
    columns = rows.tocsc()
    extra = batch.condition_positives - candidates.condition_positives() - context.known_p
    hits = np.maximum(0.0, context.t - context.known_t)
    rates = np.stack([hits, np.where(extra - hits < SMALLEST_EXTRA, 0.0, extra - hits)], axis=1)
    return kernels.Columns(
        columns.indptr.astype(np.int64),
        columns.data,
        marks.tocsc().data,  # in the same order, as it has the same entries
        count_predicted(chosen) + context.q,
        rates,
        np.stack([context.known_t, context.known_p - context.known_t], axis=1),
    )


def _check_tolerance(tolerance: float) -> None:
    if not (isinstance(tolerance, (int, float, np.number)) and 0 <= tolerance < 1):
        msg = f"tolerance must be a number of at least 0 and below 1. Got {tolerance!r}."
        raise InputError(msg)
