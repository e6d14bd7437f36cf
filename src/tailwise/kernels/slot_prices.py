"""Upper bounds from prices: for every label the best set at the prices of its instances."""

import numpy as np

from tailwise.kernels.best_set import search_best_set
from tailwise.kernels.compiling import kernel, part, step
from tailwise.kernels.set_worth import hold_candidates, is_affordable, line_of_one
from tailwise.kernels.slot_offers import note_offers
from tailwise.kernels.top_k import insert
from tailwise.kernels.workbench import BOUND, SIZE, put, take_logs

# Shares are counted in parts of this, in 16 bits.
WHOLE = 65_535


@part
def note_share(shares, place, now, rate):
    """Move a running mean towards what is so now."""
    share = np.float64(shares[place])
    shares[place] = np.uint16(share + rate * (now - share))


@step
def load_priced(worth, columns, prices, j, shares, rate, bench):
    """Put the candidates of label j that may be worth their price on the workbench; returns how many there are.

    And the slope and offset of the line that says so. Writes: shares of the others, which are in no best set.
    """
    hold_candidates(worth, columns, j, 1)
    slope, offset = line_of_one(worth, j, bench)
    size = 0
    for place in range(columns.indptr[j], columns.indptr[j + 1]):
        price = prices[columns.instances[place]]
        put(bench, size, columns, place, price)
        if is_affordable(slope, offset, bench.values[size], price):
            size += 1
        else:
            note_share(shares, place, 0.0, rate)
    hold_candidates(worth, columns, j, size)
    take_logs(worth, j, bench, size)
    return size, slope, offset


@step
def bound_labels(worth, columns, prices, sizes, bounds, shares, rate, counts, offers, bench, first, last):
    for j in range(first, last):
        if columns.indptr[j] == columns.indptr[j + 1]:
            continue  # no candidate: no set, and no row in the nodes
        size, slope, offset = load_priced(worth, columns, prices, j, shares, rate, bench)
        search_best_set(worth, j, bench, size, sizes[j])
        bounds[j], sizes[j] = bench.found[BOUND], np.int64(bench.found[SIZE])
        for x in range(size):
            counts[bench.instances[x]] += bench.is_best[x]
            note_share(shares, bench.places[x], WHOLE * bench.is_best[x], rate)
        if offers.shape[0] > 0:
            note_offers(worth, columns, prices, j, bench, size, slope, offset, offers)


@kernel
def bound_part(worth, columns, prices, sizes, bounds, shares, rate, counts, offers, bench, first, last):
    """The best sets of labels first to last at the prices of the instances.

    Shapes: prices, counts (n,); sizes, bounds (m,); shares (nnz,), by columns; offers (n, N_OFFERS), or (0, N_OFFERS)
    where they are not wanted. Reads: sizes, guesses of the best sets'.
    Writes: sizes; bounds, upper ones of what the best sets are worth less their prices; counts, to which 1 is added for
    every set that an instance is in; shares, running means of whether a candidate is in the best set of its label, in
    parts of WHOLE; offers, with those of these labels. Assumes: bounds are 0 for labels without candidates.
    """
    bound_labels(worth, columns, prices, sizes, bounds, shares, rate, counts, offers, bench, first, last)


@kernel
def note_best_sets(shares, bits, rate):
    """Bring shares up to date with the best sets that were found elsewhere.

    Shapes: shares (nnz,); bits (nnz / 8,), uint8, the lowest bit first: whether a candidate is in the best set.
    Writes: shares.
    """
    for x in range(shares.size):
        note_share(shares, x, WHOLE * np.float64((bits[x >> 3] >> (x & 7)) & 1), rate)


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
