"""Which selections a problem allows, and the best of them by trying all.

An instance with budget k and c candidates takes exactly min(k, c) labels, all of them candidates. Labels of a given
selection that are no candidates count as candidates of probability 0 that nobody has to take: they may have one of the
min(k, c) slots, or one of the k - min(k, c) that are left. Where slots are filled, what is empty after that goes to
any labels that are no candidates; excluded labels are none and fill nothing, so that slots stay empty where no others
are left. Without a budget an instance takes any of its candidates.
"""

import itertools
import math

import numpy as np


def choices_of_row(candidates, extras, budget, m, *, fills, excluded=frozenset()):
    """All sets of labels that an instance may have."""
    pool = candidates | extras
    if budget is None:
        return subsets(pool, range(len(pool) + 1))
    room = min(budget, len(candidates))
    taken = subsets(pool, range(room, min(budget, len(pool)) + 1))
    if not fills:
        return taken
    others = set(range(m)) - candidates - excluded
    return {chosen | filling for chosen in taken for filling in fillings(others - chosen, budget - len(chosen))}


def fillings(others, room):
    """All ways to fill slots: all of them, or as many as there are labels for."""
    return subsets(others, [min(room, len(others))])


def subsets(labels, sizes):
    return {frozenset(chosen) for size in sizes for chosen in itertools.combinations(sorted(labels), size)}


def count_selections(choices):
    return math.prod(len(row) for row in choices)


def best_value(values, choices):
    """The largest sum over labels, of all ways to give each instance one of its choices.

    `values[j][s]` is the value of label j for the set s of instances, bit i of s saying whether it holds i. The axes of
    `total` are the instances, its entries all selections.
    """
    choices = [sorted(row, key=sorted) for row in choices]
    n = len(choices)
    total = np.zeros([len(row) for row in choices])
    for j, of_label in enumerate(values):
        subset = np.zeros([1] * n, dtype=np.int64)
        for i, row in enumerate(choices):
            bits = np.array([(j in labels) << i for labels in row])
            subset = subset + bits.reshape([-1 if axis == i else 1 for axis in range(n)])
        total += np.array(of_label)[subset]
    return float(total.max())
