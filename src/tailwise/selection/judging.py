"""A selection that is to be judged, of tailwise or of another tool, beside the probabilities that it was made from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.inputs.checks import check_choice
from tailwise.inputs.chosen import EMPTY, Chosen
from tailwise.inputs.excluded_pairs import read_excluded, refuse_excluded
from tailwise.inputs.totals import known_slots
from tailwise.selection.resolve import (
    check_context,
    describe_batch,
    find_candidates,
    make_expectation,
    read_priors,
    space_of,
)
from tailwise.selection.rules import check_budgets, set_excluded_aside
from tailwise.utilities import as_utility

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.engines.engine import Engine
    from tailwise.expectations.expectation import Expectation
    from tailwise.inputs.candidates import Candidates
    from tailwise.inputs.ids import Ids
    from tailwise.inputs.paths import Source
    from tailwise.inputs.totals import Totals
    from tailwise.utilities import Utility
    from tailwise.utilities.utility import Batch

__all__ = ["Judged", "judge"]


@dataclass(frozen=True, eq=False)
class Judged:
    """A selection, and what its expected utility depends on.

    Attributes
    ----------
    utility, candidates, context, batch
        What is expected, and of what. Excluded candidates are in further rows of the candidates.
    chosen, budgets : Chosen, ndarray of shape (n,) or None
        The selection, and how many labels each instance may have.
    set_aside : ndarray
        The instances that have excluded candidates, in the order of these rows.
    instance_ids : Ids or None
        The ids of the instances.
    """

    utility: Utility
    candidates: Candidates
    context: Totals
    batch: Batch
    chosen: Chosen
    budgets: NDArray | None
    set_aside: NDArray
    instance_ids: Ids | None

    def expect(self, expectation: str, engine: Engine) -> Expectation:
        """The expectation by which the selection is judged."""
        return make_expectation(expectation, self.utility, self.candidates, self.batch, self.context, engine)


def judge(
    source: Source,
    utility: Any,
    selection: Any,
    k: Any,
    expectation: str,
    *,
    columns: Any = None,
    context: Totals | None = None,
    priors: Any = None,
    condition_positives: Any = None,
    exclude: Any = None,
) -> Judged:
    """Read a selection in the order of the probabilities; parameters are those of `expected_utility`.

    The budgets are the numbers of labels that the selection holds, unless k says otherwise; a utility is divided by all
    the slots that the selection is known to have, empty ones too.
    """
    check_choice("expectation", expectation, ("exact", "semi"))
    candidates = find_candidates(source, columns, context)
    slots = None if k is not None else known_slots(selection, candidates.n_instances)
    problem = getattr(selection, "problem", None)
    has_budget = problem is None or problem.rules.has_budget  # without one, an instance counts as one slot
    utility = as_utility(utility, priors := read_priors(priors, source, candidates))
    selection = space_of(candidates).read_chosen(source.read_selection(selection), "selection")
    n, m = candidates.shape
    chosen = Chosen.of(selection, m, n_instances=n, like="probabilities")
    budgets = (chosen.labels != EMPTY).sum(axis=1) if k is None else check_budgets(k, n, m)
    ids, aside = candidates.instance_ids, np.empty(0, dtype=np.int64)
    if exclude is not None:
        refuse_excluded(chosen, excluded := read_excluded(exclude, candidates, source.columns))
        candidates, aside = set_excluded_aside(candidates, excluded)
    context = check_context(context, utility, candidates)
    batch = describe_batch(candidates, budgets, priors, condition_positives, context, n)
    if slots is not None:
        batch = replace(batch, n_slots=slots + (context.n_slots if has_budget else context.n_instances))
    return Judged(utility, candidates, context, batch, chosen, budgets, aside, ids)
