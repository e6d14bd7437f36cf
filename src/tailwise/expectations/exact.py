"""The exact expected utility: E[psi], not psi of the expectations."""

from __future__ import annotations

from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from tailwise.engines import Engine
from tailwise.expectations.distributions import expect_by_probabilities
from tailwise.expectations.expectation import NO_LABELS, NO_LAWS, NO_NODES, ONE_THREAD, Recipe
from tailwise.expectations.quadrature import Quadrature
from tailwise.expectations.terms import (
    check_terms,
    count_positions,
    gather,
    list_blocks,
    make_terms,
    make_worth,
    raise_failure,
    start_state,
    value_at,
)
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.chosen import Chosen
from tailwise.inputs.totals import Totals
from tailwise.kernels import label_state as totals
from tailwise.kernels import nodes as kernels
from tailwise.kernels.label_state import State
from tailwise.kernels.laws import HITS, MISSES, Laws, count_laws
from tailwise.kernels.rows import Rows
from tailwise.kernels.set_worth import MANY, Worth
from tailwise.utilities.utility import Batch, Mixture, Utility

# Labels with more expected positives have no laws. For the others, less than 1e-9 of a law lies beyond the width.
MOST_EXPECTED, LAW_WIDTH = 8.0, 32
INSTANCES_AT_ONCE = 1 << 20
# Labels that are placed anew at a time.
PLACED_AT_ONCE = 1 << 14
NO_BLOCKS = np.empty(0, dtype=np.int64)
ALL_LABELS, NOTHING = np.empty(0, dtype=np.bool_), np.empty((0, 1), dtype=np.int32)


