"""Upper bounds from prices: for every label the best set at the prices of its instances."""

import numpy as np

from tailwise.kernels.best_set import search_best_set
from tailwise.kernels.compiling import kernel, step
from tailwise.kernels.top_k import insert
from tailwise.kernels.workbench import BOUND, SIZE, load_candidates

# Shares are counted in parts of this, in 16 bits.
WHOLE = 65_535


@step
def bound_labels(worth, columns, prices, sizes, bounds, shares, rate, counts, bench, first, last):
    for j in range(first, last):
        size = load_candidates(worth, columns, j, bench)
        for x in range(size):
            bench.prices[x] = prices[bench.instances[x]]
        search_best_set(worth, j, bench, size, sizes[j])
        bounds[j], sizes[j] = bench.found[BOUND], np.int64(bench.found[SIZE])
        for x in range(size):
            counts[bench.instances[x]] += bench.is_best[x]
            place = bench.places[x]
            share = np.float64(shares[place])
            shares[place] = np.uint16(share + rate * (WHOLE * bench.is_best[x] - share))


@kernel
def bound_part(worth, columns, prices, sizes, bounds, shares, rate, counts, bench, first, last):
    """The best sets of labels first to last at the prices of the instances.

    Shapes: prices, counts (n,); sizes, bounds (m,); shares (nnz,), by columns. Reads: sizes, guesses of the best sets'.
    Writes: sizes; bounds, upper ones of what the best sets are worth less their prices; counts, to which 1 is added for
    every set that an instance is in; shares, running means of whether a candidate is in the best set of its label, in
    parts of WHOLE.
    """
    bound_labels(worth, columns, prices, sizes, bounds, shares, rate, counts, bench, first, last)


@kernel
def keep_most_shared(columns, shares, tie_break, room, gains, chosen):
    """For each instance the candidates of the largest shares; `tie_break` of the probability is added to each.

    Shapes: shares (nnz,), by columns; room (n,); gains, chosen (n, k). Writes: gains; chosen, positions within the
    rows. Assumes: gains are minus infinity, chosen is -1, room is at most k.
    """
    for x in range(shares.size):
        i = columns.instances[x]
        if room[i] > 0:
            gain = np.float64(shares[x]) / WHOLE + tie_break * columns.values[x]
            if gain > gains[i, room[i] - 1]:
                insert(gains[i], chosen, i, room[i], room[i], gain, columns.positions[x])
