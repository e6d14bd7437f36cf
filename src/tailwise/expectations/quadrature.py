r"""Nodes of the integrals behind exact expectations: where they are placed, and their weights.

With the generating function :math:`G(s) = E[s^P] = \prod_i (1 - \eta_i (1 - s))` of a label's positives,
:math:`E[1/(c + X)] = \int_0^1 s^{c-1} E[s^X]\, ds` turns the expectation of a ratio into an integral over products.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailwise.engines import Engine, Threads
from tailwise.expectations.terms import Weighted
from tailwise.inputs.candidates import ByLabel, Candidates
from tailwise.inputs.totals import Totals
from tailwise.kernels import nodes as kernels
from tailwise.kernels.rows import Rows
from tailwise.utilities.utility import Batch, Ratio

# Gauss-Laguerre nodes for s = exp(-v / c), and c as a share of the integrand's decay: with these,
# relative errors stay below 1e-6 from one to thousands of candidates (docs/benchmarks.md).
N_NODES, N_PRODUCT_NODES = 16, 24
SHARE, PRODUCT_SHARE = 0.7, 0.5
# Labels whose nodes are placed at a time, so that no large arrays are needed on the way.
LABELS_AT_ONCE = 512
LABELS_COMPARED = 1 << 14
# Nodes are exact if q + p + 1 is within this factor of the value that they were placed for.
REACH = 2.0
# Fewer negatives outside the candidates than this are a rounding error of 0.
FEW_OTHERS = 1e-9
# Relative errors of a sum over nodes below this are rounding errors.
ROUNDING = 1e-12
# s at the additional node of hits in the context, at which a generating function is P(no other positives).
NEARLY_ZERO = 1e-100
NO_PLACES = np.empty(0, dtype=np.int32)


class _ContextPart(NamedTuple):
    """The context of some labels, (labels, 1): expected and observed hits, q, known positives."""

    hits: NDArray
    known_hits: NDArray
    q: NDArray
    known_p: NDArray


class _Rule(NamedTuple):
    """Nodes s = exp(-v / c), c being the decay of each label, and weights for integrals of ds / s; (labels, R)."""

    weights: NDArray
    s: NDArray

    def shortfall(self, power: NDArray) -> NDArray:
        """How much the sum over the nodes falls short of the integral of s^power ds / s, which is 1 / power.

        All derivatives of even order are positive, so the sum is never too large. It misses nearly everything if the
        power is small, and nothing if it is near the decay.
        """
        exact = 1 / power
        missed = exact - (self.weights * self.s**power).sum(axis=1, keepdims=True)
        return np.where(missed > ROUNDING * exact, missed, 0.0)


class _Sizes(NamedTuple):
    """What placing nodes reads of the candidates."""

    by_label: ByLabel


class _Columns(NamedTuple):
    """Nodes of one ratio: arrays of shape (labels, R); weights without the generating function of the candidates."""

    decay: NDArray
    base: NDArray
    weight: NDArray
    total: NDArray  # the sum of phi in the context

    def beside(self, others: _Columns) -> _Columns:
        return _Columns(*(np.hstack(pair) for pair in zip(self, others, strict=True)))


class Quadrature:
    """The nodes of all ratios of a utility.

    The context enters as a generating function of its own: expected hits and misses as Poisson variables, observed ones
    as constants. Among negatives, both count with their mean. Hits in the context have one additional node: if totals
    count in part, their integrand can decay too slowly for the others.
    """

    def __init__(
        self, parts: Sequence[Weighted], candidates: Candidates, batch: Batch, context: Totals, engine: Engine
    ) -> None:
        self._candidates, self._batch, self._context, self._engine = candidates, batch, context, engine
        m = batch.n_labels
        self._ratios = [
            (factor / m * (np.ones(1) if weights is None else weights), ratio)
            for factor, term in parts
            for weights in [term.weights_in(batch)]
            for ratio in term.ratios
        ]
        self._p = batch.condition_positives
        own = candidates.sum_up()
        # Positives that are neither candidates nor observed are Poisson distributed.
        rate = np.maximum(0.0, self._p - own - context.known_p)
        self._rate = rate if rate.any() else np.broadcast_to(0.0, m)  # in nearly all calls, without memory
        self._n_nodes = {
            "hits": N_NODES + bool(context.known_t.any()),
            "false-positives": N_NODES,
            "jaccard": N_PRODUCT_NODES + bool(context.t.any()),
        }
        # As for F1, whose integrands decay alike in q and p; the additional node of known hits has a base of its own.
        self._bases_are_decays = self._n_nodes["hits"] == N_NODES and all(
            ratio.on_q == ratio.on_p and ratio.kind != "false-positives" for _, ratio in self._ratios
        )

    def __getstate__(self) -> dict[str, Any]:
        """For another process, which only places nodes: of the candidates, nothing but the sizes of the labels."""
        by_label = ByLabel(np.empty(0), self._candidates.by_label.sizes)
        return {**vars(self), "_candidates": _Sizes(by_label), "_engine": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _engine=Threads(1))

    @property
    def depends_on_selection(self) -> bool:
        """Whether a gain depends on what else is selected."""
        return any(ratio.on_q > 0 or ratio.kind == "jaccard" for _, ratio in self._ratios)

    def least_decay(self, labels: slice = slice(None)) -> NDArray:
        """What the decay of every integrand that depends on q is at q = 0, at least, if q counts as 1."""
        shares = [ratio.on_p / ratio.on_q for _, ratio in self._ratios if ratio.on_q > 0]
        return min([1.0, *shares]) * (self._p[labels] + 1)

    def number_places(self) -> NDArray:
        """The place of each label's nodes, label by label: -1 where nothing that is selected can make them count."""
        if self._count("false-positives"):  # of which every label has some that is selected
            return np.arange(self._p.size, dtype=np.int32)
        is_placed = (self._candidates.by_label.sizes > 0) | (self._context.t > 0)
        return np.where(is_placed, np.cumsum(is_placed, dtype=np.int32) - 1, -1).astype(np.int32, copy=False)

    def place(
        self, labels: NDArray, q: NDArray, *, has_sum: bool = True, at_least: NDArray | None = None
    ) -> kernels.Nodes:
        """Place nodes for labels that are selected q times in total, with nothing selected in the batch yet.

        The generating function of the candidates still has to be multiplied in. For bounds, `at_least` is the smallest
        number of selections in the batch: known hits in the context lose what that many selections cost them.
        """
        plain, negative, product = (self._count(kind) for kind in ("hits", "false-positives", "jaccard"))
        n_rows = kernels.SUM + has_sum
        nodes = kernels.Nodes(
            np.zeros((labels.size, n_rows + (not self._bases_are_decays), plain + negative)),
            np.zeros((labels.size, 2, product)),
            self._candidates.by_label.largest,
            plain,
            kernels.DECAY if self._bases_are_decays else n_rows,
            NO_PLACES,
            np.empty(0),
            np.empty((0, 0)),
        )
        edges = [*range(0, labels.size, LABELS_AT_ONCE), labels.size]

        def fill(_: int, first: int, last: int) -> None:
            part = slice(first, last)
            self._fill(nodes, part, labels[part], q[part], None if at_least is None else at_least[part])

        self._engine.share(edges, fill)
        return nodes

    def fits(self, q: NDArray, placed_for: NDArray) -> NDArray:
        """Which labels may be selected q times, or soon once, with nodes that were placed for another number."""
        found = np.empty(q.size, dtype=np.bool_)
        for first in range(0, q.size, LABELS_COMPARED):
            part = slice(first, first + LABELS_COMPARED)
            shifts = self.least_decay(part)
            now, then = np.maximum(1.0, q[part]) + shifts, placed_for[part] + shifts
            found[part] = (now <= REACH * then) & (then <= REACH * now)
        return found

    def multiply(self, nodes: kernels.Nodes, is_wanted: NDArray) -> None:
        """Multiply the generating function of the candidates into the nodes of labels; (0,) for all."""
        rows, edges = self._candidates.rows, self._candidates.split_labels(self._engine.workers)
        if self._engine.is_elsewhere(rows.labels.size):
            self._multiply_on_cluster(nodes, is_wanted)
            return
        self._engine.share(
            edges, lambda _, first, last: kernels.multiply_generating(rows, nodes, is_wanted, first, last)
        )

    def _multiply_on_cluster(self, nodes: kernels.Nodes, is_wanted: NDArray) -> None:
        """Like `multiply`, on a cluster: only the nodes of the labels are sent, and the products are returned."""
        m = self._batch.n_labels
        labels = np.flatnonzero((nodes.places >= 0) & (is_wanted if is_wanted.size else True))
        shares = np.concatenate([[0], np.cumsum(self._candidates.by_label.sizes[labels])])
        pieces = [labels[first:last] for first, last in self._engine.cut(shares)]
        places = [nodes.places[each] for each in pieces]
        parts = [
            (m, each, nodes.linear[here], nodes.product[here], nodes.n_plain, nodes.base)
            for each, here in zip(pieces, places, strict=True)
        ]

        def put(number: int, found: tuple[NDArray, NDArray]) -> None:
            here = places[number]
            nodes.linear[here, kernels.WEIGHT], nodes.product[here, kernels.PRODUCT] = found

        self._engine.spread(multiply_nodes, self._candidates.rows, parts, put)

    def constant(self) -> float:
        """The specificity if nothing is selected in the batch."""
        factors = [ratio.factor * factor for factor, ratio in self._ratios if ratio.kind == "false-positives"]
        if not factors:
            return 0.0
        certain, elsewhere = self._has_negatives(), self._context_false_positives()
        return float(sum((factor * certain).sum() for factor in factors)) - elsewhere

    def _has_negatives(self) -> NDArray:
        """The probability that a label has negatives at all: 1, unless all instances are candidates."""
        has_negatives = np.ones(self._batch.n_labels)
        full = self._n_others() <= FEW_OTHERS
        if full.any():
            certain = self._candidates.to_csr()[:, full]
            has_negatives[full] = [1 - certain[:, [j]].data.prod(dtype=np.float64) for j in range(certain.shape[1])]
        return has_negatives

    def _context_false_positives(self) -> float:
        r"""The cost of the false positives f of the context: f E[1/(N + a)], where a negatives are certain.

        The integral of that is singular for a < 1, but :math:`1/(N + a) = (1 - N/(N + a)) / a`, and the last ratio is
        the sum over all candidates of the cost of a false positive.
        """
        false_positives, others = np.maximum(0.0, self._context.q - self._context.t), self._n_others()
        if not false_positives.any():
            return 0.0
        nodes = self.place(np.arange(others.size), np.ones(others.size))._replace(places=self.number_places())
        self.multiply(nodes, np.empty(0, dtype=np.bool_))
        kernels.count_candidates(self._candidates.rows, nodes)
        costs = nodes.linear[:, :, nodes.n_plain :]
        shares = -(costs[:, kernels.WEIGHT] * costs[:, kernels.SUM]).sum(axis=1)  # times the factors of all ratios
        factors = sum(r.factor * f * np.ones(others.size) for f, r in self._ratios if r.kind == "false-positives")
        per_negative = np.divide(false_positives, others, out=np.zeros_like(others), where=others > FEW_OTHERS)
        return float((per_negative * (factors - shares)).sum())

    def _count(self, kind: str) -> int:
        return sum(ratio.kind == kind for _, ratio in self._ratios) * self._n_nodes[kind]

    def _fill(self, nodes: kernels.Nodes, rows: slice, labels: NDArray, q: NDArray, at_least: NDArray | None) -> None:
        """Fill the rows of the nodes of `labels`."""
        plain, negative, product = 0, nodes.n_plain, 0
        for factors, ratio in self._ratios:
            factor = ratio.factor * (factors if factors.size == 1 else factors[labels, None])
            if ratio.kind == "jaccard":
                columns = self._of_jaccard(factor, labels, q)
                place = nodes.product[rows, :, product : product + columns.decay.shape[1]]
                place[:, kernels.DECAY], place[:, kernels.PRODUCT] = columns.decay, columns.weight
                product += self._n_nodes["jaccard"]
            elif ratio.kind == "hits":
                _put(nodes, rows, plain, self._of_hits(factor, ratio, labels, q, at_least))
                plain += self._n_nodes["hits"]
            else:
                _put(nodes, rows, negative, self._of_false_positives(factor, labels))
                negative += self._n_nodes["false-positives"]

    def _of_hits(
        self, factor: NDArray, ratio: Ratio, labels: NDArray, q: NDArray, at_least: NDArray | None
    ) -> _Columns:
        context = self._context_of(labels)
        rule = _place_rule(N_NODES, SHARE * (ratio.on_q * q + ratio.on_p * (self._p[labels] + 1)))
        decay, base = rule.s**ratio.on_q, rule.s**ratio.on_p
        total = context.hits + context.known_hits / base
        weight = factor * rule.weights * base * decay**context.q * self._outside(base, labels)
        columns = _Columns(decay, base, weight, total)
        if self._n_nodes["hits"] == N_NODES:
            return columns
        if at_least is None:
            return columns.beside(self._of_known_hits(rule, factor, ratio, labels, q))
        return columns.beside(self._lost_by_known_hits(rule, factor, ratio, labels, at_least))

    def _lost_by_known_hits(
        self, rule: _Rule, factor: NDArray, ratio: Ratio, labels: NDArray, at_least: NDArray
    ) -> _Columns:
        """A node that any selection sets to 0, for what the rule misses of the cost of the first `at_least`."""
        context = self._context_of(labels)
        power = np.where(context.known_hits > 0, ratio.on_q * context.q + ratio.on_p * context.known_p, np.inf)
        lost = rule.shortfall(power) - rule.shortfall(power + ratio.on_q * at_least[:, None])
        base = np.full_like(lost, NEARLY_ZERO)
        weight = factor * lost * np.exp(-self._rate[labels, None]) * base
        return _Columns(base, base, weight, context.known_hits / base)

    def _of_known_hits(self, rule: _Rule, factor: NDArray, ratio: Ratio, labels: NDArray, q: NDArray) -> _Columns:
        """A node for the part that the rule misses if only the known positives come true; exact at q - 1 and q."""
        context = self._context_of(labels)
        q_before = q[:, None] - 1
        q_before = np.where(q_before > context.q + ROUNDING * q[:, None], q_before, context.q)
        power = np.where(context.known_hits > 0, ratio.on_q * q_before + ratio.on_p * context.known_p, np.inf)
        before, after = rule.shortfall(power), rule.shortfall(power + ratio.on_q)
        before[(after == 0) & (q_before > context.q)] = 0.0
        decay = np.clip(np.divide(after, before, out=np.ones_like(before), where=before > 0), NEARLY_ZERO, 1.0)
        missed = before * decay ** (context.q - q_before) * np.exp(-self._rate[labels, None])
        base = np.full_like(before, NEARLY_ZERO)
        return _Columns(decay, base, factor * missed * base, context.known_hits / base)

    def _of_false_positives(self, factor: NDArray, labels: NDArray) -> _Columns:
        """A false positive counts as one over the negatives, most of which are not candidates."""
        weights, s = _place_rule(N_NODES, SHARE * (np.maximum(0.0, self._batch.n_instances - self._p[labels]) + 1))
        weight = -factor * weights * s ** (1 + self._n_others()[labels, None])
        return _Columns(np.ones_like(s), s, weight, np.zeros_like(s))

    def _of_jaccard(self, factor: NDArray, labels: NDArray, q: NDArray) -> _Columns:
        context = self._context_of(labels)
        rule = _place_rule(N_PRODUCT_NODES, PRODUCT_SHARE * (q + self._p[labels] + 1))
        # Hits are counted in the union once, as predicted positives, so they are not part of the positives outside.
        s, known_union = rule.s, context.q + context.known_p - context.known_hits
        outside = np.exp((context.hits - self._rate[labels, None]) * (1 - s)) * s**known_union
        columns = _Columns(s, s, factor * rule.weights * outside, np.zeros_like(s))
        if self._n_nodes["jaccard"] == N_PRODUCT_NODES:
            return columns
        # A node for the part that the rule misses if nothing is selected and only the known misses come true.
        missed = rule.shortfall(np.where(known_union > 0, known_union, np.inf))
        decay = np.full_like(missed, NEARLY_ZERO)
        weight = factor * missed * np.exp(context.hits - self._rate[labels, None])
        return columns.beside(_Columns(decay, decay, weight, np.zeros_like(missed)))

    def _context_of(self, labels: NDArray) -> _ContextPart:
        context = self._context
        known_t = context.known_t[labels, None]
        hits = np.maximum(0.0, context.t[labels, None] - known_t)
        return _ContextPart(hits, known_t, context.q[labels, None], context.known_p[labels, None])

    def _outside(self, base: NDArray, labels: NDArray) -> NDArray:
        """The generating function of the positives that are not candidates."""
        return np.exp(-self._rate[labels, None] * (1 - base)) * base ** self._context.known_p[labels, None]

    def _n_others(self) -> NDArray:
        """The mean number of negatives that are not candidates."""
        sizes = self._candidates.by_label.sizes
        return np.maximum(0.0, self._batch.n_instances - sizes - self._rate - self._context.known_p)


