"""Keeping the b best of a row: by gain, ties by the smaller label."""

from tailwise.kernels.compiling import part


@part
def insert(gains, positions, r, size, budget, gain, position):
    """Put an entry into row r, which holds `size` entries in order, and drop what falls off its end.

    Shapes: gains (k,), of row r; positions (rows, k); budget <= k. Positions ascend with labels, so they break ties.
    """
    c = size
    while c > 0 and (gains[c - 1] < gain or (gains[c - 1] == gain and positions[r, c - 1] > position)):
        if c < budget:
            gains[c] = gains[c - 1]
            positions[r, c] = positions[r, c - 1]
        c -= 1
    if c < budget:
        gains[c] = gain
        positions[r, c] = position


@part
def holds(positions, r, budget, position):
    """Whether row r holds a position among its first `budget` entries."""
    found = False
    for c in range(budget):
        found |= positions[r, c] == position
    return found
