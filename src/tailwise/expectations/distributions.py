"""The expectation of any formula, exact up to a known error, by a dynamic program over the positives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tailwise.errors import InputError
from tailwise.expectations.terms import Weighted, locate, make_terms
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.chosen import EMPTY, Chosen
from tailwise.inputs.totals import Totals
from tailwise.kernels import poisson_binomial as kernels
from tailwise.utilities.utility import Batch

# Smaller differences between the given positives and those of the candidates are rounding errors.
SMALLEST_EXTRA = 1e-9
# Probability that may be left out on each side of a distribution.
TOLERANCE = 1e-10


def expect_by_probabilities(
    parts: Sequence[Weighted], candidates: Candidates, chosen: Chosen, batch: Batch, context: Totals
) -> tuple[NDArray, NDArray]:
    r"""Return the exact expectation of formulas for each label, and a bound on the error of each; both (m,).

    With :math:`T_j` the positives of label j among the instances :math:`S_j` it is chosen for, :math:`R_j` those among
    the others, :math:`q_j = |S_j|` and factors :math:`c_f`,

    .. math:: E_j = \frac1m \sum_f c_f w_{fj} \sum_{a, b} P(T_j = a)\, P(R_j = b)\, \psi_f(a, q_j, a + b).

    Both counts are sums of independent Bernoulli variables. If the batch has more positives of a label than its
    candidates imply, the rest is added to :math:`R_j` as a Poisson variable. Expected hits and misses of the context
    are also added as Poisson variables, and observed ones as constants. A chosen label that is not a candidate counts
    in q, with probability 0.

    Each distribution is truncated on both sides, leaving out at most ``TOLERANCE`` of its mass on each, without
    renormalising. The mass left out plus possible rounding, times the largest absolute psi that occurs, bounds the
    error. A label with c candidates whose distributions have standard deviations s and r takes O(c (s + r) + s r)
    steps.
    """
    columns = _read_columns(candidates, chosen, batch, context)
    terms, _ = make_terms(parts, batch)
    expected, errors = np.zeros(candidates.n_labels), np.zeros(candidates.n_labels)
    kernels.expect_labels(columns, terms, TOLERANCE, 0, candidates.n_labels, expected, errors)
    return expected, errors


def mark_chosen(candidates: Candidates, chosen: Chosen) -> NDArray:
    """Whether each entry of the candidates is chosen, (nnz,) in the order of the rows."""
    if chosen.shape != candidates.shape:
        msg = (
            f"selection must have the {candidates.n_instances} instances and {candidates.n_labels} labels of the "
            f"probabilities. Got {chosen.n_instances} instances and {chosen.n_labels} labels."
        )
        raise InputError(msg)
    positions, _ = locate(chosen, candidates)
    marks = np.zeros(candidates.n_entries, dtype=bool)
    marks[(candidates.rows.indptr[:-1, None] + positions)[positions >= 0]] = True
    return marks


def count_predicted(chosen: Chosen) -> NDArray:
    """Count the instances that each label is chosen for, (m,)."""
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
