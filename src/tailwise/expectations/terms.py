"""From a utility to what kernels read: Terms, the State of a selection, and the Worth of sets of instances.

A utility that no expectation supports is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailwise.engines import Engine
from tailwise.errors import NumericalError, UtilityError
from tailwise.expectations.expectation import NO_LAWS, NO_NODES, Expectation
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.chosen import Chosen
from tailwise.inputs.totals import Totals
from tailwise.kernels import label_state as kernels
from tailwise.kernels import nodes as node_kernels
from tailwise.kernels.curvature import AFFINE, PROPORTIONAL
from tailwise.kernels.label_state import CURVATURE, State, Terms
from tailwise.kernels.laws import Laws
from tailwise.kernels.nodes import Nodes
from tailwise.kernels.rows import Rows, find_positions, pick_entries
from tailwise.kernels.set_worth import Worth
from tailwise.utilities.formula import Custom
from tailwise.utilities.utility import Batch, Formula, SingleUtility, Utility

# Failure probabilities are stored as a number times this to an integer power, as in kernels/label_state.py.
LOG_RESCALE = np.log(kernels.RESCALE)

# Over the sizes of a block the decay of the integrands grows by this factor, and is at the start half of the one that
# nodes are placed for: within a factor of two they are exact to 1e-7.
BLOCK_RATIO, BLOCK_CENTRE = 4, 2

# Instances whose chosen labels are looked up at a time.
INSTANCES_AT_ONCE = 1 << 20

# A factor and the utility that it multiplies.
Weighted = tuple[float, "SingleUtility"]


def supports_exact(utility: Utility) -> bool:
    """Whether every part of a utility has an exact expectation that costs little more than the semi-empirical one."""
    return all(term.linear_in_labels or term.is_coverage or term.ratios for _, term in utility.terms)


def check_terms(utility: Utility, batch: Batch) -> None:
    """Refuse terms that no expectation supports, and user-defined formulas that are invalid on this batch."""
    for _, term in utility.terms:
        if isinstance(term, Custom):
            term.check(batch)
        elif not (term.formula is not None or term.is_coverage or term.linear(batch) is not None):
            msg = (
                f"{type(term).__name__} declares neither linear coefficients nor a formula nor coverage, so its "
                "expectation is unknown. Use Utility.from_formula(psi), or give its class `linear` or `formula`."
            )
            raise UtilityError(msg)


def make_terms(parts: Sequence[Weighted], batch: Batch) -> tuple[Terms, float]:
    """Make the terms of parts whose psi is computed from totals; also return the constant part of the utility."""
    m = batch.n_labels
    linear, constant = _sum_coefficients(parts, batch)
    formulas = [(factor / m, term.formula) for factor, term in parts if term.formula is not None]
    terms = Terms(
        linear,
        np.array([_address(formula) for _, formula in formulas], dtype=np.int64).reshape(-1, 3),
        np.array([(factor, formula.curvature) for factor, formula in formulas], dtype=np.float64).reshape(-1, 2),
        _weights([term for _, term in parts if term.formula is not None], batch),
        _coverage(parts, batch),
        float(batch.n_instances),
    )
    return terms, constant


def _sum_coefficients(parts: Sequence[Weighted], batch: Batch) -> tuple[NDArray, float]:
    """The factors of t and q of each label, and the constant part of the utility."""
    linear, constant = np.zeros((batch.n_labels, 2)), 0.0
    for factor, term in parts:
        coefficients = term.linear(batch)
        if coefficients is not None:
            linear[:, 0] += factor * coefficients.on_t
            linear[:, 1] += factor * coefficients.on_q
            constant += factor * float(coefficients.constant.sum())
    return linear, constant


def raise_failure(utility: Utility) -> None:
    """Raise, once, the exception that a plain Python formula raised while a kernel was calling it."""
    for _, term in utility.terms:
        if isinstance(term, Custom):
            term.raise_failure()


def _address(formula: Formula) -> tuple[int, int, int]:
    """The addresses of a formula and of its parameters, and the stride in bytes from one label to the next."""
    parameters = formula.parameters
    return formula.address(), parameters.ctypes.data, parameters.strides[0] if parameters.ndim == 2 else 0


def _weights(terms: list[SingleUtility], batch: Batch) -> NDArray:
    weights = [term.weights_in(batch) for term in terms]
    if all(each is None for each in weights):
        return np.empty((len(terms), 0))
    return np.array([np.ones(batch.n_labels) if each is None else each for each in weights])


def _coverage(parts: Sequence[Weighted], batch: Batch) -> NDArray:
    """The factor of coverage of each label; an empty array without coverage."""
    covers = [(factor, term) for factor, term in parts if term.is_coverage]
    if not covers:
        return np.empty(0)
    weights = [(factor, term.weights_in(batch)) for factor, term in covers]
    total = sum(np.full(batch.n_labels, factor) if each is None else factor * each for factor, each in weights)
    return np.asarray(total) / batch.n_labels


def start_state(terms: Terms, batch: Batch, context: Totals, nodes: Nodes = NO_NODES, laws: Laws = NO_LAWS) -> State:
    """Make a state with the totals of the context, and nothing else."""
    m, has_coverage = batch.n_labels, terms.coverage.size > 0
    counts = np.zeros((m, kernels.N_COUNTS if has_coverage else kernels.N_COUNTS_WITHOUT_COVERAGE))
    counts[:, kernels.T], counts[:, kernels.Q], counts[:, kernels.P] = context.t, context.q, batch.condition_positives
    if has_coverage:
        _start_failures(counts, context)
    return State(counts, np.zeros(m, dtype=np.float32), np.zeros(m, dtype=np.float32), nodes, laws)


def _start_failures(counts: NDArray, context: Totals) -> None:
    counts[:, kernels.MANTISSA] = 1.0
    if context.log_failure is not None:
        with np.errstate(invalid="ignore"):
            scale = np.where(np.isinf(context.log_failure), 0.0, np.floor(context.log_failure / LOG_RESCALE))
            counts[:, kernels.MANTISSA] = np.exp(context.log_failure - scale * LOG_RESCALE)
        counts[:, kernels.SCALE] = scale
    counts[:, kernels.FAILURE] = np.where(counts[:, kernels.SCALE] == 0, counts[:, kernels.MANTISSA], 0.0)


class Picked:
    """The labels of a selection and their probabilities, (any,), a block of instances at a time; label -1 for none.

    Several counts read them. Only one block is kept in memory, so that no second array of all positions is needed.
    """

    def __init__(self, rows: Rows, positions: NDArray, engine: Engine) -> None:
        self._rows, self._positions, self._engine = rows, positions, engine
        n = positions.shape[0]
        self._starts = range(0, n, INSTANCES_AT_ONCE)
        self._only = self._pick(0) if len(self._starts) == 1 else None

    def __iter__(self) -> Iterator[tuple[NDArray, NDArray]]:
        for first in self._starts:
            yield self._pick(first) if self._only is None else self._only

    def _pick(self, first: int) -> tuple[NDArray, NDArray]:
        positions = self._positions[first : first + INSTANCES_AT_ONCE]
        part = self._rows._replace(indptr=self._rows.indptr[first : first + len(positions) + 1])
        labels, values = np.empty(positions.shape, np.int32), np.empty(positions.shape, part.values.dtype)
        self._engine.split(len(positions), lambda low, high: pick_entries(part, positions, labels, values, low, high))
        return labels.ravel(), values.ravel()


def count_picked(picked: Picked, others: NDArray, terms: Terms, state: State) -> State:
    """Add a selection to the state of an empty selection; psi and lines are computed later."""
    for labels, values in picked:
        kernels.count_selected(labels, values, terms, state)
    kernels.refresh(terms, state)
    if others.size:  # which is rare, and would have to be compiled
        kernels.add_impossible(terms, state, others)
    return state


def value_at(terms: Terms, state: State) -> float:
    """The value at the totals of a state, without nodes."""
    counts = state.counts
    with np.errstate(
        over="ignore", invalid="ignore"
    ):  # values that are not finite are refused by the caller that reports them
        psi = counts[:, kernels.PSI] + terms.linear[:, 0] * counts[:, kernels.T]
        psi += terms.linear[:, 1] * counts[:, kernels.Q]
        if terms.coverage.size:
            psi += terms.coverage * (1 - counts[:, kernels.FAILURE])
        return float(psi.sum())


def locate(chosen: Chosen, candidates: Candidates) -> tuple[NDArray, NDArray]:
    """Return the positions of the selected labels in the rows, -1 for those that are not candidates; and the latter."""
    positions = np.empty_like(chosen.labels)
    find_positions(candidates.rows, chosen.labels, positions)
    return positions, chosen.labels[(positions < 0) & (chosen.labels >= 0)]


def gather(chosen: Chosen, candidates: Candidates, engine: Engine) -> tuple[NDArray, NDArray, Rows]:
    """Like `locate`, with the rows that the positions refer to; on a cluster, these contain only the selection.

    There, workers look up the labels, and the driver adds up the results in the order in which it would have read them.
    """
    if not engine.is_elsewhere(candidates.n_entries):
        return *locate(chosen, candidates), candidates.rows
    labels, rows = chosen.labels, candidates.rows
    is_candidate, values = np.empty(labels.shape, dtype=np.bool_), np.empty(labels.shape, rows.values.dtype)
    ranges = engine.cut(rows.indptr[: len(labels) + 1])  # there may be additional rows with excluded candidates

    def put(number: int, found: tuple[NDArray, NDArray]) -> None:
        is_candidate[slice(*ranges[number])], values[slice(*ranges[number])] = found

    engine.spread(look_up, rows, [(first, last, labels[first:last]) for first, last in ranges], put)
    n, k = labels.shape
    positions = np.where(is_candidate, np.arange(k, dtype=np.int32), np.int32(-1))
    compact = Rows(np.arange(n + 1, dtype=np.int64) * k, np.array(labels).ravel(), values.ravel())
    for array in compact:
        array.flags.writeable = False  # read-only, like those of candidates, so that no second kernel is compiled
    return positions, labels[~is_candidate & (labels >= 0)], compact


def look_up(rows: Rows, first: int, last: int, labels: NDArray) -> tuple[NDArray, NDArray]:
    """Whether labels are candidates of the instances first to last, and their probabilities."""
    part, positions = rows._replace(indptr=rows.indptr[first : last + 1]), np.empty_like(labels)
    find_positions(part, labels, positions)
    is_candidate = positions >= 0
    places = np.where(is_candidate, part.indptr[:-1, None] + positions, 0)
    return is_candidate, np.where(is_candidate, rows.values[places], 0)


def check_value(utility: Utility, value: float) -> float:
    """Refuse a value that the utility cannot have, caused by rounding or overflow."""
    low, high = utility.range
    slack = 1e-6 * max(abs(low), abs(high), 1.0)
    if not (np.isfinite(value) and low - slack <= value <= high + slack):
        msg = (
            f"The expected {utility} must be a number between {low:g} and {high:g}. Got {value:.9g}: the "
            "input is too extreme to compute with, or condition_positives contradict the probabilities. "
            "Use less extreme factors, parameters or condition_positives."
        )
        raise NumericalError(msg)
    return value


def make_worth(expectation: Expectation, blocks: NDArray, ends: NDArray, nodes: Nodes, known: NDArray) -> Worth:
    """Make the worth of every set of candidates of every label.

    `blocks` say where the blocks of each label start, `ends` their largest sizes, and `nodes` hold those of all blocks;
    see `list_blocks`. The candidates are multiplied into the first `known` blocks of each label. What is expected over
    laws enters by the semi-empirical value.
    """
    terms, context = expectation.terms, expectation.context
    coverage = terms.coverage
    if coverage.size and context.log_failure is not None:
        coverage = coverage * np.exp(context.log_failure)
    worth = Worth(
        terms,
        np.stack([context.t, context.q, expectation.batch.condition_positives], axis=1),
        expectation.candidates.condition_positives(),
        coverage,
        blocks,
        ends,
        nodes,
        known,
        _curves_above(blocks, nodes),
        has_nodes=blocks.size > 0,
        is_complete=True,
        has_base=bool(context.q.any() or context.t.any()),
        is_curved=False,
        depends_on_size=bool(terms.formulas.size) or blocks.size > 0,
        falls=False,
    )
    return with_terms(worth, terms)


def with_terms(worth: Worth, terms: Terms) -> Worth:
    """Return the same worth for other terms, with the curvature of their formulas."""
    curvatures, has_products = terms.factors[:, CURVATURE], worth.curves.shape[2] > 0
    return worth._replace(
        terms=terms,
        is_curved=bool((curvatures > AFFINE).any()) or has_products,
        falls=bool((curvatures == PROPORTIONAL).all()) and not has_products,
    )


class Blocks(NamedTuple):
    """Ranges of the sizes that sets can have, label by label."""

    starts: NDArray  # (m + 1,): where the blocks of each label start
    labels: NDArray  # (blocks,)
    first: NDArray  # the smallest size
    ends: NDArray  # the largest
    placed_for: NDArray  # the size that nodes are placed for, which may be more than any of them


def list_blocks(sizes: NDArray, shifts: NDArray) -> Blocks:
    """List blocks of the sizes from 1 to `sizes`, over which size + shift, and so the decay, grows by BLOCK_RATIO."""
    starts = [np.ones(sizes.size)]
    while (starts[-1] <= sizes).any():
        starts.append(np.ceil((1 + shifts) * float(BLOCK_RATIO) ** len(starts) - shifts))
    first = np.array(starts)  # of each block and label
    counts = (first <= sizes).sum(axis=0)
    labels = np.repeat(np.arange(sizes.size), counts)
    pointers = np.concatenate([[0], np.cumsum(counts)])
    number = np.arange(labels.size) - pointers[labels]
    centre = BLOCK_CENTRE * (1 + shifts[labels]) * float(BLOCK_RATIO) ** number - shifts[labels]
    ends = first[number + 1, labels] - 1
    return Blocks(pointers, labels, first[number, labels], ends.astype(np.int64), centre)


def _curves_above(blocks: NDArray, nodes: Nodes) -> NDArray:
    """Curves in t and q above the product nodes, which depend on more than that."""
    decay, product = nodes.product[:, node_kernels.DECAY], nodes.product[:, node_kernels.PRODUCT]
    if decay.shape[1] == 0:
        return np.empty((0, 3, 0))
    largest = np.repeat(nodes.largest, np.diff(blocks))[:, None]
    tiny = np.finfo(np.float64).tiny  # the last nodes may not be positive
    logs = -np.log(np.maximum(1 - largest + largest * decay, tiny))
    rate = np.divide(logs, largest, out=np.zeros_like(decay), where=largest > 0)
    return np.stack([product, np.log(np.maximum(decay, tiny)), rate], axis=1)
