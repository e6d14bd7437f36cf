"""How many rows per second `OnlineSelector.select` decides one by one, including checks of the input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness import Result, Timing, time_calls
from matrices import zipf_matrix

import tailwise as tw

N_ROWS, N_LABELS, TOP, K, REPEATS = 20_000, 100_000, 100, 5, 5
UTILITIES = ("macro-f1", "coverage", "0.5*precision + 0.5*macro-recall")
ASKED = 20_000


def run() -> Iterator[Result]:
    matrix = zipf_matrix(N_ROWS, N_LABELS, TOP)
    edges = zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
    rows = [(matrix.indices[first:last], matrix.data[first:last]) for first, last in edges]
    for utility in UTILITIES:
        yield measure(f"{utility}: single rows", lambda utility=utility: decide_each(rows, utility))
    yield measure("macro-f1: all rows at once", lambda: decide_all(matrix, "macro-f1"))


def measure(name: str, call: Any) -> Result:
    call()  # compiles
    timing: Timing
    timing, _ = time_calls(call, REPEATS)
    rate, best = N_ROWS / timing.median, N_ROWS / timing.best
    return Result(
        name,
        f"at least {ASKED:,} rows a second",
        f"{rate:,.0f} rows a second ({best:,.0f} at best), {1e6 / rate:.1f} us a row of {TOP} candidates",
        rate >= ASKED,
        {"seconds": timing.seconds, "rows": N_ROWS, "labels": N_LABELS, "k": K},
    )


def decide_each(rows: list[tuple[Any, Any]], utility: str) -> None:
    selector = tw.OnlineSelector(utility, K, N_LABELS)
    for row in rows:
        selector.select(row)


def decide_all(matrix: Any, utility: str) -> None:
    tw.OnlineSelector(utility, K, N_LABELS).select(matrix)
