"""The time per entry of a pass of macro-F1 ascent, compared with a bare gather-and-sum over the same candidates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from harness import Result, Timing, time_calls
from matrices import zipf_matrix
from numba import njit, prange, set_num_threads

import tailwise as tw

N_INSTANCES, N_LABELS, TOP, K = 50_000, 13_330, 100, 3
WORKERS, REPEATS, LATE_PASSES = 2, 9, (2, 6)
ASKED_RATIO = 4


class Cost(NamedTuple):
    """Nanoseconds an entry and pass."""

    median: float
    best: float


@njit(parallel=True, nogil=True)
def gather_and_sum(indptr, labels, values, table, sums):
    for i in prange(indptr.size - 1):
        s = 0.0
        for x in range(indptr[i], indptr[i + 1]):
            s += table[labels[x]] * values[x]
        sums[i] = s


def run() -> Iterator[Result]:
    matrix = zipf_matrix(N_INSTANCES, N_LABELS, TOP)
    floor = time_floor(matrix)
    yield compare(
        "passes after the first two", time_late_passes(matrix), floor, f"at most {ASKED_RATIO} times a gather-and-sum"
    )
    yield compare(
        "the whole of select, set-up included, over its passes", time_ascent(matrix), floor, "for information"
    )


def time_floor(matrix: sp.csr_array) -> Cost:
    """Reading every candidate and one number of its label, once."""
    table, sums = np.random.default_rng(0).random(matrix.shape[1]), np.empty(matrix.shape[0])
    arrays = (matrix.indptr, matrix.indices, matrix.data, table, sums)
    set_num_threads(WORKERS)
    gather_and_sum(*arrays)
    timing, _ = time_calls(lambda: gather_and_sum(*arrays), REPEATS)
    return Cost(1e9 * timing.median / matrix.nnz, 1e9 * timing.best / matrix.nnz)


def time_ascent(matrix: sp.csr_array) -> Cost:
    """Everything that `select` does, over the number of passes."""
    select(matrix)
    selections = [select(matrix) for _ in range(REPEATS)]
    timing = Timing(tuple(s.seconds for s in selections))
    n_reads = selections[0].passes * matrix.nnz
    return Cost(1e9 * timing.median / n_reads, 1e9 * timing.best / n_reads)


def time_late_passes(matrix: sp.csr_array) -> Cost:
    """The passes after the first ones: what more passes add to the time of fewer."""
    runs = [[select(matrix, tolerance=0.0, max_passes=n) for n in LATE_PASSES] for _ in range(REPEATS)]
    few, many = (Timing(tuple(run[x].seconds for run in runs)) for x in range(2))
    n_reads = (runs[0][1].passes - runs[0][0].passes) * matrix.nnz
    return Cost(1e9 * (many.median - few.median) / n_reads, 1e9 * (many.best - few.best) / n_reads)


def select(matrix: sp.csr_array, **settings: Any) -> Any:
    return tw.select(
        matrix, "macro-f1", k=K, method="ascent", expectation="semi", workers=WORKERS, **{"tolerance": 1e-6, **settings}
    )


def compare(name: str, ours: Cost, floor: Cost, asked: str) -> Result:
    ratio, best_ratio = ours.median / floor.median, ours.best / floor.best
    return Result(
        f"cost of a pass, {name}",
        asked,
        f"{ratio:.1f} times ({best_ratio:.1f} by the best runs): {ours.median:.2f} ns an entry and pass, best "
        f"{ours.best:.2f} ns; gather-and-sum {floor.median:.2f} ns, best {floor.best:.2f} ns",
        ratio <= ASKED_RATIO or asked == "for information",
        {"ratio": ratio, "ratio_by_best": best_ratio, "pass_ns": ours._asdict(), "gather_ns": floor._asdict()},
    )
