"""The rules of a selection: budgets, and which selections are feasible, for select, certify, a start and filling."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailwise.errors import EmptySlotsWarning, InputError
from tailwise.expectations.terms import locate
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.checks import check_choice, is_integer
from tailwise.inputs.chosen import EMPTY, Chosen
from tailwise.inputs.excluded_pairs import NOTHING_EXCLUDED, set_aside
from tailwise.inputs.matrices import as_array
from tailwise.inputs.wide_tables import values_by_id
from tailwise.kernels.rows import Excluded

FILLS = ("auto", "least-loss", "none")
STARTS = ("top", "random", "greedy")
NOBODY = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Rules:
    r"""How many labels each row of candidates takes: an instance, or what is excluded for one, which takes none.

    An instance with c candidates and the budget k takes :math:`\min(k, c)` labels. Labels of a given selection that are
    no candidates may take any of its k slots, but need not. Slots that are then still empty are filled with labels of
    probability 0 where ``fills`` says so.
    """

    budgets: NDArray  # (n,), as asked for; all candidates where there is no budget
    least: NDArray  # (n,), labels that must be taken before slots are filled
    most: NDArray  # (n,), labels that may be
    has_budget: bool
    fills: bool  # whether there are empty slots, and they are filled
    excluded: Excluded = NOTHING_EXCLUDED  # what never fills them
    set_aside: NDArray = field(
        default_factory=lambda: NOBODY
    )  # the instances to which the rows after those of all instances belong

    @property
    def width(self) -> int:
        """Slots of the instance that has most of them."""
        return max(1, int(self.budgets.max()))

    @cached_property
    def slots(self) -> NDArray:
        """Least and most side by side, (n, 2), as kernels read them."""
        return np.stack([self.least, self.most], axis=1)

    @cached_property
    def has_optional_labels(self) -> bool:
        """Whether some instance may take more labels than it must."""
        return bool((self.least < self.most).any())


def check_budgets(k: Any, n_instances: int, n_labels: int) -> NDArray | None:
    """The budget of each instance from an integer or an array of integers; None for no budget."""
    if k is None:
        return None
    budgets = as_array(k, "k")
    if is_integer(k):
        smallest = 1
    elif budgets.ndim == 1 and budgets.dtype.kind in "iu":
        smallest = 0
        if budgets.size != n_instances:
            msg = f"k as an array must hold one budget per instance, {n_instances}. Got {budgets.size}."
            raise InputError(msg)
    else:
        msg = f"k must be an integer, an array of integers with one budget per instance, or None. Got {k!r}."
        raise InputError(msg)
    if budgets.min() < smallest or budgets.max() > n_labels:
        came = budgets.min() if budgets.min() < smallest else budgets.max()
        msg = (
            f"k must be an integer between {smallest} and {n_labels}, the number of labels. Got {came}. "
            "Use k=None (-k none) for no budget."
        )
        raise InputError(msg)
    return np.broadcast_to(budgets, n_instances).astype(np.int64)


def set_excluded_aside(candidates: Candidates, excluded: Excluded) -> tuple[Candidates, NDArray]:
    """Move excluded candidates to rows of their own; return the instances that have such rows, in their order."""
    if excluded is NOTHING_EXCLUDED:
        return candidates, NOBODY
    moved = set_aside(candidates, excluded)
    return moved, np.flatnonzero(moved.sizes[: candidates.n_instances] < candidates.sizes)


def find_rules(
    candidates: Candidates, k: Any, given: Chosen | None, fill: str, excluded: Excluded = NOTHING_EXCLUDED
) -> tuple[Candidates, Rules]:
    """The candidates, with the labels of a given selection among them, and the rules.

    Excluded candidates move to rows of their own, which have no slots: their instances may have these labels, so that
    they count among the positives, but they cannot be selected.
    """
    check_choice("fill", fill, FILLS)
    n_instances = candidates.n_instances
    ids = candidates.instance_ids
    budgets = check_budgets(k if ids is None else values_by_id(k, ids, "k", "instance"), *candidates.shape)
    candidates, aside = set_excluded_aside(candidates, excluded)
    extended = candidates if given is None else _with_labels(candidates, given)
    has_slots = np.arange(candidates.n_instances) < n_instances
    if budgets is None:
        sizes = np.where(has_slots, extended.sizes, 0)
        return extended, Rules(sizes, sizes, sizes, has_budget=False, fills=False, excluded=excluded, set_aside=aside)
    budgets = np.append(budgets, np.zeros(candidates.n_instances - n_instances, dtype=np.int64))
    least = np.minimum(budgets, candidates.sizes)
    most = least if extended is candidates else np.minimum(budgets, extended.sizes)
    may_fill = fill == "least-loss" or (fill == "auto" and candidates.holds_all_labels)
    fills = may_fill and bool((least < budgets).any())
    return extended, Rules(budgets, least, most, has_budget=True, fills=fills, excluded=excluded, set_aside=aside)


def warn_of_empty_slots(selection: Chosen, rules: Rules) -> None:
    """Say in how many instances slots are empty for want of candidates."""
    n, has_exclusions = selection.labels.shape[0], rules.excluded is not NOTHING_EXCLUDED
    n_short = int(((selection.labels != EMPTY).sum(axis=1) < rules.budgets[:n]).sum()) if rules.has_budget else 0
    if not n_short:
        return
    what = "labels left" if rules.fills else "candidates left" if has_exclusions else "candidates"
    from_all = "all labels that are not excluded" if has_exclusions else "all labels, including any that you removed"
    more = "" if rules.fills else f", fill='least-loss' (--fill least-loss) to fill up from {from_all}"
    msg = (
        f"{n_short:,} of {n:,} instances have fewer than k {what}; their remaining slots are empty (-1). "
        f"Use fill='none' (--fill none) to silence this{more}."
    )
    warnings.warn(msg, EmptySlotsWarning, stacklevel=3)


def check_given(selection: Any, candidates: Candidates, k: Any, name: str) -> Chosen:
    """A selection of this batch that holds at most k labels for each instance."""
    n, m = candidates.shape
    given = Chosen.of(selection, m, n_instances=n, name=name, like="probabilities")
    budgets = check_budgets(k, n, m)
    sizes = (given.labels != EMPTY).sum(axis=1)
    if budgets is not None and (sizes > budgets).any():
        i = int((sizes > budgets).argmax())
        msg = (
            f"{name} must hold at most k={budgets[i]} labels for an instance. Got {sizes[i]} for instance {i}. "
            f"Give a larger k, or keep its first {budgets[i]}: labels[:, :{budgets[i]}]."
        )
        raise InputError(msg)
    return given


def _with_labels(candidates: Candidates, chosen: Chosen) -> Candidates:
    """The candidates, and the labels of a selection that are none yet, with probability 0."""
    rows = candidates.rows
    found, _ = locate(chosen, candidates)
    instances, slots = np.nonzero((found < 0) & (chosen.labels != EMPTY))
    if instances.size == 0:
        return candidates
    labels = np.concatenate([rows.labels, chosen.labels[instances, slots]])
    values = np.concatenate([rows.values, np.zeros(instances.size, dtype=rows.values.dtype)])
    instances = np.concatenate([np.repeat(np.arange(candidates.n_instances), candidates.sizes), instances])
    order = np.lexsort((labels, instances))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(instances, minlength=candidates.n_instances))])
    return candidates.with_entries(indptr, labels[order], values[order])


def check_start(init: Any, candidates: Candidates, k: Any) -> str | Chosen:
    """The name of a start, or a given selection of this batch."""
    if isinstance(init, str):
        if init not in STARTS:
            msg = f"init must be one of {', '.join(STARTS)}, or a selection. Got {init!r}."
            raise InputError(msg)
        return init
    return check_given(init, candidates, k, "init")