class Exact:
    r"""The expected utility of a selection on one batch; labels of different instances are independent.

    With the generating function :math:`G(s) = E[s^P] = \prod_i (1 - \eta_i (1 - s))` of a label's positives,

    .. math::
        E[\text{recall}] &= \sum_{i \in S} \eta_i \int_0^1 \frac{G(s)}{1 - \eta_i (1 - s)}\, ds \\
        E[F_\beta] &= (1 + \beta^2) \sum_{i \in S} \eta_i
            \int_0^1 s^{q + \beta^2 - 1} \frac{G(s^{\beta^2})}{1 - \eta_i (1 - s^{\beta^2})}\, ds \\
        E[\text{Jaccard}] &= t \int_0^1 s^{q - 1} \frac{G(s)}{\prod_{i \in S} (1 - \eta_i (1 - s))}\, ds

    and likewise for balanced accuracy with the negatives; utilities that are linear in the labels, and coverage, are
    exact already. The integrals are sums over a few nodes, so a gain costs O(nodes).

    Any other formula (G-mean, H-mean, AUC, a user's) is averaged over the Poisson-binomial laws of hits and misses, for
    labels with at most 8 expected positives. For more frequent ones, where the two hardly differ, expected counts are
    inserted into the formula. `value_of` uses the laws of all labels.

    Positives outside the candidates, if ``condition_positives`` is larger than the sum of the probabilities, are taken
    as independent of the rest and Poisson distributed. So are the expected hits and misses of the context; observed
    ones are constants. Among the negatives, both count with their mean.
    """

    name = "exact"

    def __init__(
        self, utility: Utility, candidates: Candidates, batch: Batch, context: Totals, engine: Engine = ONE_THREAD
    ) -> None:
        check_terms(utility, batch)
        self.utility, self.candidates, self.batch, self.context = utility, candidates, batch, context
        self._engine = engine
        ratios = [(factor, term) for factor, term in utility.terms if term.ratios]
        others = [(factor, term) for factor, term in utility.terms if not term.ratios]
        self._by_laws = [(factor, term) for factor, term in others if term.formula and not term.linear_in_labels]
        self.recipe = Recipe(partial(make_terms, others, batch))
        self.terms, self._constant = self.recipe.make_terms()
        self.uses_nodes, self.uses_laws = bool(ratios), bool(self._by_laws)
        self.is_expensive = self.uses_nodes or self.uses_laws
        self.is_linear = not (self.terms.formulas.size or self.terms.coverage.size)
        if ratios:
            self._quadrature = Quadrature(ratios, candidates, batch, context, engine)
            self.recipe = self.recipe._replace(placing=self._quadrature)
            self._constant += self._quadrature.constant()
            self.is_linear = self.is_linear and not self._quadrature.depends_on_selection

    def start(self, q: NDArray) -> State:
        state = self._start_state(NOTHING, self._place_nodes(q + self.context.q))
        totals.refresh(self.terms, state)
        return state

    def count(self, positions: NDArray, others: NDArray = NO_LABELS, rows: Rows | None = None) -> State:
        rows = self.candidates.rows if rows is None else rows
        q = self._count_labels(positions, rows) + np.bincount(others, minlength=self.candidates.n_labels)
        return self._count(positions, others, self._place_nodes(q + self.context.q), rows)

    def recount(self, state: State, positions: NDArray) -> State:
        if not self.uses_nodes or self._has_context():
            return self.count(positions)
        nodes, q = state.nodes, np.maximum(1.0, self._count_labels(positions, self.candidates.rows))
        self._place_again(nodes, ~self._quadrature.fits(q, nodes.placed_for), q)
        nodes.linear[:, kernels.SUM] = 0.0
        nodes.linear[:, kernels.WEIGHT], nodes.product[:, kernels.PRODUCT] = _split_blank(nodes)
        return self._count(positions, NO_LABELS, nodes, self.candidates.rows)

    def fits(self, state: State) -> bool:
        return not (self.uses_nodes and self._find_misfits(state).any())

    def refit(self, state: State, positions: NDArray) -> None:
        if self.fits(state):
            return
        is_wanted = self._find_misfits(state)
        self._place_again(state.nodes, is_wanted, np.maximum(1.0, state.counts[:, totals.Q]))
        self._count_nodes(positions, state.nodes, is_wanted, self.candidates.rows)
        totals.refresh(self.terms, state)

    def value(self, state: State) -> float:
        value = value_at(self.terms, state) + self._constant
        if not self.uses_nodes:
            return value
        linear, product = state.nodes.linear, state.nodes.product
        # By label first, to avoid an array of all nodes.
        value += float(np.einsum("jr,jr->j", linear[:, kernels.WEIGHT], linear[:, kernels.SUM]).sum())
        return value + float((state.counts[:, totals.T, None] * product[:, kernels.PRODUCT]).sum())

    @cached_property
    def worth(self) -> Worth:
        if not self.uses_nodes:
            return make_worth(self, NO_BLOCKS, NO_BLOCKS, NO_NODES, NO_BLOCKS)
        sizes = self.candidates.by_label.sizes
        shifts = np.zeros(sizes.size) if self._has_context() else self._quadrature.least_decay()
        blocks = list_blocks(sizes, shifts)
        labels, q = blocks.labels, blocks.placed_for
        # Sets are summed up one by one; only the sum of the context is kept.
        n_rows = kernels.SUM + self._has_context()
        nodes = self._quadrature.place(labels, q + self.context.q[labels], n_rows, at_least=blocks.first)
        known = np.zeros(sizes.size, dtype=np.int64)
        if nodes.product.shape[2] > 0:  # curves above them are made of all blocks
            columns = self.candidates.columns(self._engine)
            self._engine.split(
                labels.size, lambda first, last: kernels.multiply_columns(columns, labels, nodes, first, last)
            )
            known = np.diff(blocks.starts)
        return make_worth(self, blocks.starts, blocks.ends, nodes, known)

    def worth_near(self, state: State) -> Worth:
        if not self.uses_nodes or self._has_context():  # a state does not keep their sums separately
            return self.worth
        nodes, m = state.nodes, self.candidates.n_labels
        linear, product = nodes.linear[:, : kernels.SUM].copy(), nodes.product.copy()
        linear[:, kernels.WEIGHT], product[:, kernels.PRODUCT] = _split_blank(nodes)
        nodes = nodes._replace(linear=linear, product=product, placed_for=np.empty(0), blank=np.empty((0, 0)))
        worth = make_worth(self, np.arange(m + 1), np.full(m, MANY), nodes, np.ones(m, dtype=np.int64))
        return worth._replace(is_complete=False)

    def value_of_nothing(self) -> float:
        if self._has_context():
            return self.value(self.start(np.ones(self.candidates.n_labels)))
        state = self._start_state(NOTHING, NO_NODES)  # in which nodes would hold nothing
        totals.refresh(self.terms, state)
        return value_at(self.terms, state) + self._constant

    def value_of(self, chosen: Chosen) -> float:
        if not self.uses_laws:
            return self.value(self.count(*gather(chosen, self.candidates, self._engine)))
        plain = [part for part in self.utility.terms if part not in self._by_laws]
        by_laws = expect_by_probabilities(self._by_laws, self.candidates, chosen, self.batch, self.context)[0]
        value = float(by_laws.sum())
        if not plain:
            return value
        return value + Exact(Mixture(plain), self.candidates, self.batch, self.context, self._engine).value_of(chosen)

    def _has_context(self) -> bool:
        """Whether there is a context."""
        return bool(self.context.t.any() or self.context.q.any())

    def _find_misfits(self, state: State) -> NDArray:
        """Find labels whose nodes were placed for a different number of instances from what they have."""
        return ~self._quadrature.fits(np.maximum(1.0, state.counts[:, totals.Q]), state.nodes.placed_for)

    def _count_labels(self, positions: NDArray, rows: Rows) -> NDArray:
        """Count the instances that each label is selected for."""
        counts = np.zeros(self.candidates.n_labels, dtype=np.int64)
        for first in range(0, positions.shape[0], INSTANCES_AT_ONCE):  # avoids an array as large as all positions
            part = positions[first : first + INSTANCES_AT_ONCE]
            selected = (rows.indptr[first : first + part.shape[0], None] + part)[part >= 0]
            counts += np.bincount(rows.labels[selected], minlength=counts.size)
        return counts

    def _count(self, positions: NDArray, others: NDArray, nodes: kernels.Nodes, rows: Rows) -> State:
        """Make the state of a selection, with nodes in which nothing is selected yet."""
        self._count_nodes(positions, nodes, ALL_LABELS, rows)
        state = self._start_state(positions, nodes)
        count_positions(rows, positions, others, self.terms, state)
        raise_failure(self.utility)
        return state

    def _start_state(self, positions: NDArray, nodes: kernels.Nodes) -> State:
        """Make a state with nodes and the laws of the positions, and counts of 0."""
        laws = self._make_laws(positions) if self.uses_laws else NO_LAWS
        return start_state(self.batch, self.context, nodes, laws)

    def _place_nodes(self, q: NDArray) -> kernels.Nodes:
        """Place nodes for labels that are selected q times in total, at least once, as a label may be selected soon."""
        if not self.uses_nodes:
            return NO_NODES
        q = np.maximum(1.0, q)
        nodes = self._quadrature.place(np.arange(q.size), q, kernels.SUM + 1)._replace(placed_for=q)
        self._quadrature.multiply(nodes, ALL_LABELS)
        return nodes._replace(blank=np.hstack([nodes.linear[:, kernels.WEIGHT], nodes.product[:, kernels.PRODUCT]]))

    def _place_again(self, nodes: kernels.Nodes, is_wanted: NDArray, q: NDArray) -> None:
        """Place the nodes of some labels again, for q, with nothing selected."""
        wanted = np.flatnonzero(is_wanted)
        if wanted.size == 0:
            return
        for first in range(0, wanted.size, PLACED_AT_ONCE):  # no second array of all nodes is made
            labels = wanted[first : first + PLACED_AT_ONCE]
            fresh = self._quadrature.place(labels, q[labels], kernels.SUM + 1)
            nodes.placed_for[labels] = q[labels]
            nodes.linear[labels], nodes.product[labels] = fresh.linear, fresh.product
        self._quadrature.multiply(nodes, is_wanted)
        weights, products = _split_blank(nodes)
        np.copyto(weights, nodes.linear[:, kernels.WEIGHT], where=is_wanted[:, None])
        np.copyto(products, nodes.product[:, kernels.PRODUCT], where=is_wanted[:, None])

    def _count_nodes(self, positions: NDArray, nodes: kernels.Nodes, is_wanted: NDArray, rows: Rows) -> None:
        engine = self._engine
        if self.uses_nodes and positions.size:
            engine.share(
                self.candidates.split_labels(engine.workers),
                lambda _, first, last: kernels.count_nodes(rows, positions, nodes, is_wanted, first, last),
            )

    def _make_laws(self, positions: NDArray) -> Laws:
        """Make the laws of hits and misses of every label with few expected positives."""
        rows, context, p = self.candidates.rows, self.context, self.batch.condition_positives
        is_short = p <= MOST_EXPECTED
        slots = np.where(is_short, np.cumsum(is_short) - 1, -1).astype(np.int32)
        hits = np.maximum(0.0, context.t - context.known_t)
        rate = np.maximum(0.0, p - self.candidates.condition_positives() - context.known_p)
        known = np.stack([context.known_t, context.known_p - context.known_t], axis=1)[is_short]
        probabilities = np.zeros((int(is_short.sum()), 2, LAW_WIDTH))
        probabilities[:, HITS] = _poisson(hits[is_short])
        probabilities[:, MISSES] = _poisson(np.maximum(0.0, rate - hits)[is_short])
        laws = Laws(slots, probabilities, known)
        is_chosen = np.zeros(rows.labels.size, dtype=np.bool_)
        if positions.size:
            is_chosen[(rows.indptr[:-1, None] + positions)[positions >= 0]] = True
        count_laws(rows, is_chosen, laws)
        return laws


def _split_blank(nodes: kernels.Nodes) -> tuple[NDArray, NDArray]:
    """Weights and products with nothing selected, as views."""
    n_linear = nodes.linear.shape[2]
    return nodes.blank[:, :n_linear], nodes.blank[:, n_linear:]


def _poisson(mean: NDArray) -> NDArray:
    """Probabilities (labels, LAW_WIDTH) of Poisson variables."""
    from scipy.special import gammaln, xlogy  # slow to import, and rarely needed

    counts = np.arange(LAW_WIDTH)
    return np.exp(xlogy(counts, mean[:, None]) - mean[:, None] - gammaln(counts + 1))
