"""Upper bounds from prices: for every label the best set at the prices of its instances."""

import numpy as np

from tailwise.kernels.best_set import search_best_set
from tailwise.kernels.compiling import kernel, step
from tailwise.kernels.sets import BOUND, SIZE, load_candidates


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
            shares[place] += np.float32(rate) * (np.float32(bench.is_best[x]) - shares[place])


@kernel
def bound_part(worth, columns, prices, sizes, bounds, shares, rate, counts, bench, first, last):
    """The best sets of labels first to last at the prices of the instances.

    Shapes: prices, counts (n,); sizes, bounds (m,); shares (nnz,), by columns. Reads: sizes, guesses of the best sets'.
    Writes: sizes; bounds, upper ones of what the best sets are worth less their prices; counts, to which 1 is added for
    every set that an instance is in; shares, running means of whether a candidate is in the best set of its label.
    """
    bound_labels(worth, columns, prices, sizes, bounds, shares, rate, counts, bench, first, last)


@kernel
def scatter_to_rows(columns, rows, values, out):
    """Numbers of the candidates by columns, put in the order of the rows.

    Shapes: values, out (nnz,). Writes: out.
    """
    for x in range(values.size):
        out[rows.indptr[columns.instances[x]] + columns.positions[x]] = values[x]
