"""Semi-online greedy in plain loops: each row takes its labels of largest gain by the rows up to itself.

A row is a dict from labels to probabilities. `value(j, column, is_chosen)` is what label j adds to the utility of a
batch, as in `reference.utilities`: the batch are the rows so far, the one at hand included.
"""

from reference import utilities


def decide(rows, k, value):
    """The labels of each row, best gain first."""
    chosen = []
    for i in range(len(rows)):
        gains = {j: gain(rows[: i + 1], chosen, j, value) for j in rows[i]}
        chosen.append(sorted(gains, key=lambda j: (-gains[j], j))[:k])
    return chosen


def gain(rows, chosen, j, value):
    """What label j adds for the last of the rows; the others are decided."""
    column = [row.get(j, 0.0) for row in rows]
    before = [j in labels for labels in chosen]
    return value(j, column, [*before, True]) - value(j, column, [*before, False])


def value_of(mixture, n_labels, k, *, training=None):
    """The value by names, for rows of k slots each."""

    def value(j, column, is_chosen):
        setting = utilities.Setting(n_labels, k * len(column), training)
        return utilities.mixture_value(mixture, setting, j, column, is_chosen)

    return value


def rows_of(matrix):
    """The rows of a dense matrix, whose zeros are no candidates."""
    return [{j: float(e) for j, e in enumerate(row) if e > 0} for row in matrix]
