"""Keeping the best: of a row, by gain, ties by the smaller label; of an array of numbers."""

from tailwise.kernels.compiling import part, step


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


@step
def kth_largest(numbers, size, k):
    """The k-th largest of the first `size` numbers, which are put in another order (Hoare's selection)."""
    low, high, wanted = 0, size - 1, k - 1
    while low < high:
        pivot = numbers[(low + high) // 2]
        left, right = low, high
        while left <= right:
            while numbers[left] > pivot:
                left += 1
            while numbers[right] < pivot:
                right -= 1
            if left <= right:
                numbers[left], numbers[right] = numbers[right], numbers[left]
                left += 1
                right -= 1
        if wanted <= right:
            high = right
        elif wanted >= left:
            low = left
        else:
            break
    return numbers[wanted]
