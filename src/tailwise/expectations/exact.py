"""The exact expected utility: E[psi], not psi of the expectations."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import gammaln, xlogy

from tailwise.expectations.semi_empirical import NO_LABELS, NO_QUADRATURE, SemiEmpirical
from tailwise.expectations.worth import list_blocks
from tailwise.kernels import label_state as kernels
from tailwise.kernels import nodes as nodes
from tailwise.kernels.laws import Laws, count_laws
from tailwise.kernels.rows import sum_by_label
from tailwise.utilities.macro import (
    Coverage,
    MacroBalancedAccuracy,
    MacroFBeta,
    MacroJaccard,
    MacroRecall,
)
from tailwise.utilities.utility import Mixture

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.inputs.candidates import Candidates
    from tailwise.utilities.utility import Batch, SingleUtility, Utility

__all__ = ["Exact", "supports_exact"]

# Gauss-Laguerre nodes for s = exp(-v / c), and the share of the integrand's decay that c should be: with these,
# relative errors stay below 1e-6 from one to thousands of candidates (docs/benchmarks.md).
N_NODES, N_PRODUCT_NODES = 16, 24
SHARE, PRODUCT_SHARE = 0.7, 0.5
# Labels whose nodes are placed at a time, so that no large arrays are needed on the way.
LABELS_AT_ONCE = 8_192
# Labels with more expected positives have no laws. Less than 1e-9 of the laws of the others lies beyond the width.
MOST_EXPECTED, LAW_WIDTH = 8.0, 32


class _Columns(NamedTuple):
    """Nodes of one term: arrays of shape (m, R); the weights without the generating function."""

    decay: NDArray
    base: NDArray
    weight: NDArray


class Exact(SemiEmpirical):
    r"""The expected utility of a selection on one batch, labels of different instances being independent.

    With the generating function :math:`G(s) = E[s^P] = \prod_i (1 - \eta_i (1 - s))` of a label's positives,

    .. math::
        E[\text{recall}] &= \sum_{i \in S} \eta_i \int_0^1 \frac{G(s)}{1 - \eta_i (1 - s)}\, ds \\
        E[F_\beta] &= (1 + \beta^2) \sum_{i \in S} \eta_i
            \int_0^1 s^{q + \beta^2 - 1} \frac{G(s^{\beta^2})}{1 - \eta_i (1 - s^{\beta^2})}\, ds \\
        E[\text{Jaccard}] &= t \int_0^1 s^{q - 1} \frac{G(s)}{\prod_{i \in S} (1 - \eta_i (1 - s))}\, ds

    and likewise balanced accuracy with the negatives; what is linear in the labels and coverage are exact already. The
    integrals are sums over a few nodes, so a gain costs O(nodes).

    Any other formula (G-mean, H-mean, AUC, a user's) is expected over the Poisson-binomial laws of hits and misses, for
    labels with at most 8 expected positives; for more frequent ones, where the two hardly differ, the formula is filled
    with the expected counts. ``expected_utility`` takes the laws of all labels.

    Positives outside the candidates, where ``condition_positives`` says there are more than the probabilities sum to,
    are taken as independent of the rest and Poisson distributed; among the negatives they count at their mean.
    """

    name = "exact"
    # Nodes are placed for the present q, which moves more than rounding does.
    passes_per_count = 8

    def __init__(self, utility: Utility, candidates: Candidates, batch: Batch) -> None:
        self._terms = [(factor, term) for factor, term in utility.terms if _has_quadrature(term)]
        self.uses_laws = not supports_exact(utility)
        plain = Mixture([(factor, term) for factor, term in utility.terms if not _has_quadrature(term)])
        self._p = batch.condition_positives
        self._extra = np.maximum(0.0, self._p - candidates.condition_positives())
        super().__init__(plain, candidates, batch)
        if self._terms:
            largest = np.zeros(candidates.n_labels)
            nodes.find_largest(candidates.rows.labels, candidates.rows.values, largest)
            self._largest = largest
            self._constant += self._specificity_constant()

    @property
    def is_linear(self) -> bool:
        return super().is_linear and all(
            isinstance(term, (MacroRecall, MacroBalancedAccuracy)) for _, term in self._terms
        )

    @property
    def uses_quadrature(self) -> bool:  # type: ignore[override]
        return bool(self._terms)

    @property
    def is_dear(self) -> bool:  # type: ignore[override]
        return self.uses_quadrature or self.uses_laws

    def count(self, positions: NDArray, others: NDArray = NO_LABELS) -> None:
        rows, m = self.candidates.rows, self.candidates.n_labels
        selected = (rows.indptr[:-1, None] + positions)[positions >= 0]
        q = np.bincount(rows.labels[selected], minlength=m) + np.bincount(others, minlength=m)
        self._place_nodes(positions, q)
        super().count(positions, others)

    def _make_laws(self, positions: NDArray) -> Laws:
        """The laws of hits and misses of every label with few expected positives."""
        rows = self.candidates.rows
        is_short = self._p <= MOST_EXPECTED
        slots = np.where(is_short, np.cumsum(is_short) - 1, -1).astype(np.int32)
        probabilities = np.zeros((int(is_short.sum()), 2, LAW_WIDTH))
        probabilities[:, 0, 0] = 1.0
        counts, mean = np.arange(LAW_WIDTH), self._extra[is_short, None]
        probabilities[:, 1] = np.exp(
            xlogy(counts, mean) - mean - gammaln(counts + 1)
        )  # Poisson; scipy.stats loads slowly
        laws = Laws(slots, probabilities)
        is_chosen = np.zeros(rows.labels.size, dtype=np.bool_)
        is_chosen[(rows.indptr[:-1, None] + positions)[positions >= 0]] = True
        count_laws(rows, is_chosen, laws)
        return laws

    def prepare(self, q: NDArray) -> None:
        """Nothing selected yet, but nodes placed for labels that will be selected about q times."""
        nothing = np.full((self.candidates.n_instances, 1), -1, dtype=np.int32)
        self._place_nodes(nothing, q)
        super().count(nothing)

    def _place_nodes(self, positions: NDArray, q: NDArray) -> None:
        """Choose nodes for q, and sum the selected instances up at them."""
        if self._terms:
            self.objective = self.objective._replace(quadrature=NO_QUADRATURE)  # frees the one before
            # At least one: a label that is not selected yet may be soon.
            quadrature = self._make_quadrature(np.maximum(1.0, q))
            nodes.count_exactly(self.candidates.rows, positions, quadrature)
            self.objective = self.objective._replace(quadrature=quadrature)
        if self.uses_laws:
            self.objective = self.objective._replace(laws=self._make_laws(positions))

    def expected(self) -> float:
        value = super().expected()
        if not self._terms:
            return value
        linear, product = self.objective.quadrature.linear, self.objective.quadrature.product
        value += float((linear[:, nodes.WEIGHT] * linear[:, nodes.SUM]).sum(axis=1).sum())
        t = self.objective.totals[:, kernels.T]
        return value + float((t * product[:, nodes.PRODUCT].sum(axis=1)).sum())

    def _make_blocks(self) -> tuple[NDArray, nodes.Quadrature]:
        if not self._terms:
            return super()._make_blocks()
        blocks, labels, q = list_blocks(np.diff(self.columns.indptr))
        quadrature = self._place(labels, q, nodes.SUM)  # what comes before SUM: sets are summed up as they come
        nodes.multiply_columns(self.columns, labels, quadrature)
        return blocks, quadrature

    def _make_quadrature(self, q: NDArray) -> nodes.Quadrature:
        quadrature = self._place(np.arange(q.size), q, nodes.SUM + 1)
        nodes.multiply_generating(self.candidates.rows, quadrature)
        return quadrature

    def _place(self, labels: NDArray, q: NDArray, n_rows: int) -> nodes.Quadrature:
        """Nodes of labels; the generating function of their candidates is still to be multiplied in."""
        plain, negative, product = self._count_nodes()
        size = labels.size
        quadrature = nodes.Quadrature(
            np.zeros((size, n_rows, plain + negative)), np.zeros((size, 2, product)), self._largest, plain
        )
        for first in range(0, size, LABELS_AT_ONCE):
            rows = slice(first, first + LABELS_AT_ONCE)
            self._fill(quadrature, rows, labels[rows], q[rows])
        return quadrature

    def _count_nodes(self) -> tuple[int, int, int]:
        """How many nodes of each form the terms have: of positives, of negatives, of products."""
        n_products = sum(isinstance(term, MacroJaccard) for _, term in self._terms)
        n_negatives = sum(isinstance(term, MacroBalancedAccuracy) for _, term in self._terms)
        n_plain = len(self._terms) - n_products
        return n_plain * N_NODES, n_negatives * N_NODES, n_products * N_PRODUCT_NODES

    def _fill(self, quadrature: nodes.Quadrature, rows: slice, labels: NDArray, q: NDArray) -> None:
        """Some rows of the quadrature: those of `labels`."""
        plain, negative, product = 0, quadrature.n_plain, 0
        for factor, term in self._terms:
            factor /= self.batch.n_labels
            if isinstance(term, MacroJaccard):
                columns = self._jaccard_columns(factor, labels, q)
                place = quadrature.product[rows, :, product : product + N_PRODUCT_NODES]
                place[:, nodes.DECAY], place[:, nodes.PRODUCT] = columns.decay, columns.weight
                product += N_PRODUCT_NODES
                continue
            _put(quadrature.linear, rows, plain, self._positive_columns(factor, term, labels, q))
            plain += N_NODES
            if isinstance(term, MacroBalancedAccuracy):
                _put(quadrature.linear, rows, negative, self._negative_columns(factor / 2, labels))
                negative += N_NODES

    def _positive_columns(self, factor: float, term: SingleUtility, labels: NDArray, q: NDArray) -> _Columns:
        p = self._p[labels]
        if isinstance(term, MacroFBeta):
            b2 = term.beta**2
            weights, s = _nodes(N_NODES, SHARE * (q + b2 * (p + 1)))
            return _Columns(s, s**b2, factor * (1 + b2) * weights * s**b2 * self._outside(s**b2, labels))
        half = 0.5 if isinstance(term, MacroBalancedAccuracy) else 1.0
        weights, s = _nodes(N_NODES, SHARE * (p + 1))
        return _Columns(np.ones_like(s), s, factor * half * weights * s * self._outside(s, labels))

    def _negative_columns(self, factor: float, labels: NDArray) -> _Columns:
        """Balanced accuracy counts a false positive as one over the negatives, of which most are no candidates."""
        n = self.batch.n_instances
        n_others = np.maximum(0.0, n - self._n_candidates[labels] - self._extra[labels])
        weights, s = _nodes(N_NODES, SHARE * (np.maximum(0.0, n - self._p[labels]) + 1))
        return _Columns(np.ones_like(s), s, -factor * weights * s ** (1 + n_others[:, None]))

    def _jaccard_columns(self, factor: float, labels: NDArray, q: NDArray) -> _Columns:
        weights, s = _nodes(N_PRODUCT_NODES, PRODUCT_SHARE * (q + self._p[labels] + 1))
        return _Columns(s, s, factor * weights * self._outside(s, labels))

    def _outside(self, base: NDArray, labels: NDArray) -> NDArray:
        """The generating function of the positives outside the candidates, which are Poisson distributed."""
        return np.exp(-self._extra[labels, None] * (1 - base))

    @cached_property
    def _n_candidates(self) -> NDArray:
        counts, labels = np.zeros(self.candidates.n_labels), self.candidates.rows.labels
        sum_by_label(labels, np.broadcast_to(np.float32(1.0), labels.shape), counts)
        return counts

    def _specificity_constant(self) -> float:
        """Balanced accuracy of a label with nothing selected: one half, unless there may be no negatives at all."""
        factor = sum(factor for factor, term in self._terms if isinstance(term, MacroBalancedAccuracy))
        if factor == 0.0:
            return 0.0
        has_negatives = np.ones(self.batch.n_labels)
        full = self._n_candidates == self.batch.n_instances
        if full.any():
            certain = self.candidates.to_csr()[:, full]
            has_negatives[full] = [1 - certain[:, [j]].data.prod(dtype=np.float64) for j in range(certain.shape[1])]
        return factor / 2 * float(has_negatives.mean())


def supports_exact(utility: Utility) -> bool:
    """Whether every part of a utility has an exact expectation that costs little more than the semi-empirical."""
    return all(_is_exact_already(term) or _has_quadrature(term) for _, term in utility.terms)


def _has_quadrature(term: SingleUtility) -> bool:
    return isinstance(term, (MacroFBeta, MacroRecall, MacroBalancedAccuracy, MacroJaccard))


def _is_exact_already(term: SingleUtility) -> bool:
    return term.linear_in_labels or isinstance(term, Coverage)


def _nodes(count: int, decay: NDArray) -> tuple[NDArray, NDArray]:
    """Weights (m, R) and s = exp(-v / c) for integrals of ds / s over [0, 1], c being the decay of each label."""
    v, weights = np.polynomial.laguerre.laggauss(count)
    return weights * np.exp(v) / decay[:, None], np.exp(-v / decay[:, None])


def _put(linear: NDArray, rows: slice, first: int, columns: _Columns) -> None:
    place = linear[rows, :, first : first + N_NODES]
    place[:, nodes.DECAY], place[:, nodes.BASE], place[:, nodes.WEIGHT] = columns
