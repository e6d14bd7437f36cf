"""Why these labels: gains at the final totals of a selection, of tailwise or of another tool."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.engines.engine import Threads
from tailwise.errors import InputError
from tailwise.expectations.terms import locate, raise_failure
from tailwise.inputs.checks import check_size
from tailwise.inputs.chosen import EMPTY, Chosen
from tailwise.inputs.excluded_pairs import with_empty_rows
from tailwise.inputs.lookups import find_label, find_row
from tailwise.inputs.paths import Source
from tailwise.inputs.priors import LabelPriors
from tailwise.kernels.label_ascent import make_row_prices, price_rows
from tailwise.kernels.label_state import Q
from tailwise.kernels.rows import Rows
from tailwise.selection.judging import judge
from tailwise.selection.reasons import LITTLE, UNLIKELY, Explanation, LabelExplanation, Reason
from tailwise.selection.resolve import space_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.expectations.expectation import Expectation
    from tailwise.inputs.ids import Ids

__all__ = ["Explainer", "explainer_of"]

N_OTHERS = 5
Entries = list[list[tuple[int, float, int, float]]]
Row = tuple[np.ndarray, np.ndarray, np.ndarray]  # labels, probabilities, ranks
NO_ROW: Row = (np.empty(0, np.int32), np.empty(0), np.empty(0, np.int64))
NOTHING = np.empty(0, dtype=np.int64)


class Explainer:
    """Explains a selection of one batch.

    Parameters
    ----------
    expectation : Expectation
        What was maximised, with the candidates.
    chosen : Chosen
        The selection.
    budgets : ndarray of shape (n,) or None
        The budget of each instance; None for no budget.
    instance_ids : Ids, optional
        The ids of the instances.
    set_aside : ndarray
        The instances that have excluded candidates, which are in further rows of the candidates, in this order.
    """

    def __init__(
        self,
        expectation: Expectation,
        chosen: Chosen,
        budgets: NDArray | None,
        instance_ids: Ids | None = None,
        set_aside: NDArray = NOTHING,
    ) -> None:
        self.expectation, self.chosen, self.budgets, self.instance_ids = expectation, chosen, budgets, instance_ids
        self.set_aside = set_aside
        self.candidates = expectation.candidates
        self.positions, others = locate(with_empty_rows(chosen, self.candidates.n_instances), self.candidates)
        self.state = expectation.count(self.positions, others)

    def explain(self, instance: Any, *, others: int = N_OTHERS, priors: Any = None) -> Explanation:
        """Explain the labels of one instance; see :meth:`Selection.explain`."""
        i, counts = find_row(instance, self.chosen.n_instances, self.instance_ids), self.count_training(priors)
        most = check_size("others", others, 0)
        own = self.chosen.labels[i][self.chosen.labels[i] != EMPTY]
        labels, values, ranks = row = self._read_row(i)
        chosen = self._explain_chosen(own, row, counts)
        bar = self._find_bar(i, chosen)
        is_free = ~np.isin(labels, own)
        free = labels[is_free], values[is_free], ranks[is_free]
        rest = self._explain_others(free, self._read_excluded(i), bar, most, counts)
        budget = None if self.budgets is None else int(self.budgets[i])
        utility = str(self.expectation.utility)
        return Explanation(i, self._name_instance(i), chosen, rest, budget, labels.size, utility)

    def _explain_chosen(self, own: NDArray, row: Row, counts: NDArray | None) -> tuple[Reason, ...]:
        """Explain the labels of an instance, best gain first; those that are no candidates have no rank."""
        known = {j: (e, rank) for j, e, rank in zip(*(part.tolist() for part in row), strict=True)}
        found = [known.get(j, (0.0, None)) for j in own.tolist()]
        gains = self._gains(own, np.array([e for e, _ in found]), are_chosen=True)
        reasons = [
            self._reason(j, e, rank, gain, None, None, counts)
            for j, (e, rank), gain in zip(own.tolist(), found, gains.tolist(), strict=True)
        ]
        little = LITTLE * max(gains.tolist(), default=0.0)
        if self.budgets is not None:
            reasons = [
                replace(each, makes_up_number=each.gain < 0 or (each.probability < UNLIKELY and each.gain < little))
                for each in reasons
            ]
        return tuple(sorted(reasons, key=lambda reason: (-reason.gain, reason.label)))

    def _explain_others(
        self, free: Row, excluded: Row, bar: float | None, most: int, counts: NDArray | None
    ) -> tuple[Reason, ...]:
        """Explain the best candidates that were not chosen, or could not be because they are excluded."""
        labels, values, ranks = (np.concatenate(parts) for parts in zip(free, excluded, strict=True))
        gains = self._gains(labels, values, are_chosen=False)
        reasons = []
        for x in np.lexsort((labels, -gains))[:most]:
            is_excluded, gain = x >= free[0].size, float(gains[x])
            held_back = "exclusion" if is_excluded else "gain" if bar is None else "budget"
            rank, lacks = None if is_excluded else int(ranks[x]), max(0.0, (bar or 0.0) - gain)
            reasons.append(self._reason(int(labels[x]), float(values[x]), rank, gain, lacks, held_back, counts))
        return tuple(reasons)

    def list_slots(self) -> tuple[NDArray, NDArray]:
        """Return probability and gain of the label in each slot, (n, k); NaN for an empty slot."""
        labels, rows = self.chosen.labels, self.candidates.rows
        positions, has_label = self.positions[: len(labels)], labels != EMPTY
        entries = np.where(positions >= 0, rows.indptr[: len(labels), None] + positions, 0)
        values = np.where(positions >= 0, rows.values[entries] if rows.values.size else 0.0, 0.0).astype(np.float64)
        gains = np.full(labels.shape, np.nan)
        gains[has_label] = self._gains(labels[has_label], values[has_label], are_chosen=True)
        return np.where(has_label, values, np.nan), gains

    def list_all(self, others: int) -> tuple[Entries, Entries]:
        """Return label, probability, rank and gain of every chosen label, and of the best others, for all instances."""
        rows, n = self.candidates.rows, self.chosen.n_instances
        rows = Rows(rows.indptr[: n + 1], rows.labels[: rows.indptr[n]], rows.values[: rows.indptr[n]])
        instances = np.repeat(np.arange(n), np.diff(rows.indptr))
        values = rows.values.astype(np.float64)
        order = np.lexsort((rows.labels, -values, instances))
        ranks = np.empty(values.size, dtype=np.int64)
        ranks[order] = np.arange(values.size) - rows.indptr[instances] + 1
        has_slot = self.chosen.labels != EMPTY
        at, own = np.nonzero(has_slot)[0], self.chosen.labels[has_slot]
        positions = self.positions[:n][has_slot]
        entry = np.where(positions >= 0, rows.indptr[at] + positions, 0)
        is_known = positions >= 0
        own_values, own_ranks = np.where(is_known, values[entry], 0.0), np.where(is_known, ranks[entry], 0)
        is_free = np.ones(values.size, dtype=bool)
        is_free[entry[is_known]] = False
        free = np.flatnonzero(is_free)
        gains = self._gains(rows.labels[free], values[free], are_chosen=False)
        mine = (at, own, own_values, own_ranks, self._gains(own, own_values, are_chosen=True))
        rest = (instances[free], rows.labels[free], values[free], ranks[free], gains)
        return _by_instance(n, *mine), _by_instance(n, *rest, most=others)

    def explain_label(self, label: Any, *, others: int = N_OTHERS, priors: Any = None) -> LabelExplanation:
        """Explain where one label is chosen; see :meth:`Selection.explain_label`."""
        j = find_label(label, self.candidates.n_labels, self.candidates.label_names)
        counts = self.count_training(priors)
        rows = self.candidates.rows
        entries = np.flatnonzero(rows.labels[: rows.indptr[self.chosen.n_instances]] == j)  # excluded ones come later
        instances = np.searchsorted(rows.indptr, entries, side="right") - 1
        values = rows.values[entries].astype(np.float64)
        own = np.flatnonzero((self.chosen.labels == j).any(axis=1))
        probability = dict(zip(instances.tolist(), values.tolist(), strict=True))
        own_values = np.array([probability.get(i, 0.0) for i in own.tolist()])
        is_free = ~np.isin(instances, own)
        free = np.flatnonzero(is_free)[np.argsort(-values[is_free], kind="stable")[: check_size("others", others, 0)]]
        return LabelExplanation(
            j,
            self._name_label(j),
            own.size,
            entries.size,
            float(self.expectation.batch.condition_positives[j]),
            None if counts is None else int(counts[j]),
            self._list_instances(j, own, own_values, are_chosen=True),
            self._list_instances(j, instances[free], values[free], are_chosen=False),
        )

    def count_training(self, priors: Any) -> NDArray | None:
        """Return how many training instances each label has, joined by id where both sides have ids."""
        if priors is None:
            return None
        found, m = space_of(self.candidates).read_priors(LabelPriors.from_labels(priors)), self.candidates.n_labels
        if found.n_labels != m:
            msg = f"priors covers {found.n_labels} labels, probabilities has {m}. Give the priors of the same labels."
            raise InputError(msg)
        return found.counts

    def _list_instances(
        self, j: int, instances: NDArray, values: NDArray, *, are_chosen: bool
    ) -> tuple[tuple[Any, float, float], ...]:
        """Return the id of each instance, or its number if there are no ids, its probability and its gain."""
        ids = range(self.chosen.n_instances) if self.instance_ids is None else self.instance_ids
        gains = self._gains(np.full(instances.size, j, dtype=np.int32), values, are_chosen=are_chosen)
        order = np.lexsort((instances, -gains))
        return tuple((ids[int(instances[x])], float(values[x]), float(gains[x])) for x in order)

    def _read_row(self, i: int) -> Row:
        """Return the candidates of an instance, their probabilities, and their ranks by these."""
        rows = self.candidates.rows
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        labels, values = rows.labels[part], rows.values[part].astype(np.float64)
        ranks = np.empty(labels.size, dtype=np.int64)
        ranks[np.lexsort((labels, -values))] = np.arange(1, labels.size + 1)
        return labels, values, ranks

    def _read_excluded(self, i: int) -> Row:
        """Return the same of what would be candidates of an instance, if they were not excluded."""
        place = int(np.searchsorted(self.set_aside, i))
        if place == self.set_aside.size or self.set_aside[place] != i:
            return NO_ROW
        return self._read_row(self.chosen.n_instances + place)

    def _find_bar(self, i: int, chosen: tuple[Reason, ...]) -> float | None:
        """Return the gain of the weakest chosen label, or None if the instance has room for another one."""
        if self.budgets is None or len(chosen) < self.budgets[i] or not chosen:
            return None
        return chosen[-1].gain

    def _gains(self, labels: NDArray, values: NDArray, *, are_chosen: bool) -> NDArray:
        """Return what each label would lose without an instance of this probability, or gain with one."""
        n, dtype = labels.size, self.candidates.rows.values.dtype
        if n == 0:
            return np.empty(0)
        # Each label as an instance of one candidate, whose own gain or best other gain is asked for.
        rows = Rows(np.arange(n + 1, dtype=np.int64), labels.astype(np.int32), values.astype(dtype))
        chosen = np.full((n, 1), 0 if are_chosen else EMPTY, dtype=np.int32)
        held, prices = np.full(n, int(are_chosen), dtype=np.int64), make_row_prices(n)
        for array in rows:
            array.flags.writeable = False
        price_rows(rows, self.expectation.terms, self.state, chosen, held, prices, 0, n)
        raise_failure(self.expectation.utility)
        return prices.weakest if are_chosen else prices.other

    def _reason(
        self,
        j: int,
        e: float,
        rank: int | None,
        gain: float,
        lacks: float | None,
        held_back: str | None,
        counts: NDArray | None,
    ) -> Reason:
        times = int(self.state.counts[j, Q] - self.expectation.context.q[j])
        expected = float(self.expectation.batch.condition_positives[j])
        training = None if counts is None else int(counts[j])
        is_chosen, name = held_back is None, self._name_label(j)
        return Reason(j, name, is_chosen, e, rank, gain, lacks, held_back, times, expected, training)

    def _name_label(self, j: int) -> str:
        names = self.candidates.label_names
        return f"label {j}" if names is None else names.title_of(j)

    def _name_instance(self, i: int) -> str:
        return f"Instance {i}" if self.instance_ids is None else str(self.instance_ids[i])


def _by_instance(
    n: int,
    instances: NDArray,
    labels: NDArray,
    values: NDArray,
    ranks: NDArray,
    gains: NDArray,
    most: int | None = None,
) -> Entries:
    """Return the entries of each instance, best gain first, at most `most` of them."""
    order = np.lexsort((labels, -gains, instances))
    starts = np.searchsorted(instances[order], np.arange(n + 1))
    found = []
    for first, last in pairwise(starts.tolist()):
        part = order[first : last if most is None else min(last, first + most)]
        parts = (labels[part].tolist(), values[part].tolist(), ranks[part].tolist(), gains[part].tolist())
        found.append(list(zip(*parts, strict=True)))
    return found


def explainer_of(
    probabilities: Any,
    utility: Any,
    selection: Any,
    k: Any = None,
    *,
    expectation: str = "exact",
    priors: Any = None,
    condition_positives: Any = None,
    label_names: Any = None,
    exclude: Any = None,
) -> Explainer:
    """Explain any selection; parameters are those of :func:`tailwise.expected_utility`.

    Probabilities may also be a Source, which was read before. `exclude` is what :func:`tailwise.select` was given, so
    that excluded labels are called so.

    Examples
    --------
    >>> import numpy as np
    >>> from tailwise.selection.explain import explainer_of
    >>> probabilities = np.array([[0.9, 0.4, 0.1], [0.8, 0.1, 0.7], [0.9, 0.2, 0.1]])
    >>> print(explainer_of(probabilities, "macro-f1", np.array([[1], [2], [0]])).explain(0).sentence)
    Instance 0 was given the label that adds most to macro-f1 of the whole batch; it is only 2nd by probability.
    """
    source = probabilities if isinstance(probabilities, Source) else Source.of(probabilities, label_names=label_names)
    more = {"priors": priors, "condition_positives": condition_positives, "exclude": exclude}
    judged = judge(source, utility, selection, k, expectation, **more)
    made = judged.expect(expectation, Threads(1))
    return Explainer(made, judged.chosen, judged.budgets, judged.instance_ids, judged.set_aside)
