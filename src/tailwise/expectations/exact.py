"""The exact expected utility: E[psi], not psi of the expectations."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailwise.engines import Engine
from tailwise.expectations.distributions import expect_by_probabilities
from tailwise.expectations.expectation import NO_LABELS, NO_LAWS, NO_NODES, ONE_THREAD, Recipe
from tailwise.expectations.quadrature import Quadrature
from tailwise.expectations.terms import (
    Picked,
    check_terms,
    count_picked,
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
from tailwise.inputs.matrices import add_up
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
        picked = Picked(self.candidates.rows if rows is None else rows, positions, self._engine)
        q = self._count_labels(picked) + np.bincount(others, minlength=self.candidates.n_labels)
        return self._count(positions, picked, others, self._place_nodes(q + self.context.q))

    def recount(self, state: State, positions: NDArray) -> State:
        if not self.uses_nodes or self._has_context():
            return self.count(positions)
        picked = Picked(self.candidates.rows, positions, self._engine)
        nodes, q = state.nodes, np.maximum(1.0, self._count_labels(picked))
        self._place_again(nodes, ~self._quadrature.fits(q, nodes.placed_for), q)
        nodes.linear[:, kernels.SUM] = 0.0
        nodes.linear[:, kernels.WEIGHT], nodes.product[:, kernels.PRODUCT] = _split_blank(nodes)
        return self._count(positions, picked, NO_LABELS, nodes)

    def fits(self, state: State) -> bool:
        return not (self.uses_nodes and self._find_misfits(state).any())

    def refit(self, state: State, positions: NDArray) -> None:
        if self.fits(state):
            return
        is_wanted = self._find_misfits(state)
        self._place_again(state.nodes, is_wanted, np.maximum(1.0, state.counts[:, totals.Q]))
        self._count_nodes(Picked(self.candidates.rows, positions, self._engine), state.nodes, is_wanted)
        totals.refresh(self.terms, state)

    def value(self, state: State) -> float:
        value = value_at(self.terms, state) + self._constant
        if not self.uses_nodes:
            return value
        linear, product, places = state.nodes.linear, state.nodes.product, state.nodes.places
        # By label first, to avoid an array of all nodes.
        by_label = np.einsum("jr,jr->j", linear[:, kernels.WEIGHT], linear[:, kernels.SUM])
        value += float(_of_labels(by_label, places).sum())
        t = state.counts[_placed(places), totals.T]
        return value + float(_of_labels(t[:, None] * product[:, kernels.PRODUCT], places).sum())

    @cached_property
    def worth(self) -> Worth:
        if not self.uses_nodes:
            return make_worth(self, NO_BLOCKS, NO_BLOCKS, NO_NODES, NO_BLOCKS)
        sizes = self.candidates.by_label.sizes
        shifts = np.zeros(sizes.size) if self._has_context() else self._quadrature.least_decay()
        blocks = list_blocks(sizes, shifts)
        labels, q = blocks.labels, blocks.placed_for
        # Sets are summed up one by one; only the sum of the context is kept.
        has_sum, q = self._has_context(), q + self.context.q[labels]
        nodes = self._quadrature.place(labels, q, has_sum=has_sum, at_least=blocks.first)
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
        nodes = _without_selected(state.nodes)
        starts, ends = add_up(state.nodes.places >= 0), np.full(len(nodes.linear), MANY)
        worth = make_worth(self, starts, ends, nodes, np.ones(starts.size - 1, dtype=np.int64))
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
        return ~self._quadrature.fits(state.counts[:, totals.Q], state.nodes.placed_for)

    def _count_labels(self, picked: Picked) -> NDArray:
        """Count the instances that each label is selected for."""
        counts = np.zeros(self.candidates.n_labels + 1, dtype=np.int64)
        for labels, _ in picked:
            counts += np.bincount(labels + 1, minlength=counts.size)  # empty slots, -1, come first
        return counts[1:]

    def _count(self, positions: NDArray, picked: Picked, others: NDArray, nodes: kernels.Nodes) -> State:
        """Make the state of a selection, with nodes in which nothing is selected yet."""
        self._count_nodes(picked, nodes, ALL_LABELS)
        state = self._start_state(positions, nodes)
        count_picked(picked, others, self.terms, state)
        raise_failure(self.utility)
        return state

    def _start_state(self, positions: NDArray, nodes: kernels.Nodes) -> State:
        """Make a state with nodes and the laws of the positions, and counts of 0."""
        laws = self._make_laws(positions) if self.uses_laws else NO_LAWS
        return start_state(self.terms, self.batch, self.context, nodes, laws)

    def _place_nodes(self, q: NDArray) -> kernels.Nodes:
        """Place nodes for labels that are selected q times in total, at least once, as a label may be selected soon."""
        if not self.uses_nodes:
            return NO_NODES
        self.candidates.survey(self._engine)  # which placing needs, on all threads
        q, places = np.maximum(1.0, q), self._quadrature.number_places()
        labels = np.flatnonzero(places >= 0)
        nodes = self._quadrature.place(labels, q[labels])._replace(places=places, placed_for=q)
        self._quadrature.multiply(nodes, ALL_LABELS)
        return nodes._replace(blank=np.hstack([nodes.linear[:, kernels.WEIGHT], nodes.product[:, kernels.PRODUCT]]))

    def _place_again(self, nodes: kernels.Nodes, is_wanted: NDArray, q: NDArray) -> None:
        """Place the nodes of some labels again, for q, with nothing selected."""
        nodes.placed_for[is_wanted] = q[is_wanted]
        is_wanted = is_wanted & (nodes.places >= 0)
        wanted = np.flatnonzero(is_wanted)
        if wanted.size == 0:
            return
        for first in range(0, wanted.size, PLACED_AT_ONCE):  # no second array of all nodes is made
            labels = wanted[first : first + PLACED_AT_ONCE]
            fresh, places = self._quadrature.place(labels, q[labels]), nodes.places[labels]
            nodes.linear[places], nodes.product[places] = fresh.linear, fresh.product
        self._quadrature.multiply(nodes, is_wanted)
        weights, products = _split_blank(nodes)
        is_new = is_wanted[_placed(nodes.places), None]
        np.copyto(weights, nodes.linear[:, kernels.WEIGHT], where=is_new)
        np.copyto(products, nodes.product[:, kernels.PRODUCT], where=is_new)

    def _count_nodes(self, picked: Picked, nodes: kernels.Nodes, is_wanted: NDArray) -> None:
        """Add the selected instances to the nodes of labels; (0,) for all."""
        edges = self.candidates.split_labels(self._engine.workers)
        for labels, values in picked if self.uses_nodes else ():
            self._count_block(labels, values, nodes, is_wanted, edges)

    def _count_block(
        self, labels: NDArray, values: NDArray, nodes: kernels.Nodes, is_wanted: NDArray, edges: list[int]
    ) -> None:
        self._engine.share(
            edges, lambda _, first, last: kernels.count_nodes(labels, values, nodes, is_wanted, first, last)
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


def _without_selected(nodes: kernels.Nodes) -> kernels.Nodes:
    """A copy with nothing selected, and without sums."""
    linear, product = np.delete(nodes.linear, kernels.SUM, axis=1), nodes.product.copy()
    linear[:, kernels.WEIGHT], product[:, kernels.PRODUCT] = _split_blank(nodes)
    base = nodes.base - (nodes.base > kernels.SUM)
    return nodes._replace(linear=linear, product=product, base=base, placed_for=np.empty(0), blank=np.empty((0, 0)))


def _placed(places: NDArray) -> Any:
    """The labels that have places, as an index: a slice, which copies nothing, where all have."""
    is_placed = places >= 0
    return slice(None) if is_placed.all() else is_placed


def _of_labels(numbers: NDArray, places: NDArray) -> NDArray:
    """Numbers by place as those of all labels, whose sum is rounded in the same way whichever labels have places."""
    if len(numbers) == places.size:
        return numbers
    of_labels = np.zeros((places.size, *numbers.shape[1:]))
    of_labels[places >= 0] = numbers
    return of_labels


def _poisson(mean: NDArray) -> NDArray:
    """Probabilities (labels, LAW_WIDTH) of Poisson variables."""
    from scipy.special import gammaln, xlogy  # slow to import, and rarely needed

    counts = np.arange(LAW_WIDTH)
    return np.exp(xlogy(counts, mean[:, None]) - mean[:, None] - gammaln(counts + 1))
