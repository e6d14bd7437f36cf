"""Block coordinate ascent of xCOLUMNs, timed; runs with the peers' interpreter.

    python peer_xcolumns.py given.npz returned.npz utility k tolerance max_passes

Of the settings it offers (float32 or float64 probabilities, shuffled or fixed order of the instances) the data type is
chosen by one pass each and both orders are run to the end, so that it can be compared at its fastest.
"""

import sys
import time
from importlib.metadata import version

import numpy as np
from scipy.sparse import csr_matrix
from xcolumns.block_coordinate import (
    predict_optimizing_coverage_using_bc,
    predict_optimizing_macro_f1_score_using_bc,
    predict_optimizing_macro_precision_using_bc,
)

FUNCTIONS = {
    "macro-f1": predict_optimizing_macro_f1_score_using_bc,
    "macro-precision": predict_optimizing_macro_precision_using_bc,
    "coverage": predict_optimizing_coverage_using_bc,
}
ORDERS = {"shuffled": True, "fixed": False}
WARM_UP_ROWS = 200


def timed(function, matrix, **settings):
    """Seconds, the chosen matrix, and the passes of one call, after a small call that compiles for these types."""
    function(matrix[:WARM_UP_ROWS], **settings)
    start = time.perf_counter()
    chosen, meta = function(matrix, **settings)
    return time.perf_counter() - start, chosen, meta["iters"]


def fastest_type(function, matrix, settings):
    one_pass = {**settings, "max_iter": 1}
    seconds = {t: timed(function, matrix.astype(t), **one_pass)[0] for t in ("float32", "float64")}
    return min(seconds, key=seconds.get)


def main(given, returned, utility, k, tolerance, max_passes):
    with np.load(given, allow_pickle=False) as parts:
        matrix = csr_matrix((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(parts["shape"]))
    settings = {"k": int(k), "tolerance": float(tolerance), "init_y_pred": "top", "return_meta": True, "seed": 0}
    function = FUNCTIONS[utility]
    data_type = fastest_type(function, matrix, settings)
    matrix = matrix.astype(data_type)
    results = {"version": version("xcolumns"), "data_type": data_type}
    for order, shuffle in ORDERS.items():
        seconds, chosen, passes = timed(function, matrix, max_iter=int(max_passes), shuffle_order=shuffle, **settings)
        results |= {f"{order}_seconds": seconds, f"{order}_passes": passes}
        results |= {f"{order}_indices": chosen.indices, f"{order}_indptr": chosen.indptr}
    np.savez(returned, **results)


if __name__ == "__main__":
    main(*sys.argv[1:])