def multiply_nodes(
    rows: Rows, n_labels: int, labels: NDArray, linear: NDArray, product: NDArray, n_plain: int, base: int
) -> tuple[NDArray, NDArray]:
    """Multiply the generating function of the candidates into the nodes of some labels; return weights and products."""
    places = np.full(n_labels, -1, dtype=np.int32)
    places[labels] = np.arange(labels.size)
    linear, product = linear.copy(), product.copy()  # those of a message are read-only
    nodes = kernels.Nodes(linear, product, np.empty(0), n_plain, base, places, np.empty(0), np.empty((0, 0)))
    kernels.multiply_generating(rows, nodes, places >= 0, int(labels[0]), int(labels[-1]) + 1)
    return linear[:, kernels.WEIGHT], product[:, kernels.PRODUCT]


def _put(nodes: kernels.Nodes, rows: slice, first: int, columns: _Columns) -> None:
    place = nodes.linear[rows, :, first : first + columns.decay.shape[1]]
    place[:, kernels.DECAY], place[:, kernels.WEIGHT] = columns.decay, columns.weight
    place[:, nodes.base] = columns.base  # the same row again where bases are decays
    if columns.total.any():  # never so where there is no row for it
        place[:, kernels.SUM] = columns.total


def _place_rule(count: int, decay: NDArray) -> _Rule:
    """Make a rule for each label, whose integrand decays like s^decay."""
    v, weights = _laguerre(count)
    return _Rule(weights * np.exp(v) / decay[:, None], np.exp(-v / decay[:, None]))


@cache
def _laguerre(count: int) -> tuple[NDArray, NDArray]:
    return np.polynomial.laguerre.laggauss(count)
