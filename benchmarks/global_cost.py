"""The cost of row and label passes compared with row ascent alone: a whole warm select, wall and processor time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import scipy.sparse as sp
from exact_real import ASKED_ON, DATA, PROBABILITIES
from harness import Result, Timing, time_calls
from matrices import zipf_matrix

import tailwise as tw
from tailwise.datasets import load

UTILITY, WORKERS, REPEATS = "macro-f1", 2, 5
METHODS, EXPECTATIONS = ("global", "ascent"), ("semi", "exact")
ASKED_RATIO = 10


class Batch(NamedTuple):
    name: str
    matrix: sp.csr_array
    k: int
    is_asked: bool = True


def run() -> Iterator[Result]:
    for batch in batches():
        for expectation in EXPECTATIONS:
            yield compare(batch, expectation)


def batches() -> Iterator[Batch]:
    if (DATA / ASKED_ON / PROBABILITIES).is_file():
        matrix = load(DATA / ASKED_ON / PROBABILITIES)
        yield Batch(ASKED_ON, matrix, 5)
        # So few candidates that the global method looks at prices, too: the way it takes in global_optimum.
        yield Batch(f"{ASKED_ON}, first 150 instances", matrix[:150], 5, is_asked=False)
    yield Batch("zipf, 50,000 x 13,330, 100 candidates", zipf_matrix(50_000, 13_330, 100), 3)


def compare(batch: Batch, expectation: str) -> Result:
    timings, processor, passes = time_in_turn(batch, expectation)
    ratio = timings["global"].median / timings["ascent"].median
    best_ratio = timings["global"].best / timings["ascent"].best
    listed = (
        f"{method} {1e3 * timings[method].median:.0f} ms, best {1e3 * timings[method].best:.0f} ms, "
        f"of processor time {1e3 * processor[method].median:.0f} ms, {passes[method]} passes"
        for method in METHODS
    )
    return Result(
        f"{batch.name}, k = {batch.k}: {UTILITY}, {expectation} expectation",
        f"at most {ASKED_RATIO} times row ascent" if batch.is_asked else "for information",
        f"{ratio:.1f} times ({best_ratio:.1f} by the best runs): {'; '.join(listed)}",
        ratio <= ASKED_RATIO or not batch.is_asked,
        {
            "ratio": ratio,
            "ratio_by_best": best_ratio,
            "seconds": {method: timings[method].seconds for method in METHODS},
            "processor_seconds": {method: processor[method].seconds for method in METHODS},
        },
    )


def time_in_turn(batch: Batch, expectation: str) -> tuple[dict[str, Timing], dict[str, Timing], dict[str, int]]:
    """Wall time, processor time of all threads, and passes of each method.

    Alternately, so that other people's work falls on both; a first call of each is not counted.
    """
    seconds: dict[str, list[float]] = {method: [] for method in METHODS}
    processor: dict[str, list[float]] = {method: [] for method in METHODS}
    passes = {}
    for _ in range(1 + REPEATS):
        for method in METHODS:
            start = time.process_time()
            timing, selection = time_calls(lambda method=method: select(batch, method, expectation), 1)
            processor[method].append(time.process_time() - start)
            seconds[method] += timing.seconds
            passes[method] = selection.passes
    wall, busy = ({method: Timing(tuple(taken[1:])) for method, taken in each.items()} for each in (seconds, processor))
    return wall, busy, passes


def select(batch: Batch, method: str, expectation: str) -> tw.Selection:
    return tw.select(batch.matrix, UTILITY, k=batch.k, method=method, expectation=expectation, workers=WORKERS)
